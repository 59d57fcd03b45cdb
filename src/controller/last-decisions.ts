import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Decision, Reason } from '../election/decision.ts';
import { surveyTenure } from '../election/view.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { DecisionObserver } from './controller-parts.ts';
import type { ElectionRecords } from './election-records.ts';
import { SETTLED } from './renewal-only.ts';

/** What is kept of a decision. */
interface LastDecision {
  readonly reason: Reason;
  /** When time alone changes it, if it does. */
  readonly nextAt: Instant | undefined;
  /** The same for as long as the Lease's holder renews it. */
  readonly steadyUntil: Instant;
}

/** So long a Lease in good order goes without a decision, in milliseconds: priorities end by a clock that may be set (rule 16). */
const LONGEST_REST_MS = 60_000;

/** What was last decided about each Lease, which tells what is no reason to decide again. */
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

  /** Whether a renewal changes nothing: the Lease is its holder's, and the next look is planned, before that ends. */
  isSettled(key: LeaseKey): boolean {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt === undefined || !SETTLED.has(decision.reason)) return false;
    return this.#clock.now() < decision.nextAt;
  }

  /** Whether a candidate that comes changes nothing yet: the first election of the Lease is decided later, with it (rule 6). */
  isSettling(key: LeaseKey): boolean {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt === undefined || decision.reason !== 'FirstElectionSettling') return false;
    return this.#clock.now() < decision.nextAt;
  }

  /**
   * Until when the look that is due at `at` can wait: it was to find out whether the holder is late, which has renewed since.
   * Undefined when it cannot.
   */
  putOff(key: LeaseKey, at: Instant): Instant | undefined {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt !== at || decision.reason !== 'LeaderOptimal') return undefined;
    const nextAt = Math.min(decision.steadyUntil, this.#lateAt(key) ?? at);
    if (nextAt <= this.#clock.now()) return undefined;
    this.#decisions.set(key, { ...decision, nextAt });
    return nextAt;
  }

  /** Tells `observer` what it is told, and takes note of what is decided. */
  noting(observer: DecisionObserver): DecisionObserver {
    return {
      decided: (key, decision, input) => {
        this.#decisions.set(key, this.#noteOf(decision));
        observer.decided(key, decision, input);
      },
      heldBack: (key) => observer.heldBack(key),
      written: (...told) => observer.written(...told),
      applied: (...told) => observer.applied(...told),
      forgotten: (key) => {
        this.#decisions.delete(key);
        observer.forgotten(key);
      },
    };
  }

  #noteOf({ reason, requeue, steadyUntil, actions }: Decision): LastDecision {
    // What there is to do is done first, and then decided anew.
    const restMs = actions.length === 0 ? LONGEST_REST_MS : 0;
    return {
      reason,
      nextAt: requeue.kind === 'at' ? requeue.time : undefined,
      steadyUntil: Math.min(steadyUntil, this.#clock.now() + restMs),
    };
  }

  /** When the holder is late; undefined while the Lease has no valid one. */
  #lateAt(key: LeaseKey): Instant | undefined {
    const tenure = surveyTenure(this.#records.gatherHolder(key), this.#clock.now());
    return tenure.kind === 'held' ? tenure.lateAt : undefined;
  }
}
