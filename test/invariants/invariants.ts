import { FencedWrites } from './fenced-writes.ts';
import type { HistoryEvent, Invariant } from './history.ts';
import { LedLeaseKept } from './led-lease-kept.ts';
import { LiveCandidateKept } from './live-candidate-kept.ts';
import { OneCoordinator } from './one-coordinator.ts';
import { OneLeader } from './one-leader.ts';
import { TransitionsGrow } from './transitions-grow.ts';

/** The parameters of the invariants for a run. */
export interface InvariantSettings {
  readonly candidateValidityMs: number;
  readonly electionDurationMs: number;
  /**
   * The share of its duration for which a record must be respected: 1 if all clocks have the same rate; with rates of
   * 1 - x and 1 + x, (1 - x) / (1 + x).
   */
  readonly clockTolerance: number;
}

/** All invariants that must hold at every step of a history, recorded by any kind of run. */
export class Invariants implements Invariant {
  readonly #all: readonly Invariant[];

  constructor({ candidateValidityMs, electionDurationMs, clockTolerance }: InvariantSettings) {
    this.#all = [
      new OneLeader(),
      new LedLeaseKept(clockTolerance, electionDurationMs),
      new OneCoordinator(clockTolerance),
      new LiveCandidateKept(candidateValidityMs),
      new TransitionsGrow(),
      new FencedWrites(),
    ];
  }

  observe(event: HistoryEvent): readonly string[] {
    const violations: string[] = [];
    for (const invariant of this.#all) violations.push(...invariant.observe(event));
    return violations;
  }
}
