import { type LeaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import type { PingPurpose } from '../election/candidate-observation.ts';
import { type Action, type Decision, grantIn, isLeaseWrite } from '../election/decision.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';

/** The urgency classes of requests, most urgent first (rule 9). */
export const URGENCIES = ['grant', 'preference', 'vacant', 'expiry', 'housekeeping'] as const;

/**
 * - `grant`: gives the Lease to a candidate.
 * - `preference`: all other writes to a Lease, and pings for a preemption while the Lease has a preferredHolder.
 * - `vacant`: pings for an election or a revival, while the Lease has no valid holder.
 * - `expiry`: pings for an election that may follow, for example when a Lease expires, and all other pings for a preemption.
 * - `housekeeping`: pings for validity or collection, and deletions of candidates.
 */
export type Urgency = (typeof URGENCIES)[number];

const PING_URGENCIES = {
  election: 'vacant',
  revival: 'vacant',
  expiry: 'expiry',
  validity: 'housekeeping',
  collection: 'housekeeping',
} as const satisfies Readonly<Record<Exclude<PingPurpose, 'preemption'>, Urgency>>;

export function urgencyOf(action: Action, { reason }: Decision): Urgency {
  if (isLeaseWrite(action)) return grantIn(action) ? 'grant' : 'preference';
  if (action.kind === 'DeleteCandidate') return 'housekeeping';
  if (action.purpose === 'preemption') return reason === 'PreemptionPending' ? 'preference' : 'expiry';
  return PING_URGENCIES[action.purpose];
}

/** Distance between the sort keys of two levels, in ms. No process runs for so long, so the levels never overlap. */
const LEVEL_MS = 1e13;

/**
 * A queue of keys that serves the namespaces in turn (rule 9). Within a namespace, the keys with the lowest level come
 * first. Among these, the key that has waited longest comes first.
 */
export class FairKeys {
  /** The keys of each namespace. The namespaces are in the order of their turns. */
  readonly #namespaces = new Map<string, DeadlineHeap>();

  set(key: string, namespace: string, level: number, since: Instant): void {
    const keys = this.#namespaces.get(namespace) ?? new DeadlineHeap();
    keys.set(key, level * LEVEL_MS + since);
    this.#namespaces.set(namespace, keys);
  }

  delete(key: string, namespace: string): void {
    const keys = this.#namespaces.get(namespace);
    keys?.delete(key);
    if (keys?.earliest === undefined) this.#namespaces.delete(namespace);
  }

  shift(): string | undefined {
    for (const [namespace, keys] of this.#namespaces) {
      this.#namespaces.delete(namespace);
      const key = keys.popDue(Number.POSITIVE_INFINITY);
      if (keys.earliest !== undefined) this.#namespaces.set(namespace, keys);
      return key;
    }
    return undefined;
  }
}

/** A fast answer takes less than this time, in ms. */
const FAST_MS = 250;
/** A slow answer takes more than this time, in ms. */
const SLOW_MS = 1000;
/**
 * A server behind a slow webhook or network is slow at any load, and fewer requests would not make it faster.
 * Therefore, FAST_MS and SLOW_MS are raised to at least these multiples of the quickest answer of the last two windows.
 */
const FAST_FACTOR = 1.25;
const SLOW_FACTOR = 2;
const WINDOW_MS = 30_000;
const SHRINK_FACTOR = 0.75;
/** Minimum limit, unless `max` is lower. If other clients overload the server, a lower limit allows too few answers. */
const MIN_LIMIT = 8;

/**
 * A request starts only if all requests in flight together use less than this share of the current limit. The rest is
 * kept free for more urgent requests. For grants, the maximum limit applies: Leases without a leader wait for them.
 */
const SHARES: Readonly<Record<Exclude<Urgency, 'grant'>, number>> = {
  preference: 1,
  vacant: 0.75,
  expiry: 0.5,
  housekeeping: 0.25,
};

/**
 * Limits the requests in flight to a number that the server answers quickly (rule 9). A limit of n grows by one after n
 * fast answers. After a slow or missing answer, a 429 or a 5xx, the limit shrinks by a quarter, but only once for all
 * requests that were in flight together.
 */
export class RequestLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #max: number;
  #limit: number;
  #shrunkAt: Instant = Number.NEGATIVE_INFINITY;
  /** The quickest answers of this and the previous window, in ms. `before` is 0 at first: the factors then have no effect. */
  #quickest = { before: 0, now: 0, since: Number.NEGATIVE_INFINITY };

  /** @param max the first and the highest limit */
  constructor(clock: Pick<Clock, 'now'>, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#limit = max;
  }

  get current(): number {
    return Math.floor(this.#limit);
  }

  limitFor(urgency: Urgency): number {
    return urgency === 'grant' ? this.#max : Math.max(1, Math.floor(this.current * SHARES[urgency]));
  }

  /** @param isAnswered false if the request got no answer, or status 429 or 5xx */
  answered(sentAt: Instant, isAnswered: boolean): void {
    const now = this.#clock.now();
    const tookMs = now - sentAt;
    const quickestMs = isAnswered ? this.#quickestMs(now, tookMs) : 0;
    if (!isAnswered || tookMs > Math.max(SLOW_MS, SLOW_FACTOR * quickestMs)) {
      // Requests that were in flight at the last decrease do not lower the limit again.
      if (sentAt < this.#shrunkAt) return;
      this.#limit = Math.max(Math.min(MIN_LIMIT, this.#max), this.#limit * SHRINK_FACTOR);
      this.#shrunkAt = now;
    } else if (tookMs < Math.max(FAST_MS, FAST_FACTOR * quickestMs)) {
      this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    }
  }

  #quickestMs(now: Instant, tookMs: number): number {
    const { before, now: current, since } = this.#quickest;
    if (now - since < WINDOW_MS) this.#quickest = { before, now: Math.min(current, tookMs), since };
    else this.#quickest = { before: current, now: tookMs, since: now };
    return Math.min(this.#quickest.before, this.#quickest.now);
  }
}

/** Maximum requests in flight per Lease (rule 9). */
const MAX_PER_LEASE = 8;

/**
 * Counts the requests in flight, and chooses the waiting Lease that gets the next free slot: the most urgent Lease that
 * has not reached its own limit. Among equally urgent Leases, the namespaces alternate (rule 9).
 */
export class RequestRoom {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #limit: RequestLimit;
  readonly #inFlight = new Map<LeaseKey, number>();
  #total = 0;
  /** `since`: orders Leases with the same urgency, namespace and number of requests in flight. */
  readonly #waiting = new Map<LeaseKey, { readonly urgency: Urgency; readonly since: Instant }>();
  /** The waiting Leases that have not reached their own limit of requests in flight. */
  readonly #order = perUrgency(() => new FairKeys());

  constructor(clock: Pick<Clock, 'now'>, maxInFlight: number) {
    this.#clock = clock;
    this.#limit = new RequestLimit(clock, maxInFlight);
  }

  get limit(): number {
    return this.#limit.current;
  }

  get inFlight(): number {
    return this.#total;
  }

  inFlightOf(key: LeaseKey): number {
    return this.#inFlight.get(key) ?? 0;
  }

  waiting(): Readonly<Record<Urgency, number>> {
    const counts = perUrgency(() => 0);
    for (const { urgency } of this.#waiting.values()) counts[urgency]++;
    return counts;
  }

  isFree(key: LeaseKey, urgency: Urgency): boolean {
    return this.inFlightOf(key) < MAX_PER_LEASE && this.#total < this.#limit.limitFor(urgency);
  }

  /** Counts a request until the returned function is called. If the request was not sent, pass undefined: the limit stays. */
  begin(key: LeaseKey): (isAnswered: boolean | undefined) => void {
    const sentAt = this.#clock.now();
    this.#total++;
    this.#inFlight.set(key, this.inFlightOf(key) + 1);
    return (isAnswered) => {
      if (isAnswered !== undefined) this.#limit.answered(sentAt, isAnswered);
      this.#total--;
      const left = this.inFlightOf(key) - 1;
      if (left > 0) this.#inFlight.set(key, left);
      else this.#inFlight.delete(key);
      this.#sortIn(key);
    };
  }

  /** Makes the Lease wait for a free slot for a request of this urgency. A previous wait of the Lease ends. */
  wait(key: LeaseKey, urgency: Urgency, since: Instant): void {
    this.stopWaiting(key);
    this.#waiting.set(key, { urgency, since });
    this.#sortIn(key);
  }

  stopWaiting(key: LeaseKey): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    this.#waiting.delete(key);
    this.#order[waiting.urgency].delete(key, splitLeaseKey(key).namespace);
  }

  /** Returns the most urgent Lease for which there is a free slot, and ends its wait. */
  next(): LeaseKey | undefined {
    for (const urgency of URGENCIES) {
      const key = this.#total < this.#limit.limitFor(urgency) ? this.#order[urgency].shift() : undefined;
      if (key === undefined) continue;
      this.#waiting.delete(key);
      return key;
    }
    return undefined;
  }

  /** Queues a waiting Lease. If it has too many requests in flight, it is queued when one of them ends. */
  #sortIn(key: LeaseKey): void {
    const waiting = this.#waiting.get(key);
    const inFlight = this.inFlightOf(key);
    if (!waiting || inFlight >= MAX_PER_LEASE) return;
    this.#order[waiting.urgency].set(key, splitLeaseKey(key).namespace, inFlight, waiting.since);
  }
}

function perUrgency<T>(make: () => T): Record<Urgency, T> {
  return { grant: make(), preference: make(), vacant: make(), expiry: make(), housekeeping: make() };
}
