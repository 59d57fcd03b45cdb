import type { Clock, Instant } from './clock.ts';
import { DeadlineHeap } from './deadline-heap.ts';

export interface DueKeysOptions {
  readonly clock: Clock;
  readonly onDue: () => void;
  /** Called by the timer at the deadline `at` of a key. Returns a later deadline, or undefined to make the key due. */
  readonly postpone?: (key: string, at: Instant) => Instant | undefined;
}

/**
 * A queue of keys (such as the keys of Leases) that are due now, and the deadlines at which keys become due. The queue
 * contains a key only once. A key has at most one deadline. `add` does not change the deadline of its key. One timer
 * serves all deadlines.
 */
export class DueKeys {
  readonly #options: DueKeysOptions;
  /** The keys that are due, oldest first, with the time at which each became due. */
  readonly #due = new Map<string, Instant>();
  readonly #later = new DeadlineHeap();
  #timer: { readonly at: Instant; readonly cancel: () => void } | undefined;

  constructor(options: DueKeysOptions) {
    this.#options = options;
  }

  /** How many keys are due now. */
  get size(): number {
    return this.#due.size;
  }

  isDue(key: string): boolean {
    return this.#due.has(key);
  }

  add(key: string): void {
    if (this.#due.has(key)) return;
    this.#due.set(key, this.#options.clock.now());
    this.#options.onDue();
  }

  /** Replaces the deadline of the key; undefined removes it. If `at` has passed, makes the key due now. */
  setDeadline(key: string, at: Instant | undefined): void {
    const isDue = at !== undefined && at <= this.#options.clock.now();
    if (at === undefined || isDue) this.#later.delete(key);
    else this.#later.set(key, at);
    if (isDue) this.add(key);
    this.#arm();
  }

  /** Removes and returns the key that has been due for longest, with its waiting time in ms. */
  take(): { readonly key: string; readonly waitedMs: number } | undefined {
    for (const [key, since] of this.#due) {
      this.#due.delete(key);
      return { key, waitedMs: this.#options.clock.now() - since };
    }
    return undefined;
  }

  delete(key: string): void {
    this.#due.delete(key);
    this.#later.delete(key);
  }

  clear(): void {
    this.#due.clear();
    this.#later.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Sets a timer for the earliest deadline. Keeps an equal or earlier timer, even if its deadline has been removed. */
  #arm(): void {
    const { clock } = this.#options;
    const at = this.#later.earliest;
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    // Round up, because timers drop fractions of a millisecond.
    const cancel = clock.setTimer(() => this.#addDue(), Math.ceil(at - clock.now()));
    this.#timer = { at, cancel };
  }

  #addDue(): void {
    const { clock, postpone } = this.#options;
    this.#timer = undefined;
    const now = clock.now();
    for (;;) {
      const at = this.#later.earliest ?? now;
      const key = this.#later.popDue(now);
      if (key === undefined) break;
      const later = postpone?.(key, at);
      if (later === undefined) this.add(key);
      else this.#later.set(key, later);
    }
    this.#arm();
  }
}
