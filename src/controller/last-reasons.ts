import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Reason } from '../election/reason.ts';
import type { DecisionObserver } from './observers.ts';

/** The reason of the last decision about each Lease. */
export class LastReasons {
  readonly #reasons = new Map<LeaseKey, Reason>();

  get size(): number {
    return this.#reasons.size;
  }

  of(key: LeaseKey): Reason | undefined {
    return this.#reasons.get(key);
  }

  /** Tells `observer` what it is told, and takes note of the reasons. */
  noting(observer: DecisionObserver): DecisionObserver {
    return {
      decided: (key, decision, input) => {
        this.#reasons.set(key, decision.reason);
        observer.decided(key, decision, input);
      },
      heldBack: (key) => observer.heldBack(key),
      written: (...told) => observer.written(...told),
      applied: (...told) => observer.applied(...told),
      forgotten: (key) => {
        this.#reasons.delete(key);
        observer.forgotten(key);
      },
    };
  }
}
