import { backoffDelayMs } from '../../support/backoff.ts';
import type { Clock, Instant } from '../../support/clock.ts';
import { DeadlineHeap } from '../../support/deadline-heap.ts';
import { Fifo } from './order-and-limit.ts';

/**
 * Told of what happens in a queue, as it happens; the customary `workqueue_*` metrics follow from it. Work that is still
 * under way is asked for instead: see `unfinishedWorkMs` and `longestRunningMs` of the queue.
 */
export interface WorkqueueObserver {
  /** `workqueue_depth`: keys that wait to be processed, those that wait for their own processing to end included. */
  depth(keys: number): void;
  /** `workqueue_adds_total`: a key was added that was not waiting already. */
  added(): void;
  /** `workqueue_retries_total`: a key was put back with backoff. */
  retried(): void;
  /** `workqueue_queue_duration_seconds`, in milliseconds: how long a key waited before its processing began. */
  queueDuration(ms: number): void;
  /** `workqueue_work_duration_seconds`, in milliseconds: how long the processing of a key took. */
  workDuration(ms: number): void;
}

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly observer?: WorkqueueObserver;
  /**
   * Asked when the deadline `at` of a key comes, whether it can be put off, and until when: only for whoever knows that nobody
   * else has asked for a processing meanwhile, as there is one deadline for all.
   */
  readonly putOff?: (key: string, at: Instant) => Instant | undefined;
}

export interface WorkerOptions {
  /** How many keys are processed at a time. */
  readonly workers: number;
  /** Processes one key; `signal` aborts when the queue shuts down. A rejection puts the key back with backoff. */
  readonly process: (key: string, signal: AbortSignal) => Promise<void>;
  /** Told of every rejection. Must not throw. */
  readonly onError: (key: string, error: unknown) => void;
}

interface Processing {
  readonly startedAt: Instant;
  /** The deadline that stood when the processing began. */
  readonly formerDeadline: Instant | undefined;
}

const BACKOFF = { initialMs: 5, maxMs: 60_000 };

/**
 * The keys that need a look, each handed out once however often it was added, and never to two workers at a time: a key
 * that is added while it is processed is handed out again afterwards.
 *
 * A key has at most one deadline. Whoever adds a key, at once or for later, is promised that a processing begins after
 * that call and not later than asked for (but for load). That is why the earliest deadline is enough, and why it stays
 * when the key is added at once: only the processing can know that there is nothing left to wake up for, and says so
 * with `requeue`.
 */
export class Workqueue {
  readonly #clock: Clock;
  readonly #observer: WorkqueueObserver | undefined;
  readonly #putOff: WorkqueueOptions['putOff'];
  /** How often a key was put back with backoff since it was last forgotten. */
  readonly #failures = new Map<string, number>();
  /** Keys due a processing, and since when. */
  readonly #dirty = new Map<string, Instant>();
  /** The dirty keys that are not being processed, in the order in which they are handed out. */
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
    this.#putOff = options.putOff;
  }

  /** How many keys wait to be processed; those with a deadline that has not come do not count. */
  get depth(): number {
    return this.#dirty.size;
  }

  /** `workqueue_unfinished_work_seconds`, in milliseconds: how long all that is being processed has taken so far. */
  unfinishedWorkMs(): number {
    return this.#runningMs().reduce((total, ms) => total + ms, 0);
  }

  /** `workqueue_longest_running_processor_seconds`, in milliseconds. */
  longestRunningMs(): number {
    return Math.max(0, ...this.#runningMs());
  }

  /** Asks for a processing of `key` as soon as possible. Like every other addition, ignored after `shutDown`. */
  add(key: string): void {
    if (this.#shutdown.signal.aborted || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.now());
    this.#observer?.added();
    this.#observer?.depth(this.#dirty.size);
    if (this.#processing.has(key)) return;
    this.#ready.push(key);
    this.#handOut();
  }

  /** Asks for a processing of `key` in `delayMs`, unless one is due earlier. */
  addAfter(key: string, delayMs: number): void {
    this.addAt(key, this.#clock.now() + delayMs);
  }

  /** Asks for a processing of `key` at `at`, unless one is due earlier. */
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
   * The outcome of the processing of `key` that is under way: look again at `at` (rule 9), or at the next change when
   * that is undefined. Takes the place of the deadline that stood when the processing began, which saw all there was to
   * see; whatever was added since then still counts, and so does that deadline if the processing never calls this.
   */
  requeue(key: string, at: Instant | undefined): void {
    const processing = this.#processing.get(key);
    if (processing !== undefined) this.#processing.set(key, { ...processing, formerDeadline: undefined });
    if (at !== undefined) this.addAt(key, at);
  }

  /** Asks for a processing of `key` after its backoff. */
  addRateLimited(key: string): void {
    if (this.#shutdown.signal.aborted) return;
    this.#observer?.retried();
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.addAfter(key, backoffDelayMs(failures, BACKOFF, this.#clock.random()));
  }

  /** Ends the backoff of `key`; deadlines stay. Call it when a key has been processed without failure. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key to process, as soon as there is one; `done` must follow. Undefined once the queue is shut down. */
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

  /** Processes keys with so many workers until `shutDown`; resolves when the last of them has ended. */
  async run(options: WorkerOptions): Promise<void> {
    await Promise.all(Array.from({ length: options.workers }, () => this.#work(options)));
  }

  /**
   * Takes no more keys and drops those that wait, now or for later; whoever waits in `next` gets undefined. Resolves
   * when all that was being processed is done.
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
    // A deadline that has come by now is met by this very processing.
    const formerDeadline = deadline !== undefined && deadline > now ? deadline : undefined;
    this.#processing.set(key, { startedAt: now, formerDeadline });
    this.#observer?.queueDuration(now - addedAt);
    this.#observer?.depth(this.#dirty.size);
  }

  /** One timer serves all deadlines. It is moved only forward: one that fires for a deadline now gone costs nothing. */
  #arm(): void {
    const at = this.#delayed.earliest;
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    // Rounded up, as timers drop fractions of a millisecond and would fire before the deadline.
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
      const later = this.#putOff?.(key, at);
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
