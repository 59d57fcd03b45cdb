import type { Registry } from 'prom-client';
import type { ElectionsSurvey, SurveyedElection } from '../controller/elections-survey.ts';
import { type Action, type Reason, reasons } from '../election/decision.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { electionResults } from './election-result.ts';
import { instrumentsOf, type ScrapeSources } from './instruments.ts';

/** Histogram buckets for durations, from a decision without a wait (1 ms) to an election that takes a minute. */
export const ELECTION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60,
];

const ACTIONS: readonly Action['kind'][] = ['CreateLease', 'UpdateLease', 'PingCandidate', 'DeleteCandidate'];

/** Reasons with which a `clearPreferredHolder` change can count as a failed preemption (rule 7). */
const PREEMPTION_FAILURES: readonly Reason[] = [
  'PreferredHolderGone',
  'PreferredHolderSilent',
  'NoCandidates',
  'StrategyConflict',
];

export type ElectionMetrics = ReturnType<typeof createElectionMetrics>;

/**
 * Registers the metrics of elections in `registry`. Each label has a fixed set of values, none of them the name of a
 * Lease or candidate. So the number of series does not grow with the cluster.
 */
export function createElectionMetrics(registry: Registry) {
  const { counter, histogram } = instrumentsOf(registry);
  const elections = counter(
    'cle_elections_total',
    'Elections, by result: granted; revised (another candidate got the Lease before the new holder had renewed it); ' +
      'preferred (the holder was asked to yield); delegated (another controller applies the strategy); undecided (no ' +
      'candidate can be elected, counted when this begins); failed (the write failed)',
    { result: [], reason: [] },
  );
  for (const [result, all] of Object.entries(electionResults))
    for (const reason of all) elections.inc({ result, reason }, 0);
  return {
    elections,
    decisions: counter('cle_decisions_total', 'Decisions about a Lease, including decisions to do nothing', {
      reason: reasons,
    }),
    heldBack: counter(
      'cle_decisions_held_back_total',
      'Decisions that were delayed, because the Lease has too many candidates or changes too often',
    ),
    leaderChanges: counter('cle_leader_changes_total', 'Grants of a Lease to a new holder'),
    preemptions: counter('cle_preemptions_total', 'Valid holders asked to yield to a better candidate'),
    failedPreemptions: counter(
      'cle_preemptions_failed_total',
      'Preferred holders that were removed before they led, except those replaced by a better candidate',
      { reason: PREEMPTION_FAILURES },
    ),
    skewPreventions: counter(
      'cle_skew_preventions_total',
      'Elections in which OldestEmulationVersion chose a candidate with a lower binaryVersion than another electable one',
    ),
    conflicts: counter('cle_strategy_conflicts_total', 'Strategy conflicts that began'),
    pings: counter('cle_pings_total', 'Pings sent to candidates'),
    unanswered: counter('cle_pings_unanswered_total', 'Pings that no candidate answered in time'),
    writes: counter(
      'cle_writes_total',
      'Writes to the cluster; conflict: the server refused the write because the object had changed',
      { action: ACTIONS, result: ['ok', 'conflict', 'error'] },
    ),
    collected: counter('cle_candidates_collected_total', 'Dead candidates that were deleted'),
    reconcileFailures: counter(
      'cle_reconcile_failures_total',
      'Reconciles that failed with an unexpected error; they are retried with backoff',
    ),
    expiryToHolder: histogram(
      'cle_expiry_to_holder_seconds',
      "Time from a Lease's expiry, or from the first electable candidate after it, to the grant to a new holder",
      ELECTION_BUCKETS_SECONDS,
    ),
    needToDecision: histogram(
      'cle_need_to_decision_seconds',
      'Time from when an election was needed and a candidate was electable to its decision',
      ELECTION_BUCKETS_SECONDS,
    ),
  };
}

/** Scrapes reuse a survey for this time after its start, in ms, so that several scrapers do not cause a survey each. */
const SURVEY_AGE_MS = 1000;

