import type { Clock } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { ApiError, type Call, ConnectionError, connectionError } from './errors.ts';

/** Limits one call: aborts it at the deadline, or when the caller's own signal aborts. */
export class Deadline {
  /** Aborts at the deadline, when the caller's signal aborts, or when `abort` is called. */
  readonly signal: AbortSignal;
  readonly abort: () => void;
  /** Stops the timer of the deadline. The caller's signal still aborts the call. */
  readonly stopTimer: () => void;
  readonly #durationMs: number;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #aborted: Promise<never>;
  #isExceeded = false;

  constructor(clock: Clock, durationMs: number, callerSignal: AbortSignal | undefined) {
    const controller = new AbortController();
    const { signal } = controller;
    this.signal = signal;
    this.abort = () => controller.abort();
    this.stopTimer = clock.setTimer(() => {
      this.#isExceeded = true;
      this.abort();
    }, durationMs);
    this.#durationMs = durationMs;
    this.#callerSignal = callerSignal;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Without this handler, an abort before the first race() would be an unhandled rejection.
    this.#aborted.catch(() => {});
    if (callerSignal?.aborted) this.abort();
    else callerSignal?.addEventListener('abort', this.abort, { once: true });
  }

  /** Settles like `work`. If the call is aborted, rejects at once and does not wait for `work`. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#aborted]);
  }

  /** Converts the cause of a failed call to an {@link ApiError} or a {@link ConnectionError}. */
  explain(cause: unknown, call: Call): Error {
    if (cause instanceof ApiError || cause instanceof ConnectionError) return cause;
    if (this.#isExceeded) {
      const problem = `no complete answer in ${this.#durationMs} ms`;
      return connectionError(call, 'DEADLINE_EXCEEDED', problem, { cause });
    }
    if (this.signal.aborted) return connectionError(call, 'ABORTED', 'aborted', { cause });
    const code =
      cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'UNKNOWN';
    return connectionError(call, code, messageOf(cause) || code, { cause });
  }

  /** Ends this deadline: afterwards neither the timer nor the caller's signal has an effect. */
  dispose(): void {
    this.stopTimer();
    this.#callerSignal?.removeEventListener('abort', this.abort);
  }
}
