import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Clock, Instant } from '../support/clock.ts';

/** What a decision costs of the time that a Lease is given, in milliseconds for each candidate: many times what it takes. */
const COST_PER_CANDIDATE_MS = 0.1;
/** As if there were so many at least: not all of a decision is about candidates. */
const FEWEST_CANDIDATES = 10;
/** So much may be spent ahead, in milliseconds: a whole component that starts at once is decided on a hundred times. */
const BURST_MS = 1000;

/**
 * How often each Lease may be decided on. Whoever may change a candidate a thousand times a second must not make the
 * coordinator decide so often: no Lease gets more than a few hundredths of its time.
 */
export class DecisionBudget {
  readonly #clock: Pick<Clock, 'now'>;
  /** By Lease, until when its decisions have used up the time that it is given. */
  readonly #spentUntil = new Map<LeaseKey, Instant>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** When the Lease may be decided on again; undefined when it may be right now. */
  opensAt(key: LeaseKey): Instant | undefined {
    const at = (this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY) - BURST_MS;
    return at > this.#clock.now() ? at : undefined;
  }

  /** A decision was made on so many candidates. */
  spend(key: LeaseKey, candidates: number): void {
    const costMs = Math.max(FEWEST_CANDIDATES, candidates) * COST_PER_CANDIDATE_MS;
    const spentUntil = this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY;
    this.#spentUntil.set(key, Math.max(spentUntil, this.#clock.now()) + Math.min(costMs, BURST_MS));
  }

  /** There is nothing left to decide on. */
  forget(key: LeaseKey): void {
    this.#spentUntil.delete(key);
  }

  /** Of how many Leases something is remembered. */
  get size(): number {
    return this.#spentUntil.size;
  }
}
