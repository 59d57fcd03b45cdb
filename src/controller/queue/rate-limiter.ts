import type { Clock } from '../../support/clock.ts';

/** The bounds of an exponential backoff. */
export interface BackoffSettings {
  /** The delay that follows the first failure, in milliseconds, before jitter. */
  readonly baseMs: number;
  /** No delay is longer than this, in milliseconds; a floor given by the caller may be. */
  readonly maxMs: number;
}

/** How far beyond a floor keys are spread, as a fraction of it: one Retry-After is often told to many keys at once. */
const FLOOR_SPREAD = 0.1;

/** Exponential backoff by key: each failure doubles the delay, success (`forget`) starts over. */
export class RateLimiter {
  readonly #failures = new Map<string, number>();
  readonly #clock: Pick<Clock, 'random'>;
  readonly #settings: BackoffSettings;

  constructor(clock: Pick<Clock, 'random'>, settings: BackoffSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /**
   * Counts one more failure of `key` and returns how many milliseconds to wait before the next attempt: between half of
   * the exponential delay and all of it, so that keys that failed together do not come back together, and never less
   * than `floorMs`.
   */
  next(key: string, floorMs = 0): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    const exponential = Math.min(this.#settings.baseMs * 2 ** failures, this.#settings.maxMs);
    const jitter = this.#clock.random();
    return Math.max((exponential * (1 + jitter)) / 2, floorMs * (1 + FLOOR_SPREAD * jitter));
  }

  /** How many times `key` has failed since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
}
