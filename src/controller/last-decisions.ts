import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Decision, Reason } from '../election/decision.ts';
import { surveyTenure } from '../election/view.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { DecisionObserver } from './controller-parts.ts';
import type { ElectionRecords } from './election-records.ts';
import { SETTLED } from './renewal-only.ts';

interface LastDecision {
  readonly reason: Reason;
  /** When time alone changes the decision. */
  readonly nextAt: Instant | undefined;
  /** The same if the holder renews the Lease. */
  readonly steadyUntil: Instant;
}

/** Longest time between decisions about a settled Lease, in ms: priorities end by a wall clock, which may be set (rule 16). */
const LONGEST_REST_MS = 60_000;

/** Keeps the last decision about each Lease, and tells which changes need no new one. */
export class LastDecisions {
  readonly #records: ElectionRecords;
  readonly #clock: Clock;
  readonly #decisions = new Map<LeaseKey, LastDecision>();

  constructor(records: ElectionRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  get size(): number {
    return this.#decisions.size;
  }

  reasonOf(key: LeaseKey): Reason | undefined {
    return this.#decisions.get(key)?.reason;
  }

  /** Whether a renewal changes nothing: the Lease is held, and the next reconcile is scheduled before it expires. */
  isSettled(key: LeaseKey): boolean {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt === undefined || !SETTLED.has(decision.reason)) return false;
    return this.#clock.now() < decision.nextAt;
  }

  /** Whether a new candidate changes nothing yet: the first election of the Lease will include it (rule 6). */
  isSettling(key: LeaseKey): boolean {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt === undefined || decision.reason !== 'FirstElectionSettling') return false;
    return this.#clock.now() < decision.nextAt;
  }

  /**
   * Returns until when the reconcile at `at` can wait; undefined if it cannot. It can if it only had to check whether the
   * holder is late, and the holder has renewed since.
   */
  postpone(key: LeaseKey, at: Instant): Instant | undefined {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt !== at || decision.reason !== 'LeaderOptimal') return undefined;
    const nextAt = Math.min(decision.steadyUntil, this.#lateAt(key) ?? at);
    if (nextAt <= this.#clock.now()) return undefined;
    this.#decisions.set(key, { ...decision, nextAt });
    return nextAt;
  }

  /** Returns an observer that forwards to `observer` and keeps the decisions. */
  observing(observer: DecisionObserver): DecisionObserver {
    return {
      decided: (key, decision, input) => {
        this.#decisions.set(key, this.#summaryOf(decision));
        observer.decided(key, decision, input);
      },
      heldBack: (key) => observer.heldBack(key),
      written: (...args) => observer.written(...args),
      applied: (...args) => observer.applied(...args),
      forgotten: (key) => {
        this.#decisions.delete(key);
        observer.forgotten(key);
      },
    };
  }

  #summaryOf({ reason, requeue, steadyUntil, actions }: Decision): LastDecision {
    // Actions change the Lease, which needs another decision.
    const restMs = actions.length === 0 ? LONGEST_REST_MS : 0;
    return {
      reason,
      nextAt: requeue.kind === 'at' ? requeue.time : undefined,
      steadyUntil: Math.min(steadyUntil, this.#clock.now() + restMs),
    };
  }

  /** When the holder is late; undefined while the Lease has no valid holder. */
  #lateAt(key: LeaseKey): Instant | undefined {
    const tenure = surveyTenure(this.#records.gatherHolder(key), this.#clock.now());
    return tenure.kind === 'held' ? tenure.lateAt : undefined;
  }
}
