/** A moment on the monotonic clock of this process, in milliseconds, fractions included; it means nothing outside it. */
export type Instant = number;

/** Time, timers and chance: the effects that make code hard to test, gathered in one place so tests can supply them. */
export interface Clock {
  /** The monotonic clock, in milliseconds. */
  now(): Instant;
  /** The wall clock, in microseconds since the Unix epoch. It may jump; use it only for what is written to others. */
  wallTime(): bigint;
  /** Calls `callback` once, `delayMs` from now (at once when not positive); the returned function cancels it. */
  setTimer(callback: () => void, delayMs: number): () => void;
  /** A number in [0, 1), for jitter. */
  random(): number;
}

/**
 * Waits `delayMs` on `clock`. Resolves early, never rejects, when `signal` aborts: callers check the signal, as they must
 * after any wait.
 */
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

/** Waits until `work` has ended, but no longer than `ms` on `clock`; rejects if `work` does so by then. */
export async function within(clock: Clock, ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const waiting = new AbortController();
  try {
    await Promise.race([work, sleep(clock, ms, waiting.signal)]);
  } finally {
    waiting.abort();
  }
}
