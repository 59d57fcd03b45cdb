import type { Action, Decision } from '../../election/decision.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { DeadlineHeap } from '../../support/deadline-heap.ts';

/** Most urgent first: writes for Leases without leader (rule 9). */
export const URGENCIES = ['grant', 'preference', 'vacant', 'expiry', 'housekeeping'] as const;

/**
 * - `grant`: gives the Lease to a candidate.
 * - `preference`: sets or removes preferredHolder, the strategy or a fence, or pings the preferredHolder.
 * - `vacant`: pings while the Lease has no holder.
 * - `expiry`: pings before the Lease expires, or a candidate that is better than the holder.
 * - `housekeeping`: everything else.
 */
export type Urgency = (typeof URGENCIES)[number];

export function urgencyOf(action: Action, { reason }: Decision): Urgency {
  switch (action.kind) {
    case 'CreateLease':
      return action.grant ? 'grant' : 'preference';
    case 'UpdateLease':
      return action.change.kind === 'grant' ? 'grant' : 'preference';
    case 'DeleteCandidate':
      return 'housekeeping';
    case 'PingCandidate':
      switch (action.purpose) {
        case 'election':
        case 'revival':
          return 'vacant';
        case 'preemption':
          return reason === 'PreemptionPending' ? 'preference' : 'expiry';
        case 'expiry':
          return 'expiry';
        case 'validity':
        case 'collection':
          return 'housekeeping';
      }
  }
}

/** In ms, longer than any process runs. */
const LEVEL_MS = 1e13;

/**
 * Queue that is fair to namespaces (rule 9): they take turns. In a namespace the key with the lowest level comes first, then
 * the one that has waited longest.
 */
export class FairKeys {
  /** The next namespace comes first. */
  readonly #namespaces = new Map<string, DeadlineHeap>();

  /** Adds or moves a key. */
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

  /** Removes and returns the next key. */
  shift(): string | undefined {
    for (const [namespace, keys] of this.#namespaces) {
      this.#namespaces.delete(namespace);
      const key = keys.popDue(Number.POSITIVE_INFINITY);
      if (keys.earliest !== undefined) this.#namespaces.set(namespace, keys);
      return key;
    }
    return undefined;
  }

  clear(): void {
    this.#namespaces.clear();
  }
}

/** First-in-first-out queue in constant time; `shift()` of an array moves all that is left. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head++];
    // Dropping consumed items only when they are half of all keeps the cost per item constant.
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }
}

/** Answers within this time raise the limit. In ms. */
const FAST_MS = 250;
/** Later answers lower the limit. In ms. */
const SLOW_MS = 1000;
/**
 * A server behind a slow webhook or network is slow at any load, and fewer requests would only mean fewer answers. So both
 * bounds are at least these multiples of the quickest answer of the last minute.
 */
const FAST_FACTOR = 1.25;
const SLOW_FACTOR = 2;
const WINDOW_MS = 30_000;
const SHRINK_FACTOR = 0.75;
/** If other clients overload the server, a lower limit would leave Leases without leader. */
const MIN_LIMIT = 8;

/**
 * Limits the requests in flight to as many as the server answers quickly (rule 9). The limit grows by one for each round of
 * fast answers that fills it, and shrinks by a quarter, once a round, when answers are late or missing.
 */
export class RequestLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #max: number;
  #limit: number;
  #shrunkAt: Instant = Number.NEGATIVE_INFINITY;
  /** The quickest answers of this window and of the one before, in ms. The first window assumes a quick server. */
  #quickest = { before: 0, now: Number.POSITIVE_INFINITY, since: Number.NEGATIVE_INFINITY };

  /** @param max the first and the highest limit */
  constructor(clock: Pick<Clock, 'now'>, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#limit = max;
  }

  get current(): number {
    return Math.floor(this.#limit);
  }

  /**
   * @param sentAt when the request was sent that ends now
   * @param isAnswered false for a timeout or an overloaded server
   */
  answered(sentAt: Instant, isAnswered: boolean): void {
    const now = this.#clock.now();
    const tookMs = now - sentAt;
    const quickestMs = isAnswered ? this.#quickestMs(now, tookMs) : 0;
    if (!isAnswered || tookMs > Math.max(SLOW_MS, SLOW_FACTOR * quickestMs)) {
      // Requests that were in flight when the limit shrank do not shrink it again.
      if (sentAt < this.#shrunkAt) return;
      this.#limit = Math.max(Math.min(MIN_LIMIT, this.#max), this.#limit * SHRINK_FACTOR);
      this.#shrunkAt = now;
    } else if (tookMs < Math.max(FAST_MS, FAST_FACTOR * quickestMs)) {
      this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    }
  }

  #quickestMs(now: Instant, tookMs: number): number {
    const { before, now: current, since } = this.#quickest;
    if (since === Number.NEGATIVE_INFINITY) this.#quickest = { before, now: tookMs, since: now };
    else if (now - since < WINDOW_MS) this.#quickest = { before, now: Math.min(current, tookMs), since };
    else this.#quickest = { before: current, now: tookMs, since: now };
    return Math.min(this.#quickest.before, this.#quickest.now);
  }
}
