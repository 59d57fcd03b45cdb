import type { Action, Decision } from '../../election/decision.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { DeadlineHeap } from '../../support/deadline-heap.ts';

/** What a Lease without leader needs goes first (rule 9), in this order; write-queue.ts orders the Leases of one class. */
export const URGENCIES = ['grant', 'preference', 'vacant', 'expiry', 'housekeeping'] as const;

/**
 * How urgent a request is.
 *
 * grant: somebody gets the Lease. preference: preferredHolder or the strategy, a fence, what takes them back, and what tells
 * whether a preferredHolder still lives. vacant: a ping while the Lease has no holder. expiry: a ping ahead of an expiry,
 * or to find out whether somebody better than the holder lives. housekeeping: everything else.
 */
export type Urgency = (typeof URGENCIES)[number];

/** How urgent an action of `decision` is. */
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

/** Further apart than any two instants of one process, in milliseconds. */
const LEVEL_MS = 1e13;

/**
 * Keys in the order in which they are fairly served (rule 9): namespaces in turn, so that none holds up the others; in
 * each the keys of the lowest level first, and of those the one that has waited since the earliest moment.
 */
export class FairKeys {
  /** The namespace whose turn it is comes first. */
  readonly #namespaces = new Map<string, DeadlineHeap>();

  /** Takes a key in, or moves it. */
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

/** First in, first out, in constant time: an array's own `shift()` moves everything that is left. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head++];
    // Dropping the consumed half only once it is half keeps the cost per item constant.
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

/** An answer within this time is in good time: more requests may be under way. In milliseconds. */
const GOOD_MS = 250;
/** An answer that took longer says that the server has more to do than it can. */
const SLOW_MS = 1000;
/**
 * Or it takes that long whatever it has to do, behind a slow webhook or a long way off: then fewer requests would only mean
 * fewer answers. So an answer is in good time, or late, by what the quickest one of the last minute took as well.
 */
const GOOD_FACTOR = 1.25;
const SLOW_FACTOR = 2;
const WINDOW_MS = 30_000;
const SHRINK = 0.75;
/** With fewer, a server that others overload would answer them and not us: Leases without leader cannot wait until it is idle. */
const LEAST = 8;

/**
 * How many requests may be under way at once: as many as the server answers in good time (rule 9). It grows by one for
 * each round of good answers that fills it, and shrinks by a quarter, once a round, when answers come late or not at all.
 */
export class RequestLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #most: number;
  #limit: number;
  #shrunkAt: Instant = Number.NEGATIVE_INFINITY;
  /** The quickest answer of this window and of the one before, in milliseconds; a server is taken to be quick at first. */
  #quickest = { before: 0, now: Number.POSITIVE_INFINITY, since: Number.NEGATIVE_INFINITY };

  /** @param most the limit to begin with, and never to exceed */
  constructor(clock: Pick<Clock, 'now'>, most: number) {
    this.#clock = clock;
    this.#most = most;
    this.#limit = most;
  }

  get current(): number {
    return Math.floor(this.#limit);
  }

  /**
   * @param sentAt when the request was sent that was answered now, or given up
   * @param isAnswered whether the server did what it was asked to, or said why not; false for overload and silence
   */
  answered(sentAt: Instant, isAnswered: boolean): void {
    const now = this.#clock.now();
    const tookMs = now - sentAt;
    const quickestMs = isAnswered ? this.#quickestMs(now, tookMs) : 0;
    if (!isAnswered || tookMs > Math.max(SLOW_MS, SLOW_FACTOR * quickestMs)) {
      // All that was under way when the limit shrank is one and the same bad news.
      if (sentAt < this.#shrunkAt) return;
      this.#limit = Math.max(Math.min(LEAST, this.#most), this.#limit * SHRINK);
      this.#shrunkAt = now;
    } else if (tookMs < Math.max(GOOD_MS, GOOD_FACTOR * quickestMs)) {
      this.#limit = Math.min(this.#most, this.#limit + 1 / this.#limit);
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
