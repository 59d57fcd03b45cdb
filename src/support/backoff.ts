import type { Clock, Instant } from './clock.ts';
import { messageOf } from './text.ts';

interface BackoffRange {
  /** The delay after the first failure, in milliseconds, before jitter. */
  readonly initialMs: number;
  /** The longest delay, in milliseconds, before jitter. */
  readonly maxMs: number;
}

/**
 * Returns the delay after this many consecutive failures, in milliseconds; 0 for no failures. The delay doubles with
 * each failure, up to `maxMs`. Jitter shortens the delay by up to half, so that clients that failed together do not
 * retry together. `chance` is a random number from 0 to 1. With 1, there is no jitter.
 */
export function backoffDelayMs(failures: number, { initialMs, maxMs }: BackoffRange, chance = 1): number {
  if (failures === 0) return 0;
  return Math.min(initialMs * 2 ** (failures - 1), maxMs) * (0.5 + chance / 2);
}

export interface BackoffOptions extends BackoffRange {
  /** In ms. If no failure follows a success within this time, the next failure counts as the first one. */
  readonly resetAfterMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  #failures = 0;
  #healthySince: Instant | undefined;

  constructor(options: BackoffOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Records a success. If no failure follows within `resetAfterMs`, the delay starts again at `initialMs`. */
  succeeded(): void {
    this.#healthySince ??= this.#clock.now();
  }

  /** Records a failure. Returns the delay before the next attempt, in milliseconds. */
  failed(): number {
    const healthySince = this.#healthySince ?? Number.POSITIVE_INFINITY;
    const isReset = this.#clock.now() - healthySince >= this.#options.resetAfterMs;
    this.#failures = isReset ? 1 : this.#failures + 1;
    this.#healthySince = undefined;
    return backoffDelayMs(this.#failures, this.#options, this.#clock.random());
  }
}

/** Minimum time in ms between two reports of a failure with an unchanged message. A new message is reported at once. */
const REPEAT_AFTER_MS = 60_000;

/**
 * Returns a function that tells whether to report a failure of `what`: true if the failure is new, has another message
 * than before, or was last reported at least a minute ago.
 */
export function createThrottle(now: () => Instant): (what: string, error: unknown) => boolean {
  const count = createRepeatCounter(now);
  return (what, error) => count(what, error) !== undefined;
}

/**
 * Returns a function that counts the failures of `what`. It returns undefined for a failure that should not be reported
 * now. Otherwise it returns how many equal failures were not reported since the last report.
 */
export function createRepeatCounter(
  now: () => Instant,
): (what: string, error: unknown) => number | undefined {
  const told = new Map<string, { readonly message: string; readonly at: Instant; repeats: number }>();
  return (what, error) => {
    const message = messageOf(error);
    const last = told.get(what);
    if (last && last.message === message && now() - last.at < REPEAT_AFTER_MS) {
      last.repeats++;
      return undefined;
    }
    told.set(what, { message, at: now(), repeats: 0 });
    return last?.message === message ? last.repeats : 0;
  };
}
