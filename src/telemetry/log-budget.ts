import type { Clock } from '../support/clock.ts';
import { fullBucket, type TokenBucket, takeToken } from './token-bucket.ts';

/** The levels whose lines are limited. */
export type LimitedLevel = 'info' | 'warn' | 'error' | 'fatal';

/** How many lines were left out, by their messages, and the most severe level among them. */
export interface LeftOut {
  readonly level: LimitedLevel;
  readonly lines: Readonly<Record<string, number>>;
}

/** Of each message. */
const RATE = { burst: 20, perSecond: 1 };
/** How often it is told what was left out, in milliseconds. */
const TELL_EVERY_MS = 10_000;
/** Messages are constant, and fewer. Should some not be, they cannot get around this all the same. */
const MOST_MESSAGES = 100;
const OTHERS = 'other messages';
const BY_SEVERITY: readonly LimitedLevel[] = ['info', 'warn', 'error', 'fatal'];

/**
 * Keeps a log to a few lines a second, whatever happens how often: of each message there are 20 at once and then one a
 * second. Each has its own budget, so that nothing rare is lost among what is frequent.
 */
export class LogBudget {
  readonly #clock: Clock;
  readonly #tell: (leftOut: LeftOut) => void;
  readonly #buckets = new Map<string, TokenBucket>();
  #leftOut = new Map<string, number>();
  #severity = 0;
  #cancelTelling: (() => void) | undefined;

  /** @param tell what was left out, while there is something, every ten seconds; itself not limited. */
  constructor(clock: Clock, tell: (leftOut: LeftOut) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Whether one more line with this message may be written; if not, it is counted. */
  admits(level: LimitedLevel, message: string): boolean {
    const isKnown = this.#buckets.has(message) || this.#buckets.size < MOST_MESSAGES;
    const key = isKnown ? message : OTHERS;
    const now = this.#clock.now();
    const { bucket, waitMs } = takeToken(this.#buckets.get(key) ?? fullBucket(RATE, now), RATE, now);
    this.#buckets.set(key, bucket);
    if (waitMs === 0) return true;
    this.#leftOut.set(key, (this.#leftOut.get(key) ?? 0) + 1);
    this.#severity = Math.max(this.#severity, BY_SEVERITY.indexOf(level));
    this.#cancelTelling ??= this.#clock.setTimer(() => this.tellNow(), TELL_EVERY_MS);
    return false;
  }

  /** Tells what was left out so far, if anything; no timer is set after that. */
  tellNow(): void {
    this.#cancelTelling?.();
    this.#cancelTelling = undefined;
    if (this.#leftOut.size === 0) return;
    const lines = Object.fromEntries(this.#leftOut);
    const level = BY_SEVERITY[this.#severity] ?? 'info';
    this.#leftOut = new Map();
    this.#severity = 0;
    this.#tell({ level, lines });
  }
}
