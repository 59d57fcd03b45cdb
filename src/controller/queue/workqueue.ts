import { backoffDelayMs } from '../../support/backoff.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { DeadlineHeap } from '../../support/deadline-heap.ts';
import { Fifo } from './order-and-limit.ts';

/**
 * Feeds the usual `workqueue_*` metrics. For work in flight see `unfinishedWorkMs` and `longestRunningMs` of the queue.
 */
export interface WorkqueueObserver {
  /** `workqueue_depth`: keys that wait to be processed, including those that are added again during processing. */
  depth(keys: number): void;
  /** `workqueue_adds_total`: a key was added that was not waiting. */
  added(): void;
  /** `workqueue_retries_total`: a key was put back with backoff. */
  retried(): void;
  /** `workqueue_queue_duration_seconds`, in ms: how long a key waited before its processing began. */
  queueDuration(ms: number): void;
  /** `workqueue_work_duration_seconds`, in ms: how long the processing of a key took. */
  workDuration(ms: number): void;
}

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly observer?: WorkqueueObserver;
  /**
   * Called at the deadline `at` of a key. Returns a later deadline, or undefined to process the key now. A key has one
   * deadline: return a later one only if no other caller has asked for `at`.
   */
  readonly postpone?: (key: string, at: Instant) => Instant | undefined;
}

export interface WorkerOptions {
  readonly workers: number;
  /** Processes one key; `signal` aborts when the queue shuts down. A rejection puts the key back with backoff. */
  readonly process: (key: string, signal: AbortSignal) => Promise<void>;
  /** Called with every rejection. Must not throw. */
  readonly onError: (key: string, error: unknown) => void;
}

interface Processing {
  readonly startedAt: Instant;
  /** The deadline that stood when the processing began. */
  readonly formerDeadline: Instant | undefined;
}

const BACKOFF = { initialMs: 5, maxMs: 60_000 };

/**
 * Queue of keys to process, as in client-go. A key that is added several times is handed out once, and never to two workers
 * at a time: a key that is added during its processing is handed out again afterwards.
 *
 * A key has at most one deadline. After each addition a processing begins, not later than asked for (except under load). So
 * the earliest deadline is enough. It stays when the key is added at once: only the processing knows whether the key still
 * needs it, and replaces it with `requeue`.
 */
export class Workqueue {
  readonly #clock: Clock;
  readonly #observer: WorkqueueObserver | undefined;
  readonly #postpone: WorkqueueOptions['postpone'];
  /** How often a key was put back with backoff since it was last forgotten. */
  readonly #failures = new Map<string, number>();
  /** Keys that wait for a processing, and since when. */
  readonly #dirty = new Map<string, Instant>();
  /** Dirty keys that are not being processed, in order. */
  readonly #ready = new Fifo<string>();
  readonly #processing = new Map<string, Processing>();
  readonly #delayed = new DeadlineHeap();
  readonly #waiting = new Fifo<(key: string | undefined) => void>();
  readonly #shutdown = new AbortController();
  readonly #drained = Promise.withResolvers<void>();
  #timer: { readonly at: Instant; readonly cancel: () => void } | undefined;

  constructor(options: WorkqueueOptions) {
    this.#clock = options.clock;
    this.#observer = options.observer;
    this.#postpone = options.postpone;
  }

  /** How many keys wait to be processed, without those with a future deadline. */
  get depth(): number {
    return this.#dirty.size;
  }

  /** `workqueue_unfinished_work_seconds`, in ms: sum over the keys in process. */
  unfinishedWorkMs(): number {
    return this.#runningMs().reduce((total, ms) => total + ms, 0);
  }

