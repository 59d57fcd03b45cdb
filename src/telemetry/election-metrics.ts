import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ElectionsSurvey, SurveyedElection } from '../controller/elections-survey.ts';
import { type Action, type Reason, reasons } from '../election/decision.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { type ElectionResult, electionResults } from './election-result.ts';

/** The result of a write. `conflict`: another client has changed the object. */
type WriteResult = 'ok' | 'conflict' | 'error';

/**
 * Metrics of elections. No label contains the name of a Lease or candidate, so the number of series does not grow with
 * the cluster. Each label has a fixed set of values. Each series starts at zero.
 */
export interface ElectionMetrics {
  decided(reason: Reason): void;
  /** Counts a decision that was delayed because there were too many decisions about the Lease. */
  heldBack(): void;
  ended(result: ElectionResult, reason: Reason): void;
  leaderChanged(): void;
  preempted(): void;
  /** Counts a preferredHolder that was removed because its candidate had failed. */
  preemptionFailed(reason: Reason): void;
  preventedSkew(): void;
  pinged(): void;
  /** Counts a candidate that did not answer a ping within electionDuration. */
  pingUnanswered(): void;
  /** Counts an action that was applied or has failed. */
  wrote(action: Action['kind'], result: WriteResult): void;
  /** Counts a strategy conflict when it begins. */
  strategyConflicted(): void;
  /** Counts a dead candidate that was deleted. */
  candidateCollected(): void;
  filledAfterExpiry(durationMs: number): void;
  decidedAfterNeed(durationMs: number): void;
  decisionFailed(): void;
}

/** From a decision without a wait to an election that takes a minute. */
export const ELECTION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60,
];

const ACTIONS: Readonly<Record<Action['kind'], true>> = {
  CreateLease: true,
  UpdateLease: true,
  PingCandidate: true,
  DeleteCandidate: true,
};

const WRITE_RESULTS: readonly WriteResult[] = ['ok', 'conflict', 'error'];

/** Reasons for the removal of a preferredHolder before it leads. The coordinator sets it again only after a backoff. */
const PREEMPTION_FAILURES: readonly Reason[] = [
  'PreferredHolderGone',
  'PreferredHolderSilent',
  'NoCandidates',
  'StrategyConflict',
];

