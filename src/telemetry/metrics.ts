import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LockState } from '../controller/lock/lock-settings.ts';
import type { LockCall } from '../controller/lock/lock-storage.ts';
import { coordinatorLease } from '../election/model.ts';
import type { Clock } from '../support/clock.ts';
import { createApiMetrics } from './api-metrics.ts';
import { createElectionMetrics, registerSurveyMetrics } from './election-metrics.ts';
import { instrumentsOf, type ScrapeSources } from './instruments.ts';
import { createSchedulerMetrics } from './scheduler-metrics.ts';

/** All metrics of a replica. Each replica has its own registry: in tests, several replicas run in one process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Interval of the samples of the event-loop delay, in ms. A shorter interval would wake an idle process more often. */
const EVENT_LOOP_RESOLUTION_MS = 50;

const EVENT_RESULTS = ['written', 'failed', 'dropped'] as const;
/**
 * The result of an Event. `failed`: the write of the Event failed. `dropped`: the Event was not written, because of a
 * rate limit, a full queue or the end of the process.
 */
export type EventResult = (typeof EVENT_RESULTS)[number];

const LABEL_CALLS = ['list', 'add', 'remove'] as const;

// Gauges of prom-client whose names end in `_total`, the suffix of counters. We remove these gauges.
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export function createMetrics({ version, clock }: { version: string; clock: Clock }) {
  const registry = new Registry();
  const sources: ScrapeSources = {};
  const { counter, gauge } = instrumentsOf(registry);
  gauge('cle_build_info', 'Always 1; the label is the version', ['version']).set({ version }, 1);
  const events = counter(
    'cle_events_total',
    'Events on Leases: written (including updates that count up a repeated Event), failed, or dropped (because of a rate limit, a full queue or the end of the process)',
    { result: EVENT_RESULTS },
  );
  const labels = counter(
    'cle_leader_label_calls_total',
    'Calls for leader labels: add a label to a Pod, remove it, or list Pods to find leftover labels; failures are retried with backoff',
    { call: LABEL_CALLS, result: ['success', 'error'] },
  );
  registerSurveyMetrics(registry, sources, clock);
  return {
    registry,
    /** Adds sources from which gauges read their values at each scrape. */
    watch(added: ScrapeSources): void {
      Object.assign(sources, added);
    },
    scheduler: createSchedulerMetrics(registry, sources),
    api: createApiMetrics(registry, sources, clock),
    elections: createElectionMetrics(registry),
    lock: createLockMetrics(registry, sources),
    eventEnded: (result: EventResult) => events.inc({ result }),
    labelCalled: (call: (typeof LABEL_CALLS)[number], isSuccess: boolean) =>
      labels.inc({ call, result: isSuccess ? 'success' : 'error' }),
  };
}

/** Registers metrics of the process: memory, CPU, event-loop delay, garbage collection. Call this once. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_RESOLUTION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}

/**
 * The label `holder` of `cle_lock_holder` in each state of this replica. In the state `standby`, the lock may also be
 * free (label `none`), or still name this replica, which has stopped acting (label `replica`).
 */
const HOLDER_IN: Readonly<Record<LockState['kind'], string>> = {
  standby: 'replica',
  waiting: 'foreign',
  settling: 'self',
  active: 'self',
};
const CALLS: readonly (LockCall | 'watch')[] = ['get', 'create', 'update', 'watch'];

/** Registers the metrics of the lock. Until the first change, this replica counts as not holding the lock. */
function createLockMetrics(registry: Registry, sources: ScrapeSources) {
  const { counter, gauge } = instrumentsOf(registry);
  const masterStatus = gauge(
    'leader_election_master_status',
    'Whether this process holds the lock and may write (1) or is on standby (0)',
    ['name'],
  );
  const changes = counter(
    'cle_lock_state_changes_total',
    'Changes of this replica to each state of the coordinator lock',
    { state: Object.keys(HOLDER_IN) },
  );
  const failures = counter(
    'cle_lock_call_failures_total',
    'Failed calls for the coordinator lock, including lost races for it',
    { call: CALLS },
  );
  const holders = gauge(
    'cle_lock_holder',
    'Holder of the lock as seen by this process, 1 for one of: this replica (self), another replica (replica), the ' +
      'built-in controller (foreign), no coordinator (none); no samples in a dry run',
    ['holder'],
  );
  gauge(
    'cle_other_locks_held',
    'Valid locks that other coordinators hold in other namespaces, as seen by this process',
    [],
    (locks) => locks.set(sources.otherLocks?.() ?? 0),
  );
  gauge(
    'cle_lock_namespace_refused',
    'Whether this replica refuses to coordinate (1), because its lock is not in kube-system although the API server serves its own LeaseCandidates',
    [],
    (refused) => refused.set(sources.isLockRefused?.() ? 1 : 0),
  );
  masterStatus.set({ name: coordinatorLease.name }, 0);
  let last: LockState['kind'] | undefined;
  return {
    changed({ kind, holder }: Pick<LockState, 'kind' | 'holder'>) {
      const current = kind === 'standby' && holder === undefined ? 'none' : HOLDER_IN[kind];
      for (const each of ['self', 'replica', 'foreign', 'none'])
        holders.set({ holder: each }, each === current ? 1 : 0);
      masterStatus.set({ name: coordinatorLease.name }, kind === 'active' ? 1 : 0);
      if (kind !== last) changes.inc({ state: kind });
      last = kind;
    },
    callFailed: (call: LockCall | 'watch') => failures.inc({ call }),
  };
}
