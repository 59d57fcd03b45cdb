import { type BackoffRange, backoffDelayMs } from '../support/backoff-delay.ts';
import type { Clock, Instant } from '../support/clock.ts';

/** How delays between attempts grow, and when they start over. */
export interface BackoffOptions extends BackoffRange {
  /** For how long things must have gone well before the next failure counts as the first one again, in milliseconds. */
  readonly resetAfterMs: number;
}

/** Delays between attempts at one thing, which goes well for a while, and then badly. */
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
    const { resetAfterMs } = this.#options;
    const healthy =
      this.#healthySince !== undefined && this.#clock.now() - this.#healthySince >= resetAfterMs;
    this.#failures = healthy ? 1 : this.#failures + 1;
    this.#healthySince = undefined;
    return backoffDelayMs(this.#failures, this.#options, this.#clock.random());
  }
}
