import { Counter, Histogram, type Registry } from 'prom-client';
import type { Action } from '../election/decision.ts';
import { type Reason, reasons } from '../election/reason.ts';
import { type ElectionResult, electionResults } from './election-result.ts';

/** How a write to the cluster ended; `conflict`: somebody else had written in the meantime. */
export type WriteResult = 'ok' | 'conflict' | 'error';

/**
 * What elections come to. No Lease's or candidate's name is a label anywhere, so that the number of series does not grow
 * with the cluster; every label has a closed set of values, and each of them shows from the start, with zero.
 */
export interface ElectionMetrics {
  decided(reason: Reason): void;
  /** A look at a Lease was put off, as it was decided on so often. */
  heldBack(): void;
  ended(result: ElectionResult, reason: Reason): void;
  leaderChanged(): void;
  preempted(): void;
  /** A preferredHolder was taken off as its candidate had failed. */
  preemptionFailed(reason: Reason): void;
  preventedSkew(): void;
  pinged(): void;
  /** A candidate let electionDuration pass without an ack. */
  pingUnanswered(): void;
  /** An action was applied to the cluster, or could not be. */
  wrote(action: Action['kind'], result: WriteResult): void;
  /** The candidates of a Lease came to disagree about its strategy. */
  strategyConflicted(): void;
  /** A candidate that had long gone was deleted. */
  candidateCollected(): void;
  filledAfterExpiry(durationMs: number): void;
  decidedAfterNeed(durationMs: number): void;
  reconcileFailed(): void;
}

/** From a decision within the process to one that took all of a minute. */
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
/** Reasons for which a preferredHolder is taken off again before it leads, to be preferred anew only with backoff. */
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
    'Elections that ended: somebody was granted the Lease, or got it instead of one that had not taken it up (revised), or ' +
      'was preferred beside its holder, or it was delegated to whoever carries out its strategy, or nobody could be elected ' +
      '(counted when that begins), or the write failed',
    ['result', 'reason'],
    Object.entries(electionResults).flatMap(([result, all]) => all.map((reason) => ({ result, reason }))),
  );
  const decisions = labelled(
    'cle_decisions_total',
    'Decisions about a Lease, those that nothing is to be done among them',
    ['reason'],
    reasons.map((reason) => ({ reason })),
  );
  const heldBack = counter(
    'cle_decisions_held_back_total',
    'Looks at a Lease that were put off, as its candidates are so many or it changes so often that it had used up its time',
  );
  const leaderChanges = counter('cle_leader_changes_total', 'Leases given to another holder than before');
  const preemptions = counter('cle_preemptions_total', 'Valid holders asked to yield to a better candidate');
  const failedPreemptions = labelled(
    'cle_preemptions_failed_total',
    'Preferred holders taken off again before they led, and not because another is better',
    ['reason'],
    PREEMPTION_FAILURES.map((reason) => ({ reason })),
  );
  const skewPreventions = counter(
    'cle_skew_preventions_total',
    'Elections whose winner, by OldestEmulationVersion, has a lower binaryVersion than another electable candidate that took part',
  );
  const conflicts = counter('cle_strategy_conflicts_total', 'Leases whose candidates came to disagree');
  const pings = counter('cle_pings_total', 'Pings sent to candidates');
  const unanswered = counter('cle_pings_unanswered_total', 'Pings that no candidate answered in time');
  const writes = labelled(
    'cle_writes_total',
    'Writes to the cluster; a conflict is one that was refused as the object had changed',
    ['action', 'result'],
    Object.keys(ACTIONS).flatMap((action) => WRITE_RESULTS.map((result) => ({ action, result }))),
  );
  const collected = counter('cle_candidates_collected_total', 'Candidates deleted as long gone');
  const reconcileFailures = counter(
    'cle_reconcile_failures_total',
    'Reconciles that ended in a way that nobody foresaw, and are repeated with backoff',
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
    reconcileFailed: () => reconcileFailures.inc(),
  };
}
