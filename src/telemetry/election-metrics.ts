import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** How a write to the cluster ended; `conflict`: somebody else had written in the meantime. */
export type WriteResult = 'ok' | 'conflict' | 'error';

/**
 * What elections come to. No Lease's or candidate's name is a label anywhere, so that the number of series does not grow
 * with the cluster.
 */
export interface ElectionMetrics {
  /** A decision was made, for one of the closed set of reasons. */
  decided(reason: string): void;
  /** A Lease was given to another holder than before. */
  leaderChanged(): void;
  /** A valid holder was asked to yield, by a preferredHolder. */
  preempted(): void;
  /** A candidate was pinged. */
  pinged(): void;
  /** A candidate let electionDuration pass without an ack. */
  pingUnanswered(): void;
  /** An action was applied to the cluster, or could not be. */
  wrote(action: string, result: WriteResult): void;
  /** The candidates of a Lease came to disagree about its strategy. */
  strategyConflicted(): void;
  /** A candidate that had long gone was deleted. */
  candidateCollected(): void;
  /** An expired Lease got its new holder `durationMs` after its expiry. */
  filledAfterExpiry(durationMs: number): void;
  /** Asks `count`, whenever metrics are collected, how many Leases have candidates but no valid holder. */
  countLeasesWithoutLeader(count: () => number): void;
}

const EXPIRY_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** Registers the metrics of elections in `registry`. */
export function createElectionMetrics(registry: Registry): ElectionMetrics {
  function counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) {
    return new Counter({ name, help, labelNames, registers: [registry] });
  }

  const decisions = counter('cle_decisions_total', 'Decisions about a Lease, by reason', ['reason']);
  const leaderChanges = counter('cle_leader_changes_total', 'Leases given to another holder than before');
  const preemptions = counter('cle_preemptions_total', 'Valid holders asked to yield to a better candidate');
  const pings = counter('cle_pings_total', 'Pings sent to candidates');
  const unanswered = counter('cle_pings_unanswered_total', 'Pings that no candidate answered in time');
  const writes = counter('cle_writes_total', 'Writes to the cluster, by action and result', [
    'action',
    'result',
  ]);
  const conflicts = counter('cle_strategy_conflicts_total', 'Leases whose candidates came to disagree');
  const collected = counter('cle_candidates_collected_total', 'Candidates deleted as long gone');
  const expiryToHolder = new Histogram({
    name: 'cle_expiry_to_holder_seconds',
    help: "Time from a Lease's expiry to its new holder",
    buckets: EXPIRY_BUCKETS_SECONDS,
    registers: [registry],
  });
  let countWithoutLeader = () => 0;
  new Gauge({
    name: 'cle_leases_without_leader',
    help: 'Leases that have candidates but no valid holder',
    registers: [registry],
    collect() {
      this.set(countWithoutLeader());
    },
  });

  return {
    decided: (reason) => decisions.inc({ reason }),
    leaderChanged: () => leaderChanges.inc(),
    preempted: () => preemptions.inc(),
    pinged: () => pings.inc(),
    pingUnanswered: () => unanswered.inc(),
    wrote: (action, result) => writes.inc({ action, result }),
    strategyConflicted: () => conflicts.inc(),
    candidateCollected: () => collected.inc(),
    filledAfterExpiry: (durationMs) => expiryToHolder.observe(durationMs / 1000),
    countLeasesWithoutLeader: (count) => {
      countWithoutLeader = count;
    },
  };
}
