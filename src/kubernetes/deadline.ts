import type { Clock } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { ApiError, ConnectionError } from './errors.ts';

/** Limits one call: aborts it at the deadline, or when the caller's own signal aborts. */
export class Deadline {
  /** Maximum duration of the call, in milliseconds. */
  readonly durationMs: number;
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #aborted: Promise<never>;
  readonly #cancelTimer: () => void;
  #exceeded = false;

  constructor(clock: Clock, durationMs: number, callerSignal: AbortSignal | undefined) {
    this.durationMs = durationMs;
    this.#callerSignal = callerSignal;
    this.#aborted = new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    });
    // Without this, an abort outside of a race would be an unhandled rejection.
    this.#aborted.catch(() => {});
    this.#cancelTimer = clock.setTimer(() => {
      this.#exceeded = true;
      this.#controller.abort();
    }, durationMs);
    if (callerSignal?.aborted) this.#controller.abort();
    else callerSignal?.addEventListener('abort', this.abort, { once: true });
  }

  /** A signal that aborts at the deadline, or with the caller's signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True when the deadline passed; false when the caller aborted. */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Settles like `work`. On an abort, rejects at once and does not wait for `work`. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#aborted]);
  }

  /** Aborts the call now. */
  readonly abort = (): void => this.#controller.abort();

  /** Stops the timer of the deadline. The caller's signal still aborts the call. */
  stopTimer(): void {
    this.#cancelTimer();
  }

  /** Ends this deadline: afterwards neither the timer nor the caller's signal has an effect. */
  dispose(): void {
    this.#cancelTimer();
    this.#callerSignal?.removeEventListener('abort', this.abort);
  }
}

interface Call {
  readonly method: string;
  readonly path: string;
}

/** Converts the failure of a call to one of our errors. */
export function explainFailure(error: unknown, call: Call, deadline: Deadline): Error {
  if (error instanceof ApiError || error instanceof ConnectionError) return error;
  const called = describeCall(call);
  if (deadline.exceeded) {
    return new ConnectionError(`${called}: no complete answer in ${deadline.durationMs} ms`, {
      code: 'DEADLINE_EXCEEDED',
      cause: error,
    });
  }
  if (deadline.signal.aborted)
    return new ConnectionError(`${called}: aborted`, { code: 'ABORTED', cause: error });
  return new ConnectionError(`${called}: ${messageOf(error) || codeOf(error)}`, {
    code: codeOf(error),
    cause: error,
  });
}

/** Returns a description such as `GET /version`. */
export function describeCall({ method, path }: Call): string {
  return `${method} ${path}`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}
