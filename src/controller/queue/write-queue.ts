import { type LeaseKey, splitLeaseKey } from '../../coordination/lease-key.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { FairKeys, RequestLimit, URGENCIES, type Urgency } from './order-and-limit.ts';

/** Told of what happens in the queue. Must not throw. */
export interface WriteQueueObserver {
  /** A Lease had its turn; in milliseconds, how long it waited for it. */
  waited(urgency: Urgency, ms: number): void;
}

export interface WriteQueueOptions {
  readonly clock: Clock;
  /** How many requests may ever be under way at once. */
  readonly most: number;
  /**
   * It is the Lease's turn: begins up to `seats` requests, and says so of each with {@link WriteQueue.begin}. Whoever
   * begins none must not ask for the same urgency again before something has changed.
   */
  readonly serve: (key: LeaseKey, urgency: Urgency, seats: number) => void;
  readonly observer?: WriteQueueObserver | undefined;
}

interface Wish {
  readonly urgency: Urgency;
  /** Since when what is asked for has been needed: of equals, whoever has needed it for longest comes first. */
  readonly since: Instant;
  readonly askedAt: Instant;
}

/** No Lease may have more requests under way (rule 9). */
const MAX_PER_LEASE = 8;

/**
 * Which part of the limit requests of each urgency may fill, so that what matters more finds a place at once. Grants are
 * held back by nothing but the most that is ever allowed: they are few, and what relieves a cluster without leaders.
 */
const SHARES: Readonly<Record<Exclude<Urgency, 'grant'>, number>> = {
  preference: 1,
  vacant: 0.75,
  expiry: 0.5,
  housekeeping: 0.25,
};

/**
 * Leases that have something to write, each at most once, and how many requests are under way. Turns are given by
 * urgency, then in turn among namespaces, then to the Lease with the fewest requests under way, then to the one that has
 * needed it for longest. What it is about is decided when the turn has come, not before.
 */
export class WriteQueue {
  readonly #clock: Clock;
  readonly #serve: WriteQueueOptions['serve'];
  readonly #observer: WriteQueueObserver | undefined;
  readonly #most: number;
  readonly #limit: RequestLimit;
  readonly #wishes = new Map<LeaseKey, Wish>();
  readonly #turns: Readonly<Record<Urgency, FairKeys>>;
  readonly #underWay = new Map<LeaseKey, number>();
  #totalUnderWay = 0;
  #isGivingTurns = false;
  #isClosed = false;
  /** Once closed: nothing is under way any more. */
  readonly #idle = Promise.withResolvers<void>();

  constructor({ clock, most, serve, observer }: WriteQueueOptions) {
    this.#clock = clock;
    this.#serve = serve;
    this.#observer = observer;
    this.#most = most;
    this.#limit = new RequestLimit(clock, most);
    this.#turns = {
      grant: new FairKeys(),
      preference: new FairKeys(),
      vacant: new FairKeys(),
      expiry: new FairKeys(),
      housekeeping: new FairKeys(),
    };
  }

  /** How many requests may be under way at once, for now. */
  get limit(): number {
    return this.#limit.current;
  }

  get underWay(): number {
    return this.#totalUnderWay;
  }

  underWayFor(key: LeaseKey): number {
    return this.#underWay.get(key) ?? 0;
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

  /** Asks for a turn, in place of what the Lease may have asked for before. */
  want(key: LeaseKey, urgency: Urgency, since: Instant): void {
    if (this.#isClosed) return;
    const former = this.#wishes.get(key);
    if (former) this.#turns[former.urgency].delete(key, splitLeaseKey(key).namespace);
    this.#wishes.set(key, { urgency, since, askedAt: former?.askedAt ?? this.#clock.now() });
    this.#lineUp(key);
    this.#giveTurns();
  }

  /** The Lease has nothing to write any more. */
  drop(key: LeaseKey): void {
    const wish = this.#wishes.get(key);
    if (!wish) return;
    this.#wishes.delete(key);
    this.#turns[wish.urgency].delete(key, splitLeaseKey(key).namespace);
  }

  /** A request about the Lease is sent now. The returned function says that it has ended; `isAnswered` see RequestLimit. */
  begin(key: LeaseKey): (isAnswered: boolean) => void {
    const sentAt = this.#clock.now();
    this.#totalUnderWay++;
    this.#underWay.set(key, this.underWayFor(key) + 1);
    return (isAnswered) => {
      this.#limit.answered(sentAt, isAnswered);
      this.#totalUnderWay--;
      const left = this.underWayFor(key) - 1;
      if (left > 0) this.#underWay.set(key, left);
      else this.#underWay.delete(key);
      this.#lineUp(key);
      this.#giveTurns();
      if (this.#isClosed && this.#totalUnderWay === 0) this.#idle.resolve();
    };
  }

  /** Gives no more turns; resolves when no request is under way any more. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#wishes.clear();
    for (const keys of Object.values(this.#turns)) keys.clear();
    if (this.#totalUnderWay === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  /** Puts the Lease's wish, if it has one, where it belongs by what it has under way. */
  #lineUp(key: LeaseKey): void {
    const wish = this.#wishes.get(key);
    const underWay = this.underWayFor(key);
    if (wish && underWay < MAX_PER_LEASE) {
      this.#turns[wish.urgency].set(key, splitLeaseKey(key).namespace, underWay, wish.since);
    }
  }

  #giveTurns(): void {
    // A turn may lead to further wishes; the loop that is running takes them in.
    if (this.#isGivingTurns) return;
    this.#isGivingTurns = true;
    try {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        const { key, wish, seats } = next;
        this.#wishes.delete(key);
        this.#observer?.waited(wish.urgency, this.#clock.now() - wish.askedAt);
        this.#serve(key, wish.urgency, seats);
      }
    } finally {
      this.#isGivingTurns = false;
    }
  }

  #placesFor(urgency: Urgency): number {
    return urgency === 'grant' ? this.#most : Math.max(1, Math.floor(this.#limit.current * SHARES[urgency]));
  }

  #next(): { readonly key: LeaseKey; readonly wish: Wish; readonly seats: number } | undefined {
    for (const urgency of URGENCIES) {
      const free = this.#placesFor(urgency) - this.#totalUnderWay;
      const key = free > 0 ? this.#turns[urgency].shift() : undefined;
      const wish = key === undefined ? undefined : this.#wishes.get(key);
      if (key !== undefined && wish) {
        return { key, wish, seats: Math.min(free, MAX_PER_LEASE - this.underWayFor(key)) };
      }
    }
    return undefined;
  }
}
