import { describe, expect, test } from 'vitest';
import { reasons } from '../../src/election/decision.ts';
import type { ClientOptions } from '../../src/kubernetes/client.ts';
import type { ReflectorObservation } from '../../src/kubernetes/reflector.ts';
import type { Clock } from '../../src/support/clock.ts';
import { ELECTION_BUCKETS_SECONDS } from '../../src/telemetry/election-metrics.ts';
import { electionResults } from '../../src/telemetry/election-result.ts';
import { collectProcessMetrics, createMetrics } from '../../src/telemetry/metrics.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const make = (clock: Clock = new VirtualClock()) => createMetrics({ version: '1.2.3', clock });

/** The samples of one metric as Prometheus reads them: `name{labels}` to value. */
async function samplesOf(metrics: ReturnType<typeof make>, name: string): Promise<Record<string, number>> {
  const lines = (await metrics.registry.getSingleMetricAsString(name)).split('\n');
  return Object.fromEntries(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

describe('the metrics', () => {
  test('contain the version', async () => {
    expect(await samplesOf(make(), 'cle_build_info')).toEqual({ 'cle_build_info{version="1.2.3"}': 1 });
  });

  test('of two controllers in one process are separate', async () => {
    const [one, other] = [make(), make()];
    one.elections.leaderChanges.inc();
    expect(await samplesOf(one, 'cle_leader_changes_total')).toEqual({ cle_leader_changes_total: 1 });
    expect(await samplesOf(other, 'cle_leader_changes_total')).toEqual({ cle_leader_changes_total: 0 });
  });

  test('contain locks in other namespaces, and a refused lock of ours, at the time of the scrape', async () => {
    const metrics = make();
    let [others, isRefused] = [0, false];
    metrics.watch({ otherLocks: () => others, isLockRefused: () => isRefused });
    const told = async () => ({
      ...(await samplesOf(metrics, 'cle_other_locks_held')),
      ...(await samplesOf(metrics, 'cle_lock_namespace_refused')),
    });
    expect(await told()).toEqual({ cle_other_locks_held: 0, cle_lock_namespace_refused: 0 });
    [others, isRefused] = [2, true];
    expect(await told()).toEqual({ cle_other_locks_held: 2, cle_lock_namespace_refused: 1 });
  });

  test('contain whether the lock is held, and how often that changed', async () => {
    const metrics = make();
    const status = () => samplesOf(metrics, 'leader_election_master_status');
    const sample = 'leader_election_master_status{name="leader-election-controller"}';
    expect(await status()).toEqual({ [sample]: 0 });
    metrics.lock.changed({ kind: 'settling' });
    expect(await status()).toEqual({ [sample]: 0 });
    metrics.lock.changed({ kind: 'active' });
    metrics.lock.changed({ kind: 'active' });
    expect(await status()).toEqual({ [sample]: 1 });
    metrics.lock.changed({ kind: 'standby' });
    expect(await status()).toEqual({ [sample]: 0 });
    expect(await samplesOf(metrics, 'cle_lock_state_changes_total')).toEqual({
      'cle_lock_state_changes_total{state="standby"}': 1,
      'cle_lock_state_changes_total{state="waiting"}': 0,
      'cle_lock_state_changes_total{state="settling"}': 1,
      'cle_lock_state_changes_total{state="active"}': 1,
    });
  });

  test.for([
    { name: 'this replica, while it settles', state: { kind: 'settling', holder: 'x' }, want: 'self' },
    { name: 'this replica, while it is active', state: { kind: 'active', holder: 'x' }, want: 'self' },
    { name: 'another replica', state: { kind: 'standby', holder: 'x' }, want: 'replica' },
    { name: 'the built-in controller', state: { kind: 'waiting', holder: 'x' }, want: 'foreign' },
    { name: 'nobody', state: { kind: 'standby' }, want: 'none' },
  ] as const)('tell who holds the lock: $name', async ({ state, want }) => {
    const metrics = make();
    expect(await samplesOf(metrics, 'cle_lock_holder')).toEqual({});
    metrics.lock.changed({ kind: 'active', holder: 'y' });
    metrics.lock.changed(state);
    const samples = { self: 0, replica: 0, foreign: 0, none: 0, [want]: 1 };
    expect(await samplesOf(metrics, 'cle_lock_holder')).toEqual(
      Object.fromEntries(
        Object.entries(samples).map(([holder, value]) => [`cle_lock_holder{holder="${holder}"}`, value]),
      ),
    );
  });

  test('contain the due Leases from the start, and their times in seconds', async () => {
    const metrics = make();
    expect(await samplesOf(metrics, 'workqueue_adds_total')).toEqual({
      'workqueue_adds_total{name="leases"}': 0,
    });
    metrics.scheduler.processed({ waitedMs: 250, workMs: 30 });
    metrics.scheduler.decisionFailed();
    expect(await samplesOf(metrics, 'workqueue_adds_total')).toEqual({
      'workqueue_adds_total{name="leases"}': 1,
    });
    expect(await samplesOf(metrics, 'workqueue_retries_total')).toEqual({
      'workqueue_retries_total{name="leases"}': 1,
    });
    expect(await samplesOf(metrics, 'workqueue_queue_duration_seconds')).toMatchObject({
      'workqueue_queue_duration_seconds_sum{name="leases"}': 0.25,
    });
    expect(await samplesOf(metrics, 'workqueue_work_duration_seconds')).toMatchObject({
      'workqueue_work_duration_seconds_sum{name="leases"}': 0.03,
    });
  });

  test('read the scheduler at each scrape', async () => {
    const metrics = make();
    const waiting = { grant: 3, preference: 0, vacant: 20, expiry: 0, housekeeping: 7 };
    expect(await samplesOf(metrics, 'cle_request_limit')).toEqual({ cle_request_limit: 0 });
    const room = { limit: 8, inFlight: 8, waiting: () => waiting };
    metrics.watch({ scheduler: { depth: 4, room } });
    expect(await samplesOf(metrics, 'workqueue_depth')).toEqual({ 'workqueue_depth{name="leases"}': 4 });
    expect(await samplesOf(metrics, 'cle_request_limit')).toEqual({ cle_request_limit: 8 });
    room.inFlight = 5;
    expect(await samplesOf(metrics, 'cle_requests_under_way')).toEqual({ cle_requests_under_way: 5 });
    expect(await samplesOf(metrics, 'cle_leases_waiting_to_write')).toEqual({
      'cle_leases_waiting_to_write{urgency="grant"}': 3,
      'cle_leases_waiting_to_write{urgency="preference"}': 0,
      'cle_leases_waiting_to_write{urgency="vacant"}': 20,
      'cle_leases_waiting_to_write{urgency="expiry"}': 0,
      'cle_leases_waiting_to_write{urgency="housekeeping"}': 7,
    });
  });

  test('contain the waiting times for a free slot, each urgency from the start', async () => {
    const metrics = make();
    metrics.scheduler.sending({ urgency: 'grant', waitedMs: 1500 });
    expect(await samplesOf(metrics, 'cle_write_wait_seconds')).toMatchObject({
      'cle_write_wait_seconds_sum{urgency="grant"}': 1.5,
      'cle_write_wait_seconds_bucket{le="1",urgency="grant"}': 0,
      'cle_write_wait_seconds_bucket{le="2",urgency="grant"}': 1,
      'cle_write_wait_seconds_count{urgency="housekeeping"}': 0,
    });
  });

  test('count requests by their status, and those without one as errors', async () => {
    const metrics = make();
    const observe: NonNullable<ClientOptions['observe']> = metrics.api.called;
    observe({ method: 'GET', verb: 'list', resource: 'leases', status: 200, durationMs: 20 });
    observe({ method: 'PATCH', verb: 'patch', resource: 'leases', status: 'error', durationMs: 3000 });
    expect(await samplesOf(metrics, 'rest_client_requests_total')).toEqual({
      'rest_client_requests_total{code="200",method="GET"}': 1,
      'rest_client_requests_total{code="<error>",method="PATCH"}': 1,
    });
    expect(await samplesOf(metrics, 'rest_client_request_duration_seconds')).toMatchObject({
      'rest_client_request_duration_seconds_sum{verb="patch"}': 3,
    });
  });

  test('count the lists of a resource and the ends of its watches', async () => {
    const metrics = make();
    const observe = (observation: ReflectorObservation) => metrics.api.reflected('leases', observation);
    observe({ type: 'watchEnded', how: 'stalled' });
    observe({ type: 'listed', objects: 3, pages: 1, durationMs: 5 });
    observe({ type: 'watchStarted' });
    expect(await samplesOf(metrics, 'cle_reflector_lists_total')).toEqual({
      'cle_reflector_lists_total{resource="leases"}': 1,
      'cle_reflector_lists_total{resource="leasecandidates"}': 0,
    });
    expect(await samplesOf(metrics, 'cle_reflector_watch_ends_total')).toMatchObject({
      'cle_reflector_watch_ends_total{resource="leases",how="stalled"}': 1,
      'cle_reflector_watch_ends_total{resource="leases",how="closed"}': 0,
    });
  });

  test('contain the age of the server’s last data, or the time since the start', async () => {
    const clock = new VirtualClock();
    const metrics = make(clock);
    let heard: number | undefined;
    const staleness = async () => {
      const samples = await samplesOf(metrics, 'cle_reflector_staleness_seconds');
      return samples['cle_reflector_staleness_seconds{resource="leases"}'];
    };
    await clock.advance(3000);
    expect(await staleness()).toBe(3);
    metrics.watch({ lastHeard: (resource) => (resource === 'leases' ? heard : undefined) });
    heard = 2500;
    expect(await staleness()).toBe(0.5);
    // No watch is open any more: the last received data still counts.
    heard = undefined;
    await clock.advance(1000);
    expect(await staleness()).toBe(1.5);
  });

  test('count the results of elections', async () => {
    const metrics = make();
    const { elections } = metrics;
    elections.decisions.inc({ reason: 'LeaderOptimal' });
    elections.decisions.inc({ reason: 'LeaderOptimal' });
    elections.elections.inc({ result: 'granted', reason: 'LeaseExpired' });
    elections.preemptions.inc();
    elections.failedPreemptions.inc({ reason: 'PreferredHolderSilent' });
    elections.skewPreventions.inc();
    elections.pings.inc();
    elections.unanswered.inc();
    elections.writes.inc({ action: 'UpdateLease', result: 'conflict' });
    elections.conflicts.inc();
    elections.collected.inc();
    elections.reconcileFailures.inc();
    elections.heldBack.inc();
    elections.expiryToHolder.observe(0.008);
    elections.needToDecision.observe(0.002);
    metrics.eventEnded('dropped');
    const want = {
      cle_decisions_total: { 'cle_decisions_total{reason="LeaderOptimal"}': 2 },
      cle_elections_total: { 'cle_elections_total{result="granted",reason="LeaseExpired"}': 1 },
      cle_preemptions_total: { cle_preemptions_total: 1 },
      cle_preemptions_failed_total: { 'cle_preemptions_failed_total{reason="PreferredHolderSilent"}': 1 },
      cle_skew_preventions_total: { cle_skew_preventions_total: 1 },
      cle_pings_total: { cle_pings_total: 1 },
      cle_pings_unanswered_total: { cle_pings_unanswered_total: 1 },
      cle_writes_total: { 'cle_writes_total{action="UpdateLease",result="conflict"}': 1 },
      cle_strategy_conflicts_total: { cle_strategy_conflicts_total: 1 },
      cle_candidates_collected_total: { cle_candidates_collected_total: 1 },
      cle_decisions_held_back_total: { cle_decisions_held_back_total: 1 },
      cle_reconcile_failures_total: { cle_reconcile_failures_total: 1 },
      cle_expiry_to_holder_seconds: {
        'cle_expiry_to_holder_seconds_bucket{le="0.005"}': 0,
        'cle_expiry_to_holder_seconds_bucket{le="0.01"}': 1,
      },
      cle_need_to_decision_seconds: {
        'cle_need_to_decision_seconds_bucket{le="0.001"}': 0,
        'cle_need_to_decision_seconds_bucket{le="0.0025"}': 1,
      },
      cle_events_total: { 'cle_events_total{result="dropped"}': 1 },
    };
    for (const [name, samples] of Object.entries(want)) {
      expect(await samplesOf(metrics, name)).toMatchObject(samples);
    }
  });

  test('contain every reason and every result from the start', async () => {
    const metrics = make();
    expect(Object.keys(await samplesOf(metrics, 'cle_decisions_total'))).toHaveLength(reasons.length);
    expect(Object.keys(await samplesOf(metrics, 'cle_elections_total'))).toHaveLength(
      Object.values(electionResults).flat().length,
    );
  });

  test('distinguish times from a millisecond to a minute', () => {
    expect(ELECTION_BUCKETS_SECONDS.at(0)).toBe(0.001);
    expect(ELECTION_BUCKETS_SECONDS.at(-1)).toBe(60);
  });

  test('follow the naming rules that promtool checks', async () => {
    const { registry } = make();
    collectProcessMetrics(registry);
    const metrics = await registry.getMetricsAsJSON();
    const misnamed = metrics.filter(({ name, type, help }) => {
      const isCounter = String(type) === 'counter';
      return (
        help === '' ||
        isCounter !== name.endsWith('_total') ||
        /(?:milliseconds|_ms|minutes|kilobytes|megabytes|[A-Z])/.test(name)
      );
    });
    expect(misnamed.map(({ name }) => name)).toEqual([]);
    expect(metrics.map(({ name }) => name)).toContain('nodejs_eventloop_lag_seconds');
  });

  test('have no label whose values grow with the number of Leases or candidates', async () => {
    const metrics = make();
    const labels = metrics.registry
      .getMetricsAsArray()
      .flatMap((metric) => ('labelNames' in metric ? (metric.labelNames as string[]) : []));
    expect(new Set(labels)).toEqual(
      new Set(
        'version name code method verb resource how during reason action result state call holder urgency'.split(
          ' ',
        ),
      ),
    );
  });
});
