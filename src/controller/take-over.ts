import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Lease } from '../election/model.ts';
import type { ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { OwnLock } from './lock/lock-record.ts';

interface TakeOverParts {
  readonly clock: Clock;
  readonly lease: (key: LeaseKey) => Lease | undefined;
  /** Whether one watch covers the lock and all coordinated Leases. */
  readonly isInOneWatch: (key: LeaseKey) => boolean;
  /** Called when decisions may begin. `mayHaveMissed`: Leases may have been created and deleted unseen. */
  readonly onEnd: (mayHaveMissed: boolean) => void;
}

/** Maximum wait until the watch shows our own lock, in ms. A working watch shows a write within milliseconds. */
const CAUGHT_UP_WITHIN_MS = 1000;
/**
 * How long a list counts as recent, in ms. Just before a list, a Lease may have been created and deleted unseen. After
 * this time, we assume that its holder no longer leads.
 */
const RELISTED_LATELY_MS = 60_000;

/**
 * Delays the decisions of a new coordinator for at most a second, because its cache may be outdated. The delay ends
 * early when the watch shows the new coordinator's own write of the lock. By then, the watch has shown all writes of
 * the former coordinator (rule 8). There is no delay if this write is unknown or would prove nothing: during or soon
 * after a list, or if the lock and the coordinated Leases are not in one watch.
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

  /** Records the time of each list. Before a list, Leases may have been created and deleted unseen. */
  observe({ type }: ReflectorObservation): void {
    // Infinity makes `#isRelistedLately` return true until the list has succeeded.
    if (type === 'listing') this.#relistedAt = Number.POSITIVE_INFINITY;
    else if (type === 'listed') this.#relistedAt = this.#parts.clock.now();
  }

  /** Call this when the process becomes the coordinator. */
  begin(own: OwnLock | undefined): void {
    const { clock, isInOneWatch } = this.#parts;
    if (!own || !isInOneWatch(own.key) || this.#isRelistedLately()) {
      this.#end(true);
      return;
    }
    this.#cancelTimer?.();
    this.#awaited = own;
    this.#cancelTimer = clock.setTimer(() => this.#end(true), CAUGHT_UP_WITHIN_MS);
    this.see(own.key);
  }

  see(key: LeaseKey): void {
    const own = this.#awaited;
    if (own?.key !== key) return;
    const { holderIdentity, renewTime } = this.#parts.lease(key) ?? {};
    const isShown = holderIdentity === own.holder && renewTime !== undefined && renewTime >= own.renewTime;
    if (isShown) this.#end(this.#isRelistedLately());
  }

  #isRelistedLately(): boolean {
    return this.#parts.clock.now() < this.#relistedAt + RELISTED_LATELY_MS;
  }

  #end(mayHaveMissed: boolean): void {
    this.#cancelTimer?.();
    this.#awaited = undefined;
    this.#parts.onEnd(mayHaveMissed);
  }
}
