import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Lease } from '../election/model.ts';
import type { ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { OwnLock } from './lock/lock-record.ts';

export interface TakeOverParts {
  readonly clock: Clock;
  /** The cached Lease. */
  readonly lease: (key: LeaseKey) => Lease | undefined;
  /** Whether one watch shows the lock and all coordinated Leases. */
  readonly isInOneWatch: (key: LeaseKey) => boolean;
  /** Now the process may decide. `mayHaveMissed`: Leases may have been created and deleted unseen. */
  readonly onEnd: (mayHaveMissed: boolean) => void;
}

/** Timeout of the wait for the watch, in ms. A working watch shows a write within milliseconds. */
const CAUGHT_UP_WITHIN_MS = 1000;
/** The holder of a Lease that was created and deleted before a list may lead for this long, in ms (rule 8). */
const RELISTED_LATELY_MS = 60_000;

/**
 * The cache of a new coordinator may lag. Once the watch shows the new coordinator's own lock, it has shown all writes of the
 * former coordinator (rule 8). Until then, for at most a second, the new coordinator decides nothing.
 */
export class TakeOver {
  readonly #parts: TakeOverParts;
  #awaited: OwnLock | undefined;
  #cancelTimer: (() => void) | undefined;
  #relistedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(parts: TakeOverParts) {
    this.#parts = parts;
  }

  /** Whether the process must not decide yet. */
  get isPending(): boolean {
    return this.#awaited !== undefined;
  }

  /** Call this when Leases are listed again after a gap: Leases that came and went in the gap remain unseen. */
  observe({ type }: ReflectorObservation): void {
    // A list that fails leaves the gap open.
    if (type === 'listing') this.#relistedAt = Number.POSITIVE_INFINITY;
    else if (type === 'listed') this.#relistedAt = this.#parts.clock.now();
  }

  /** Call this when the process becomes the coordinator. */
  begin(own: OwnLock | undefined): void {
    const { clock, isInOneWatch } = this.#parts;
    if (!own || !isInOneWatch(own.key) || clock.now() < this.#relistedAt + RELISTED_LATELY_MS) {
      this.#end(true);
      return;
    }
    this.#cancelTimer?.();
    this.#awaited = own;
    this.#cancelTimer = clock.setTimer(() => this.#end(true), CAUGHT_UP_WITHIN_MS);
    this.see(own.key);
  }

  /** Call this when a Lease changes. */
  see(key: LeaseKey): void {
    const own = this.#awaited;
    if (own?.key !== key) return;
    const { holderIdentity, renewTime } = this.#parts.lease(key) ?? {};
    const isShown = holderIdentity === own.holder && renewTime !== undefined && renewTime >= own.renewTime;
    if (isShown) this.#end(this.#parts.clock.now() < this.#relistedAt + RELISTED_LATELY_MS);
  }

  #end(mayHaveMissed: boolean): void {
    this.#cancelTimer?.();
    this.#awaited = undefined;
    this.#parts.onEnd(mayHaveMissed);
  }
}