/** Registers the metrics of elections in `registry`. */
export function createElectionMetrics(registry: Registry): ElectionMetrics {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const labelled = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    all: readonly Readonly<Record<L, string>>[],
  ) => {
    const made = new Counter({ name, help, labelNames, registers });
    for (const labels of all) made.inc(labels, 0);
    return made;
  };
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, buckets: ELECTION_BUCKETS_SECONDS, registers });

  const elections = labelled(
    'cle_elections_total',
    'Elections, by result: granted; revised (another candidate got the Lease before its new holder had taken it up); ' +
      'preferred (the holder was asked to yield); delegated (another controller applies the strategy); undecided (no ' +
      'candidate can be elected, counted when this begins); failed (the write failed)',
    ['result', 'reason'],
    Object.entries(electionResults).flatMap(([result, all]) => all.map((reason) => ({ result, reason }))),
  );
  const decisions = labelled(
    'cle_decisions_total',
    'Decisions about a Lease, including decisions to do nothing',
    ['reason'],
    reasons.map((reason) => ({ reason })),
  );
  const heldBack = counter(
    'cle_decisions_held_back_total',
    'Decisions that were delayed, because the Lease has too many candidates or changes too often',
  );
  const leaderChanges = counter(
    'cle_leader_changes_total',
    'Grants of a Lease to another holder than before',
  );
  const preemptions = counter('cle_preemptions_total', 'Valid holders asked to yield to a better candidate');
  const failedPreemptions = labelled(
    'cle_preemptions_failed_total',
    'Preferred holders that were removed before they led, except those replaced by a better candidate',
    ['reason'],
    PREEMPTION_FAILURES.map((reason) => ({ reason })),
  );
  const skewPreventions = counter(
    'cle_skew_preventions_total',
    'Elections in which OldestEmulationVersion chose a candidate with a lower binaryVersion than another electable one',
  );
  const conflicts = counter('cle_strategy_conflicts_total', 'Strategy conflicts that began');
  const pings = counter('cle_pings_total', 'Pings sent to candidates');
  const unanswered = counter('cle_pings_unanswered_total', 'Pings that no candidate answered in time');
  const writes = labelled(
    'cle_writes_total',
    'Writes to the cluster; conflict: the server refused the write because the object had changed',
    ['action', 'result'],
    Object.keys(ACTIONS).flatMap((action) => WRITE_RESULTS.map((result) => ({ action, result }))),
  );
  const collected = counter('cle_candidates_collected_total', 'Dead candidates that were deleted');
  const reconcileFailures = counter(
    'cle_reconcile_failures_total',
    'Reconciles that failed with an unexpected error; they are retried with backoff',
  );
  const expiryToHolder = histogram(
    'cle_expiry_to_holder_seconds',
    "Time from a Lease's expiry, or from when anybody could be elected after it, to its new holder",
  );
  const needToDecision = histogram(
    'cle_need_to_decision_seconds',
    'Time from when an election was needed, and anybody could be elected, to its decision',
  );

  return {
    decided: (reason) => decisions.inc({ reason }),
    heldBack: () => heldBack.inc(),
    ended: (result, reason) => elections.inc({ result, reason }),
    leaderChanged: () => leaderChanges.inc(),
    preempted: () => preemptions.inc(),
    preemptionFailed: (reason) => failedPreemptions.inc({ reason }),
    preventedSkew: () => skewPreventions.inc(),
    pinged: () => pings.inc(),
    pingUnanswered: () => unanswered.inc(),
    wrote: (action, result) => writes.inc({ action, result }),
    strategyConflicted: () => conflicts.inc(),
    candidateCollected: () => collected.inc(),
    filledAfterExpiry: (durationMs) => expiryToHolder.observe(durationMs / 1000),
    decidedAfterNeed: (durationMs) => needToDecision.observe(durationMs / 1000),
    decisionFailed: () => reconcileFailures.inc(),
  };
}

/** Gauges for all Leases. Each scrape surveys the Leases. */
export interface SurveyMetrics {
  /** Sets the function that surveys the Leases. Its argument is the redundancy from the last survey. */
  watch(survey: (known: ElectionsSurvey['redundancy'] | undefined) => Promise<ElectionsSurvey>): void;
}

/**
 * Maximum age of a reused survey, in milliseconds. All gauges of a scrape use the same survey, and many scrapers do not
 * increase the cost.
 */
const SURVEY_AGE_MS = 1000;

