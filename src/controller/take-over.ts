import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Lease } from '../election/model.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { OwnLock } from './lock/lock-record.ts';

/** What a {@link TakeOver} needs. */
export interface TakeOverParts {
  readonly clock: Clock;
  /** The Lease as the watch has last shown it. */
  readonly lease: (key: LeaseKey) => Lease | undefined;
  /** Whether one watch shows the Leases of the lock's namespace and all others that are coordinated. */
  readonly isInOneWatch: (key: LeaseKey) => boolean;
  /** The process may decide. `mayHaveMissed`: Leases may have come and gone unseen. */
  readonly onEnd: (mayHaveMissed: boolean) => void;
}

/** A watch that works shows the lock within milliseconds of the write; elections wait no longer than this, in milliseconds. */
const CAUGHT_UP_WITHIN_MS = 1000;
/** A Lease may have come and gone before a list, and its holder lead on for so long, in milliseconds (rule 8). */
const RELISTED_LATELY_MS = 60_000;

/**
 * A coordinator that takes over may be behind in what it watches. It has seen all that the one before it has written once the
 * watch of Leases shows its own lock (rule 8). Until then it decides nothing, for a second at most.
 */
export class TakeOver {
  readonly #parts: TakeOverParts;
  #awaited: OwnLock | undefined;
  #cancelTimer: (() => void) | undefined;
  #relistedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(parts: TakeOverParts) {
    this.#parts = parts;
  }

  /** Whether nothing may be decided yet. */
  get isPending(): boolean {
    return this.#awaited !== undefined;
  }

  /** Leases were listed after a gap, which does not show what has come and gone in it. */
  relisted(): void {
    this.#relistedAt = this.#parts.clock.now();
  }

  /** This process has become the coordinator. */
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

  /** A Lease was seen to change. */
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
