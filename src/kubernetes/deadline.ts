import type { Clock } from '../support/clock.ts';

/** Bounds one call: it is aborted when its time is up, or before that by the caller's own signal. */
export class Deadline {
  /** How long a call may take, in milliseconds. */
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
    // Most calls are never aborted and nobody may be racing when one is; neither is an unhandled rejection.
    this.#aborted.catch(() => {});
    this.#cancelTimer = clock.setTimer(() => {
      this.#exceeded = true;
      this.#controller.abort();
    }, durationMs);
    if (callerSignal?.aborted) this.#controller.abort();
    else callerSignal?.addEventListener('abort', this.abort, { once: true });
  }

  /** Aborts at the deadline or with the caller's signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time ran out (rather than the caller having aborted). */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Settles like `work`, but rejects at once on abort, however long `work` takes to notice. */
  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#aborted]);
  }

  /** Aborts it now. */
  readonly abort = (): void => this.#controller.abort();

  /** Lifts the time limit; the caller's signal still counts. */
  stopTimer(): void {
    this.#cancelTimer();
  }

  /** Ends it: from now on neither the timer nor the caller's signal has an effect. */
  dispose(): void {
    this.#cancelTimer();
    this.#callerSignal?.removeEventListener('abort', this.abort);
  }
}