/** Registers gauges about Leases and candidates. A scrape surveys the Leases, unless the last survey is recent. */
export function registerSurveyMetrics(registry: Registry, sources: ScrapeSources, clock: Clock): void {
  const { gauge } = instrumentsOf(registry);
  let last: { readonly at: Instant; readonly survey: ElectionsSurvey; readonly oldestMs: number } | undefined;
  /** For each unled Lease without `since` in the last survey: when the first survey in a row found this Lease unled. */
  let foundUnled = new Map<string, Instant>();

  const current = sharedWhileRunning(async () => {
    if (!sources.survey || (last && clock.now() - last.at < SURVEY_AGE_MS)) return last;
    const at = clock.now();
    const survey = await sources.survey(last?.survey.redundancy);
    const found = new Map<string, Instant>();
    let oldest = at;
    for (const { key, since } of survey.unled) {
      if (since === undefined) found.set(key, foundUnled.get(key) ?? at);
      oldest = Math.min(oldest, since ?? found.get(key) ?? at);
    }
    foundUnled = found;
    last = { at, survey, oldestMs: at - oldest };
    return last;
  });

  function total(name: string, help: string, read: (now: NonNullable<typeof last>) => number) {
    gauge(name, help, [], async (totals) => {
      const now = await current();
      if (now) totals.set(read(now));
    });
  }

  total('cle_leases', 'Leases that have candidates', ({ survey }) => survey.leases);
  total(
    'cle_leases_without_leader',
    'Leases that have candidates but no valid holder, except those whose candidates have all shut down cleanly',
    ({ survey }) => survey.unled.length,
  );
  total(
    'cle_oldest_lease_without_leader_seconds',
    'Longest time that a Lease of cle_leases_without_leader has had no leader, as seen by this process; 0 if there is none',
    ({ oldestMs }) => oldestMs / 1000,
  );
  total(
    'cle_leases_without_successor',
    'Leases that lost their redundancy in the last 24 hours: candidates that existed beside another one for ten minutes do not answer, and only the holder can lead',
    ({ survey }) => survey.withoutSuccessor,
  );
  gauge(
    'cle_leases_by_reason',
    'Leases by the reason of the latest decision; 0 if this replica does not decide',
    ['reason'],
    async (leases) => {
      const counts = (await current())?.survey.reasons;
      for (const reason of reasons) leases.set({ reason }, counts?.get(reason) ?? 0);
    },
  );
  gauge(
    'cle_candidates',
    'LeaseCandidates by their current state in elections',
    ['state'],
    async (candidates) => {
      for (const [state, count] of Object.entries((await current())?.survey.candidates ?? {})) {
        candidates.set({ state }, count);
      }
    },
  );
}

/**
 * Registers gauges that have series of their own for each Lease. They are off by default, because the number of series
 * grows with the cluster. A Lease without candidates has no series.
 */
export function registerLeaseMetrics(
  registry: Registry,
  elections: () => Iterable<SurveyedElection> | AsyncIterable<SurveyedElection>,
): void {
  const { gauge } = instrumentsOf(registry);
  // One survey sets all three gauges. Concurrent scrapes share this survey.
  const collect = sharedWhileRunning(async () => {
    for (const each of [infos, leaders, candidates]) each.reset();
    for await (const { input, tenure, standings, reason = '' } of elections()) {
      const { lease } = input;
      // Do not use the label `namespace`: Prometheus sets it to the namespace of the scraped pod, and renames ours.
      const name = { lease_namespace: input.namespace, lease: input.name };
      const holder = tenure.kind === 'held' ? tenure.holder : '';
      const preferred_holder = lease?.preferredHolder ?? '';
      infos.set({ ...name, holder, preferred_holder, strategy: lease?.strategy ?? '', reason }, 1);
      leaders.set(name, tenure.kind === 'held' ? 1 : 0);
      for (const { state } of standings) candidates.inc({ ...name, state });
    }
  });
  const labelNames = ['lease_namespace', 'lease'] as const;
  const infos = gauge(
    'cle_lease_info',
    'Always 1; the labels describe the Lease. Only with --lease-metrics',
    [...labelNames, 'holder', 'preferred_holder', 'strategy', 'reason'],
    collect,
  );
  const leaders = gauge(
    'cle_lease_has_leader',
    'Whether a Lease has a valid holder (1) or not (0). Only with --lease-metrics',
    labelNames,
    collect,
  );
  const candidates = gauge(
    'cle_lease_candidates',
    'Candidates of a Lease by their current state; states without candidates have no series. Only with --lease-metrics',
    [...labelNames, 'state'],
    collect,
  );
}

/** Returns a function that calls `work`. While `work` is in progress, further calls wait for the same result. */
function sharedWhileRunning<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
