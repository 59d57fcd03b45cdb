import type { Clock, Instant } from './clock.ts';

/** How delays between attempts grow. */
export interface BackoffRange {
  /** The delay after the first failure, in milliseconds, before chance. */
  readonly initialMs: number;
  /** No delay is longer, in milliseconds. */
  readonly maxMs: number;
}

/**
 * The delay after so many failures in a row, in milliseconds; none after none. It doubles with each, and its second half
 * is left to `chance`, from 0 to 1: what failed together should not come back together.
 */
export function backoffDelayMs(failures: number, { initialMs, maxMs }: BackoffRange, chance: number): number {
  if (failures === 0) return 0;
  return Math.min(initialMs * 2 ** (failures - 1), maxMs) * (0.5 + chance / 2);
}

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
