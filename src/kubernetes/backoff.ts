import type { Clock, Instant } from '../support/clock.ts';

/** How delays between attempts grow. */
export interface BackoffOptions {
  /** About the first delay, in milliseconds. */
  readonly initialMs: number;
  /** No delay is longer, in milliseconds. */
  readonly maxMs: number;
  /** For how long things must have gone well before the next failure counts as the first one again, in milliseconds. */
  readonly resetAfterMs: number;
}

/** Delays that double with each failure in a row, of which the second half is left to chance. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  #failures = 0;
  #healthySince: Instant | undefined;

  constructor(options: BackoffOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Something worked, which is the beginning of health but not yet its proof. */
  succeeded(): void {
    this.#healthySince ??= this.#clock.now();
  }

  /** Something failed: the delay before the next attempt, in milliseconds. */
  failed(): number {
    const { initialMs, maxMs, resetAfterMs } = this.#options;
    const healthy =
      this.#healthySince !== undefined && this.#clock.now() - this.#healthySince >= resetAfterMs;
    this.#failures = healthy ? 1 : this.#failures + 1;
    this.#healthySince = undefined;
    const ceiling = Math.min(maxMs, initialMs * 2 ** Math.min(this.#failures - 1, 30));
    return ceiling * (0.5 + this.#clock.random() / 2);
  }
}
