import type { Clock, Instant } from '../../src/support/clock.ts';
import { seededRandom } from './seeded-random.ts';

/** The options of a {@link VirtualClock}. */
export interface VirtualClockOptions {
  /** The wall clock at the start, in milliseconds since the Unix epoch; default 2026-01-01T00:00:00Z. */
  readonly wallStartMs?: number;
  /** The seed of {@link VirtualClock.random}; default 1. */
  readonly seed?: number;
  /** Replaces the seeded numbers, for tests that need fixed ones. */
  readonly random?: () => number;
}

interface Timer {
  readonly at: Instant;
  readonly order: number;
  readonly callback: () => void;
  cancelled: boolean;
}

/**
 * A clock that advances only on request. Timers fire in the order of their times, and timers of the same time in the
 * order in which they were set. Between two timers, all work that the first one has started completes, unless it
 * waits for the clock or for I/O.
 */
export class VirtualClock implements Clock {
  readonly #wallStartMs: number;
  readonly #random: () => number;
  /**
   * A binary heap, because simulations set thousands of timers. Cancelled timers are removed when they reach the top.
   */
  readonly #heap: Timer[] = [];
  #pending = 0;
  #now: Instant = 0;
  #wallOffsetMs = 0;
  #timersSet = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#wallStartMs = options.wallStartMs ?? Date.UTC(2026, 0, 1);
    this.#random = options.random ?? seededRandom(options.seed ?? 1);
  }

  /** Bound, because parts of the program pass it on as a function. */
  readonly now = (): Instant => this.#now;

  wallTime(): bigint {
    return BigInt(Math.round((this.#wallStartMs + this.#wallOffsetMs + this.#now) * 1000));
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const at = this.#now + Math.max(0, delayMs);
    const timer: Timer = { at, order: this.#timersSet++, callback, cancelled: false };
    this.#push(timer);
    this.#pending++;
    return () => {
      // A fired timer needs no cancellation.
      if (!timer.cancelled) this.#pending--;
      timer.cancelled = true;
    };
  }

  random(): number {
    return this.#random();
  }

  /** Number of set timers. After everything has stopped, it should be 0. */
  get pendingTimers(): number {
    return this.#pending;
  }

  /** When the next timer fires; undefined if none is set. */
  get nextTimerAt(): Instant | undefined {
    return this.#next()?.at;
  }

  /** Makes the wall clock jump, as an administrator or NTP does. The monotonic clock does not jump. */
  jumpWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Lets `ms` pass and fires all due timers, including those exactly `ms` from now. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let timer = this.#next(); timer && timer.at <= until; timer = this.#next()) {
      await this.#fire(timer);
    }
    this.#now = until;
    await settle();
  }

  /** Lets time pass up to `until`, timer by timer, as long as `mayGoOn` returns true after each. */
  async advanceWhile(until: Instant, mayGoOn: () => boolean): Promise<void> {
    await settleWithoutIo();
    for (let timer = this.#next(); mayGoOn(); timer = this.#next()) {
      if (!timer || timer.at > until) {
        this.#now = until;
        break;
      }
      this.#begin(timer);
      await settleWithoutIo();
    }
  }

  /** Lets time pass up to the next timer and fires it. Returns whether there was one. */
  async advanceToNextTimer(): Promise<boolean> {
    await settle();
    const timer = this.#next();
    if (timer) await this.#fire(timer);
    return timer !== undefined;
  }

  /**
   * Lets time pass, timer by timer, until `predicate` holds. Throws if it does not hold within `withinMs` (default:
   * one hour), or if no timer is left.
   */
  async runUntil(predicate: () => boolean, withinMs = 3_600_000): Promise<void> {
    const until = this.#now + withinMs;
    await settle();
    while (!predicate()) {
      const timer = this.#next();
      if (!timer)
        throw new Error(`no timer is set at ${this.#now} ms, and what was awaited has not come about`);
      if (timer.at > until) throw new Error(`what was awaited has not come about within ${withinMs} ms`);
      await this.#fire(timer);
    }
  }

  async #fire(timer: Timer): Promise<void> {
    this.#begin(timer);
    await settleWithoutIo();
  }

  /** Fires the next timer, without the work that it starts. */
  #begin(timer: Timer): void {
    this.#pop();
    this.#pending--;
    timer.cancelled = true;
    this.#now = timer.at;
    timer.callback();
  }

  #next(): Timer | undefined {
    while (this.#heap[0]?.cancelled) this.#pop();
    return this.#heap[0];
  }

  #push(timer: Timer): void {
    let index = this.#heap.push(timer) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.#heap[above];
      if (!parent || isBefore(parent, timer)) break;
      this.#heap[index] = parent;
      index = above;
    }
    this.#heap[index] = timer;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    let index = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * index + 1], this.#heap[2 * index + 2]];
      const rightIsNext = left && right && isBefore(right, left);
      const child = rightIsNext ? right : left;
      if (!child || isBefore(last, child)) break;
      this.#heap[index] = child;
      index = 2 * index + (rightIsNext ? 2 : 1);
    }
    this.#heap[index] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Completes all work that waits neither for a clock nor for I/O, and polls I/O once. */
export function settle(): Promise<void> {
  // Node runs all microtasks, including new ones, before the next immediate.
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Completes all work that waits neither for a clock nor for I/O. Does not poll I/O, which would take most of the time
 * between thousands of timers.
 */
function settleWithoutIo(): Promise<void> {
  // Node runs all microtasks, including new ones, before the next tick.
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Waits for an effect of real I/O, while all virtual clocks stand still. */
export async function waitFor(predicate: () => boolean, what = 'what was awaited'): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!predicate()) {
    if (performance.now() > deadline) throw new Error(`${what} has not come about in 20 s of real time`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
