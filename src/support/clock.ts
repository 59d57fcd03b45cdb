/**
 * A moment on the monotonic clock of this process, in milliseconds, with fractions. An instant has no meaning in other
 * processes. This process measures ages and deadlines with this clock (rule 2).
 */
export type Instant = number;

/** The source of time, timers and random numbers. Tests use a clock of their own. */
export interface Clock {
  /** The monotonic clock, in milliseconds. */
  now(): Instant;
  /** Wall clock, in microseconds since 1970. It may jump: use it only for times that other programs write or read. */
  wallTime(): bigint;
  /** Calls `callback` once after `delayMs` (0 if negative). Returns a function that cancels the call. */
  setTimer(callback: () => void, delayMs: number): () => void;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** Waits for `delayMs` on `clock`. Resolves early if `signal` aborts. Never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.setTimer(wake, delayMs);
    signal?.addEventListener('abort', wake, { once: true });
  });
}

/** Calls `callback` every `periodMs`, first after `periodMs`. The returned function ends the calls. */
export function repeat(clock: Clock, periodMs: number, callback: () => void): () => void {
  let cancel = () => {};
  const schedule = () => {
    cancel = clock.setTimer(() => {
      schedule();
      callback();
    }, periodMs);
  };
  schedule();
  return () => cancel();
}

/** Waits until `work` settles, `ms` have passed, or `signal` aborts. Rejects only if `work` rejects first. */
export async function within(
  clock: Clock,
  ms: number,
  work: Promise<unknown> | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const waiting = new AbortController();
  const ended = signal ? AbortSignal.any([signal, waiting.signal]) : waiting.signal;
  try {
    await Promise.race([work, sleep(clock, ms, ended)]);
  } finally {
    waiting.abort();
  }
}

/** A pause in repeated work. `interrupt` ends the pause, or skips the next pause if none is running. */
export class InterruptibleSleep {
  readonly #clock: Clock;
  #interruption = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until `instant` or a call of `interrupt`. Does not wait if `interrupt` was called since the last pause. */
  async until(instant: Instant): Promise<void> {
    await within(this.#clock, Math.ceil(instant - this.#clock.now()), this.#interruption.promise);
    this.#interruption = Promise.withResolvers();
  }

  interrupt(): void {
    this.#interruption.resolve();
  }
}

/**
 * After a renewal, no other candidate can lead during this share of the Lease's duration, unless the holder releases
 * the Lease or exits. The holder measures the time on its own clock, from the moment when it sent the renewal. This
 * clock may run 5 % slow, and the coordinator's clock 5 % fast. Then 0.95 / 1.05 = 0.904 of the duration is safe.
 */
export const SAFE_SHARE = 0.9;
