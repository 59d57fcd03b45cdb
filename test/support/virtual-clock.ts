import type { Clock, Instant } from '../../src/support/clock.ts';
import { seededRandom } from './seeded-random.ts';

/** How a {@link VirtualClock} begins. */
export interface VirtualClockOptions {
  /** The wall clock at the start, in milliseconds since the Unix epoch; default 2026-01-01T00:00:00Z. */
  readonly wallStartMs?: number;
  /** Seeds {@link VirtualClock.random}; default 1. */
  readonly seed?: number;
  /** Replaces the seeded numbers, for tests that need a certain one. */
  readonly random?: () => number;
}

interface Timer {
  readonly at: Instant;
  readonly order: number;
  readonly callback: () => void;
  cancelled: boolean;
}

/**
 * A clock that stands still until it is told to go on. Timers fire in the order of their times, and those of one time
 * in the order in which they were set; between two of them everything that the first has set off runs to its end, as
 * far as it does not wait for the clock or for I/O.
 */
export class VirtualClock implements Clock {
  readonly #wallStartMs: number;
  readonly #random: () => number;
  /** A binary heap, as simulations set thousands of timers; those cancelled leave when they come to the top. */
  readonly #heap: Timer[] = [];
  #pending = 0;
  #now: Instant = 0;
  #wallOffsetMs = 0;
  #timersSet = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#wallStartMs = options.wallStartMs ?? Date.UTC(2026, 0, 1);
    this.#random = options.random ?? seededRandom(options.seed ?? 1);
  }

  /** Bound, as parts of the program hand it on by itself. */
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
      // Once it has fired there is nothing left to cancel.
      if (!timer.cancelled) this.#pending--;
      timer.cancelled = true;
    };
  }

  random(): number {
    return this.#random();
  }

  /** How many timers are set: after everything has stopped, none should be. */
  get pendingTimers(): number {
    return this.#pending;
  }

  /** When the next timer fires; undefined when none is set. */
  get nextTimerAt(): Instant | undefined {
    return this.#next()?.at;
  }

  /** Makes the wall clock jump, as an administrator or NTP would; the monotonic clock does not. */
  jumpWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Lets `ms` pass and fires what falls due, `ms` from now included. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let timer = this.#next(); timer && timer.at <= until; timer = this.#next()) {
      await this.#fire(timer);
    }
    this.#now = until;
    await settle();
  }

  /** Lets time pass up to `until`, from timer to timer, as long as `mayGoOn` says so after each of them. */
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
   * Lets time pass, from timer to timer, until `predicate` holds; throws when it does not within `withinMs` (default one
   * hour) or when no timer is left that could change anything.
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

  /** Runs the timer that is next. What it sets off is still to run. */
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

/** Lets everything run that waits neither for a clock nor for I/O, and looks whether I/O has come. */
export function settle(): Promise<void> {
  // Node runs all microtasks, and those that they add, before it comes to an immediate.
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets everything run that waits neither for a clock nor for I/O. Between thousands of timers a look at I/O would cost most of the time. */
function settleWithoutIo(): Promise<void> {
  // Node runs all microtasks, and those that they add, before it comes to the next tick.
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Waits for real I/O to bring something about, while every virtual clock stands still. */
export async function waitFor(predicate: () => boolean, what = 'what was awaited'): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!predicate()) {
    if (performance.now() > deadline) throw new Error(`${what} has not come about in 10 s of real time`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
