import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { LockState } from '../controller/lock/lock-settings.ts';
import type { LockCall } from '../controller/lock/lock-storage.ts';
import { coordinatorLease } from '../election/model.ts';
import type { Clock } from '../support/clock.ts';
import { createApiMetrics, createEventMetrics, createLabelMetrics } from './api-metrics.ts';
import { createElectionMetrics, createSurveyMetrics } from './election-metrics.ts';
import { createSchedulerMetrics } from './scheduler-metrics.ts';

/** All metrics. They have their own registry, because in tests several replicas run in one process. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Resolution of the event-loop delay, in milliseconds. Not smaller, because each sample wakes an idle process. */
const EVENT_LOOP_RESOLUTION_MS = 50;

// Gauges of prom-client that have the name suffix of counters.
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

export function createMetrics({ version, clock }: { version: string; clock: Clock }) {
  const registry = new Registry();
  new Gauge({
    name: 'cle_build_info',
    help: 'Always 1; its label tells the version',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  return {
    registry,
    scheduler: createSchedulerMetrics(registry),
    api: createApiMetrics(registry, clock),
    elections: createElectionMetrics(registry),
    survey: createSurveyMetrics(registry, clock),
    events: createEventMetrics(registry),
    lock: createLockMetrics(registry),
    labels: createLabelMetrics(registry),
  };
}

/** Registers metrics of the process: memory, CPU, event-loop delay, garbage collection. Once per process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_RESOLUTION_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}

interface LockPlaces {
  /** Number of locks that other coordinators hold in other namespaces. */
  others(): number;
  /** Whether the namespace of our lock is not allowed. */
  isRefused(): boolean;
}

const STATES: readonly LockState['kind'][] = ['standby', 'waiting', 'settling', 'active'];
const CALLS: readonly (LockCall | 'watch')[] = ['get', 'create', 'update', 'watch'];
const HOLDERS = ['self', 'replica', 'foreign', 'none'] as const;

function holderOf({ kind, holder }: Pick<LockState, 'kind' | 'holder'>): (typeof HOLDERS)[number] {
  switch (kind) {
    case 'settling':
    case 'active':
      return 'self';
    case 'waiting':
      return 'foreign';
    case 'standby':
      return holder === undefined ? 'none' : 'replica';
  }
}

/** Registers the metrics of the lock in `registry`. At first, the lock counts as not held. */
function createLockMetrics(registry: Registry) {
  const registers = [registry];
  const masterStatus = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this process holds the lock and may write (1) or stands by (0)',
    labelNames: ['name'],
    registers,
  });
  const changes = new Counter({
    name: 'cle_lock_state_changes_total',
    help: "How often this replica's standing towards the coordinator lock came to be this",
    labelNames: ['state'],
    registers,
  });
  const failures = new Counter({
    name: 'cle_lock_call_failures_total',
    help: 'Calls about the coordinator lock that failed; lost races for it are among them',
    labelNames: ['call'],
    registers,
  });
  const holders = new Gauge({
    name: 'cle_lock_holder',
    help:
      'Who holds the lock, as far as this process knows: 1 for this replica (self), another one, the built-in controller ' +
      '(foreign), or no coordinator (none); without samples in a dry run',
    labelNames: ['holder'],
    registers,
  });
  let places: LockPlaces = { others: () => 0, isRefused: () => false };
  new Gauge({
    name: 'cle_other_locks_held',
    help: 'Locks of other coordinators, in other namespaces than ours, that are held and renewed, as far as this process sees',
    registers,
    collect() {
      this.set(places.others());
    },
  });
  new Gauge({
    name: 'cle_lock_namespace_refused',
    help: "Whether nothing is elected here (1), as the lock is not in kube-system while the API server's own LeaseCandidates are served",
    registers,
    collect() {
      this.set(places.isRefused() ? 1 : 0);
    },
  });
  masterStatus.set({ name: coordinatorLease.name }, 0);
  for (const state of STATES) changes.inc({ state }, 0);
  for (const call of CALLS) failures.inc({ call }, 0);
  let last: LockState['kind'] | undefined;
  return {
    changed(state: Pick<LockState, 'kind' | 'holder'>) {
      const { kind } = state;
      const holder = holderOf(state);
      for (const other of HOLDERS) holders.set({ holder: other }, other === holder ? 1 : 0);
      masterStatus.set({ name: coordinatorLease.name }, kind === 'active' ? 1 : 0);
      if (kind !== last) changes.inc({ state: kind });
      last = kind;
    },
    callFailed: (call: LockCall | 'watch') => failures.inc({ call }),
    /** Sets the source of the gauges about other locks. It is read for each scrape. */
    watch(asked: LockPlaces) {
      places = asked;
    },
  };
}
