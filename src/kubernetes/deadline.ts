import type { Clock } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { ApiError, type Call, ConnectionError, connectionError } from './errors.ts';

/** Limits one call: aborts it at the deadline, or when the caller's own signal aborts. */
export class Deadline {
  /** Maximum duration of the call, in milliseconds. */
  readonly durationMs: number;
  /** A signal that aborts at the deadline, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** Aborts the call now. */
  readonly abort: () => void;
  /** Stops the timer of the deadline. The caller's signal still aborts the call. */
  readonly stopTimer: () => void;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #aborted: Promise<never>;
  #exceeded = false;

  constructor(clock: Clock, durationMs: number, callerSignal: AbortSignal | undefined) {
    const controller = new AbortController();
    const { signal } = controller;
    this.durationMs = durationMs;
    this.signal = signal;
    this.abort = () => controller.abort();
    this.stopTimer = clock.setTimer(() => {
      this.#exceeded = true;
      this.abort();
    }, durationMs);
    this.#callerSignal = callerSignal;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Without this, an abort outside of a race would be an unhandled rejection.
    this.#aborted.catch(() => {});
    if (callerSignal?.aborted) this.abort();
    else callerSignal?.addEventListener('abort', this.abort, { once: true });
  }

  /** True when the deadline passed; false when the caller aborted. */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Settles like `work`. On an abort, rejects at once and does not wait for `work`. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#aborted]);
  }

  /** Ends this deadline: afterwards neither the timer nor the caller's signal has an effect. */
  dispose(): void {
    this.stopTimer();
    this.#callerSignal?.removeEventListener('abort', this.abort);
  }
}

/** Converts the failure of a call to one of our errors. */
export function explainFailure(cause: unknown, call: Call, deadline: Deadline): Error {
  if (cause instanceof ApiError || cause instanceof ConnectionError) return cause;
  if (deadline.exceeded) {
    const problem = `no complete answer in ${deadline.durationMs} ms`;
    return connectionError(call, 'DEADLINE_EXCEEDED', problem, { cause });
  }
  if (deadline.signal.aborted) return connectionError(call, 'ABORTED', 'aborted', { cause });
  const code = codeOf(cause);
  return connectionError(call, code, messageOf(cause) || code, { cause });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}
