import { type LeaseKey, splitLeaseKey } from '../../coordination/lease-key.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { FairKeys, RequestLimit, URGENCIES, type Urgency } from './order-and-limit.ts';

/** Must not throw. */
export interface WriteQueueObserver {
  /** A Lease got its turn after it waited for `ms`. */
  waited(urgency: Urgency, ms: number): void;
}

export interface WriteQueueOptions {
  readonly clock: Clock;
  /** Upper bound of requests in flight. */
  readonly maxInFlight: number;
  /**
   * Called at the Lease's turn. Sends up to `slots` requests, and calls {@link WriteQueue.begin} for each. If it sends none,
   * it must not want a turn of the same urgency before something has changed.
   */
  readonly serve: (key: LeaseKey, urgency: Urgency, slots: number) => void;
  readonly observer?: WriteQueueObserver | undefined;
}

interface Wish {
  readonly urgency: Urgency;
  /** Since when the Lease has needed the write. Among equals the earliest comes first. */
  readonly since: Instant;
  readonly askedAt: Instant;
}

/** Requests in flight of one Lease (rule 9). */
const MAX_PER_LEASE = 8;

/**
 * The share of the limit that requests of each urgency may fill, so that more urgent ones find a free slot. Grants may
 * exceed the limit up to `maxInFlight`: they are few, and a cluster without leaders needs them.
 */
const SHARES: Readonly<Record<Exclude<Urgency, 'grant'>, number>> = {
  preference: 1,
  vacant: 0.75,
  expiry: 0.5,
  housekeeping: 0.25,
};

/**
 * Queue of Leases that wait to write. Orders them by urgency, then by turns among namespaces, then by fewest requests in
 * flight, then by how long they have needed the write. A Lease decides at its turn what to write.
 */
export class WriteQueue {
  readonly #clock: Clock;
  readonly #serve: WriteQueueOptions['serve'];
  readonly #observer: WriteQueueObserver | undefined;
  readonly #maxInFlight: number;
  readonly #limit: RequestLimit;
  readonly #wishes = new Map<LeaseKey, Wish>();
  readonly #turns: Readonly<Record<Urgency, FairKeys>>;
  readonly #inFlight = new Map<LeaseKey, number>();
  #totalInFlight = 0;
  #isGivingTurns = false;
  #isClosed = false;
  /** Resolved when the queue is closed and no request is in flight. */
  readonly #idle = Promise.withResolvers<void>();

  constructor({ clock, maxInFlight, serve, observer }: WriteQueueOptions) {
    this.#clock = clock;
    this.#serve = serve;
    this.#observer = observer;
    this.#maxInFlight = maxInFlight;
    this.#limit = new RequestLimit(clock, maxInFlight);
    this.#turns = {
      grant: new FairKeys(),
      preference: new FairKeys(),
      vacant: new FairKeys(),
      expiry: new FairKeys(),
      housekeeping: new FairKeys(),
    };
  }

  /** The current limit of requests in flight. */
  get limit(): number {
    return this.#limit.current;
  }

  get inFlight(): number {
    return this.#totalInFlight;
  }

  inFlightFor(key: LeaseKey): number {
    return this.#inFlight.get(key) ?? 0;
  }

  isWaiting(key: LeaseKey): boolean {
    return this.#wishes.has(key);
  }

  /** How many Leases wait for their turn. */
  waiting(): Readonly<Record<Urgency, number>> {
    const counts = { grant: 0, preference: 0, vacant: 0, expiry: 0, housekeeping: 0 };
    for (const { urgency } of this.#wishes.values()) counts[urgency]++;
    return counts;
  }

  /** Requests a turn. Replaces an earlier wish of the Lease. */
  want(key: LeaseKey, urgency: Urgency, since: Instant): void {
    if (this.#isClosed) return;
    const former = this.#wishes.get(key);
    if (former) this.#turns[former.urgency].delete(key, splitLeaseKey(key).namespace);
    this.#wishes.set(key, { urgency, since, askedAt: former?.askedAt ?? this.#clock.now() });
    this.#sortIn(key);
    this.#giveTurns();
  }

  /** Withdraws the wish of the Lease. */
  drop(key: LeaseKey): void {
    const wish = this.#wishes.get(key);
    if (!wish) return;
    this.#wishes.delete(key);
    this.#turns[wish.urgency].delete(key, splitLeaseKey(key).namespace);
  }

  /** Counts a request that is sent now. Call the returned function when it ends; for `isAnswered` see RequestLimit. */
  begin(key: LeaseKey): (isAnswered: boolean) => void {
    const sentAt = this.#clock.now();
    this.#totalInFlight++;
    this.#inFlight.set(key, this.inFlightFor(key) + 1);
    return (isAnswered) => {
      this.#limit.answered(sentAt, isAnswered);
      this.#totalInFlight--;
      const left = this.inFlightFor(key) - 1;
      if (left > 0) this.#inFlight.set(key, left);
      else this.#inFlight.delete(key);
      this.#sortIn(key);
      this.#giveTurns();
      if (this.#isClosed && this.#totalInFlight === 0) this.#idle.resolve();
    };
  }

  /** Gives no more turns; resolves when no request is in flight. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#wishes.clear();
    for (const keys of Object.values(this.#turns)) keys.clear();
    if (this.#totalInFlight === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  /** Sorts the Lease's wish, if any, by its requests in flight. */
  #sortIn(key: LeaseKey): void {
    const wish = this.#wishes.get(key);
    const inFlight = this.inFlightFor(key);
    if (wish && inFlight < MAX_PER_LEASE) {
      this.#turns[wish.urgency].set(key, splitLeaseKey(key).namespace, inFlight, wish.since);
    }
  }

  #giveTurns(): void {
    // A turn may add wishes; the running loop serves them.
    if (this.#isGivingTurns) return;
    this.#isGivingTurns = true;
    try {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        const { key, wish, slots } = next;
        this.#wishes.delete(key);
        this.#observer?.waited(wish.urgency, this.#clock.now() - wish.askedAt);
        this.#serve(key, wish.urgency, slots);
      }
    } finally {
      this.#isGivingTurns = false;
    }
  }

  #limitFor(urgency: Urgency): number {
    return urgency === 'grant'
      ? this.#maxInFlight
      : Math.max(1, Math.floor(this.#limit.current * SHARES[urgency]));
  }

  #next(): { readonly key: LeaseKey; readonly wish: Wish; readonly slots: number } | undefined {
    for (const urgency of URGENCIES) {
      const free = this.#limitFor(urgency) - this.#totalInFlight;
      const key = free > 0 ? this.#turns[urgency].shift() : undefined;
      const wish = key === undefined ? undefined : this.#wishes.get(key);
      if (key !== undefined && wish) {
        return { key, wish, slots: Math.min(free, MAX_PER_LEASE - this.inFlightFor(key)) };
      }
    }
    return undefined;
  }
}