  /** `workqueue_longest_running_processor_seconds`, in ms. */
  longestRunningMs(): number {
    return Math.max(0, ...this.#runningMs());
  }

  /** Enqueues `key`. All additions are ignored after `shutDown`. */
  add(key: string): void {
    if (this.#shutdown.signal.aborted || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#observer?.added();
    this.#observer?.depth(this.#dirty.size);
    if (this.#processing.has(key)) return;
    this.#ready.push(key);
    this.#handOut();
  }

  /** Enqueues `key` in `delayMs`, unless it has an earlier deadline. */
  addAfter(key: string, delayMs: number): void {
    this.addAt(key, this.#clock.now() + delayMs);
  }

  /** Enqueues `key` at `at`, unless it has an earlier deadline. */
  addAt(key: string, at: Instant): void {
    if (at <= this.#clock.now()) {
      this.add(key);
      return;
    }
    if (this.#shutdown.signal.aborted) return;
    const standing = this.#delayed.get(key);
    if (standing !== undefined && standing <= at) return;
    this.#delayed.set(key, at);
    this.#arm();
  }

  /**
   * Sets the result of the current processing of `key`: process it again at `at` (rule 9), or at the next change if `at` is
   * undefined. Replaces the deadline from before the processing; additions since then still count. If the processing does
   * not call this, the former deadline stays.
   */
  requeue(key: string, at: Instant | undefined): void {
    const processing = this.#processing.get(key);
    if (processing !== undefined) this.#processing.set(key, { ...processing, formerDeadline: undefined });
    if (at !== undefined) this.addAt(key, at);
  }

  /** Enqueues `key` after its backoff. */
  addRateLimited(key: string): void {
    if (this.#shutdown.signal.aborted) return;
    this.#observer?.retried();
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.addAfter(key, backoffDelayMs(failures, BACKOFF, this.#clock.random()));
  }

  /** Resets the backoff of `key`; its deadline stays. Call it after a processing without failure. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Waits for the next key to process; call `done` afterwards. Undefined after `shutDown`. */
  next(): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.#shutdown.signal.aborted) {
        resolve(undefined);
        return;
      }
      this.#waiting.push(resolve);
      this.#handOut();
    });
  }

  /** Ends the processing of a key that `next` returned. */
  done(key: string): void {
    const processing = this.#processing.get(key);
    if (processing === undefined) return;
    this.#processing.delete(key);
    this.#observer?.workDuration(this.#clock.now() - processing.startedAt);
    if (this.#dirty.has(key)) this.#ready.push(key);
    if (processing.formerDeadline !== undefined) this.addAt(key, processing.formerDeadline);
    this.#handOut();
    this.#resolveIfDrained();
  }

  /** Processes keys until `shutDown`; resolves when all workers have ended. */
  async run(options: WorkerOptions): Promise<void> {
    await Promise.all(Array.from({ length: options.workers }, () => this.#work(options)));
  }

  /**
   * Drops all waiting keys and deadlines, and takes no more. Pending `next` calls get undefined. Resolves when all
   * processing is done.
   */
  shutDown(): Promise<void> {
    this.#shutdown.abort();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#delayed.clear();
    this.#ready.clear();
    this.#dirty.clear();
    this.#observer?.depth(0);
    for (let wake = this.#waiting.shift(); wake !== undefined; wake = this.#waiting.shift()) wake(undefined);
    this.#resolveIfDrained();
    return this.#drained.promise;
  }

  async #work({ process, onError }: WorkerOptions): Promise<void> {
    for (let key = await this.next(); key !== undefined; key = await this.next()) {
      try {
        await process(key, this.#shutdown.signal);
      } catch (error) {
        onError(key, error);
        this.addRateLimited(key);
      } finally {
        this.done(key);
      }
    }
  }

  #handOut(): void {
    while (this.#waiting.size > 0) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      this.#begin(key);
      this.#waiting.shift()?.(key);
    }
  }

  #begin(key: string): void {
    const now = this.#clock.now();
    const addedAt = this.#dirty.get(key) ?? now;
    const deadline = this.#delayed.get(key);
    this.#dirty.delete(key);
    this.#delayed.delete(key);
    // This processing meets a deadline that has passed.
    const formerDeadline = deadline !== undefined && deadline > now ? deadline : undefined;
    this.#processing.set(key, { startedAt: now, formerDeadline });
    this.#observer?.queueDuration(now - addedAt);
    this.#observer?.depth(this.#dirty.size);
  }

  /** Sets the one timer for all deadlines. A timer for a deadline that is gone costs nothing. */
  #arm(): void {
    const at = this.#delayed.earliest;
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    // Rounded up: timers drop fractions of a millisecond.
    const cancel = this.#clock.setTimer(() => this.#addDue(), Math.ceil(at - this.#clock.now()));
    this.#timer = { at, cancel };
  }

  #addDue(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (;;) {
      const at = this.#delayed.earliest ?? now;
      const key = this.#delayed.popDue(now);
      if (key === undefined) break;
      const later = this.#postpone?.(key, at);
      if (later === undefined) this.add(key);
      else this.#delayed.set(key, later);
    }
    this.#arm();
  }

  #runningMs(): number[] {
    const now = this.#clock.now();
    return Array.from(this.#processing.values(), ({ startedAt }) => now - startedAt);
  }

  #resolveIfDrained(): void {
    if (this.#shutdown.signal.aborted && this.#processing.size === 0) this.#drained.resolve();
  }
}