/** Registers the gauges over all Leases in `registry`. */
export function createSurveyMetrics(registry: Registry, clock: Clock): SurveyMetrics {
  const registers = [registry];
  let ask: Parameters<SurveyMetrics['watch']>[0] | undefined;
  let last: { readonly at: Instant; readonly survey: ElectionsSurvey; readonly oldestMs: number } | undefined;
  /** Leases whose loss of the leader was not observed, with the time at which the survey found them without a leader. */
  let foundUnled = new Map<string, Instant>();

  let asking: Promise<typeof last> | undefined;

  async function current() {
    if (!ask || (last && clock.now() - last.at < SURVEY_AGE_MS)) return last;
    asking ??= look(ask).finally(() => {
      asking = undefined;
    });
    return await asking;
  }

  async function look(surveyAll: NonNullable<typeof ask>) {
    const at = clock.now();
    const survey = await surveyAll(last?.survey.redundancy);
    const found = new Map<string, Instant>();
    let oldest = at;
    for (const { key, since } of survey.unled) {
      if (since === undefined) found.set(key, foundUnled.get(key) ?? at);
      oldest = Math.min(oldest, since ?? found.get(key) ?? at);
    }
    foundUnled = found;
    last = { at, survey, oldestMs: at - oldest };
    return last;
  }

  function gauge(name: string, help: string, read: (now: NonNullable<typeof last>) => number) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const now = await current();
        if (now) this.set(read(now));
      },
    });
  }

  gauge('cle_leases', 'Leases that have candidates', ({ survey }) => survey.leases);
  gauge(
    'cle_leases_without_leader',
    'Leases that have candidates but no valid holder, but for those whose candidates all ended in good order',
    ({ survey }) => survey.unled.length,
  );
  gauge(
    'cle_oldest_lease_without_leader_seconds',
    'How long the one of cle_leases_without_leader that has been so for longest has been so, as far as this process has seen; 0 when there is none',
    ({ oldestMs }) => oldestMs / 1000,
  );
  gauge(
    'cle_leases_without_successor',
    'Leases that lost their redundancy within a day: candidates that were there beside another for ten minutes have stopped answering, and none but the holder is left to lead',
    ({ survey }) => survey.withoutSuccessor,
  );
  new Gauge({
    name: 'cle_leases_by_reason',
    help: 'Leases by the reason of what was last decided about them; 0 where this replica does not decide',
    labelNames: ['reason'],
    registers,
    async collect() {
      const counts = (await current())?.survey.reasons;
      for (const reason of reasons) this.set({ reason }, counts?.get(reason) ?? 0);
    },
  });
  new Gauge({
    name: 'cle_candidates',
    help: 'LeaseCandidates by what they count for right now',
    labelNames: ['state'],
    registers,
    async collect() {
      for (const [state, count] of Object.entries((await current())?.survey.candidates ?? {})) {
        this.set({ state }, count);
      }
    },
  });

  return {
    watch(survey) {
      ask = survey;
    },
  };
}

/**
 * Registers gauges with one series per Lease. They are off by default, because the number of series grows with the
 * cluster. A Lease without candidates has no series.
 */
export function registerLeaseMetrics(
  registry: Registry,
  elections: () => Iterable<SurveyedElection> | AsyncIterable<SurveyedElection>,
): void {
  const registers = [registry];
  let looking: Promise<void> | undefined;
  // One survey sets all three gauges. Concurrent scrapes share it.
  const collect = (): Promise<void> => {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const labelNames = ['lease_namespace', 'lease'] as const;
  const infos = new Gauge({
    name: 'cle_lease_info',
    help: 'Always 1; its labels tell how a Lease stands. Only with --lease-metrics',
    labelNames: [...labelNames, 'holder', 'preferred_holder', 'strategy', 'reason'],
    registers,
    collect,
  });
  async function lookAtAll(): Promise<void> {
    for (const gauge of [infos, leaders, candidates]) gauge.reset();
    for await (const { input, tenure, standings, reason = '' } of elections()) {
      const { lease } = input;
      const name = nameOf(input);
      const holder = tenure.kind === 'held' ? tenure.holder : '';
      const preferred_holder = lease?.preferredHolder ?? '';
      infos.set({ ...name, holder, preferred_holder, strategy: lease?.strategy ?? '', reason }, 1);
      leaders.set(name, tenure.kind === 'held' ? 1 : 0);
      for (const { state } of standings) candidates.inc({ ...name, state });
    }
  }
  const leaders = new Gauge({
    name: 'cle_lease_has_leader',
    help: 'Whether a Lease has a valid holder (1) or not (0). Only with --lease-metrics',
    labelNames,
    registers,
    collect,
  });
  const candidates = new Gauge({
    name: 'cle_lease_candidates',
    help: 'The candidates of a Lease by what they count for right now; states without any are left out. Only with --lease-metrics',
    labelNames: [...labelNames, 'state'],
    registers,
    collect,
  });
}

/** Not `namespace`: Prometheus adds that label for the scraped pod and would rename ours. */
function nameOf({ namespace, name }: SurveyedElection['input']) {
  return { lease_namespace: namespace, lease: name };
}
