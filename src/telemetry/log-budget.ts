import type { Clock, Instant } from '../support/clock.ts';

export type LimitedLevel = 'info' | 'warn' | 'error' | 'fatal';

/** The number of dropped lines with one message, and their most severe level. */
interface LeftOut {
  readonly level: LimitedLevel;
  readonly lines: Readonly<Record<string, number>>;
}

const RATE = { burst: 20, perSecond: 1 };

/**
 * Time without a line about a namespace, in milliseconds. After it, lines about this namespace may use a second budget.
 */
const QUIET_NAMESPACE_MS = 60_000;

/** Number of remembered pairs of message and namespace. */
const MAX_REMEMBERED_NAMESPACES = 1000;

/** Interval at which dropped lines are reported, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;

/** Limits memory if messages are not constant. */
const MAX_MESSAGES = 100;
const OTHERS = 'other messages';
const BY_SEVERITY: readonly LimitedLevel[] = ['info', 'warn', 'error', 'fatal'];

/**
 * Limits the log to a few lines per second. Each message may be written 20 times at once, and then once a second. Each
 * message has its own budget, so that a frequent message does not hide a rare one. Namespaces that were quiet for a
 * minute share a second budget, so that the lines of one namespace cannot suppress those of others.
 */
export class LogBudget {
  readonly #clock: Clock;
  readonly #tell: (leftOut: LeftOut) => void;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #unheard = new Map<string, TokenBucket>();
  readonly #heardAt = createRecentMap<Instant>(MAX_REMEMBERED_NAMESPACES);
  #leftOut = new Map<string, number>();
  #severity = 0;
  #cancelTelling: (() => void) | undefined;

  /** @param tell reports the dropped lines, every ten seconds if there are any. It is not limited itself. */
  constructor(clock: Clock, tell: (leftOut: LeftOut) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Returns whether a line with this message may be written. Otherwise counts the line as dropped. */
  admits(level: LimitedLevel, message: string, namespace?: string): boolean {
    const isKnown = this.#buckets.has(message) || this.#buckets.size < MAX_MESSAGES;
    const key = isKnown ? message : OTHERS;
    const now = this.#clock.now();
    const heard = `${key}\n${namespace}`;
    const isUnheard =
      namespace !== undefined &&
      now - (this.#heardAt.get(heard) ?? Number.NEGATIVE_INFINITY) >= QUIET_NAMESPACE_MS;
    if (this.#take(this.#buckets, key, now) || (isUnheard && this.#take(this.#unheard, key, now))) {
      if (namespace !== undefined) this.#heardAt.set(heard, now);
      return true;
    }
    this.#leftOut.set(key, (this.#leftOut.get(key) ?? 0) + 1);
    this.#severity = Math.max(this.#severity, BY_SEVERITY.indexOf(level));
    this.#cancelTelling ??= this.#clock.setTimer(() => this.tellNow(), REPORT_INTERVAL_MS);
    return false;
  }

  #take(buckets: Map<string, TokenBucket>, key: string, now: Instant): boolean {
    const { bucket, waitMs } = takeToken(buckets.get(key) ?? fullBucket(RATE, now), RATE, now);
    buckets.set(key, bucket);
    return waitMs === 0;
  }

  /** Reports the dropped lines now and cancels the timer. */
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

/** The rate of a token bucket: `burst` tokens at once, then `perSecond`. */
interface TokenBucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** The tokens of a bucket at a time. Immutable. */
export interface TokenBucket {
  readonly tokens: number;
  readonly at: Instant;
}

export function fullBucket({ burst }: TokenBucketRate, at: Instant): TokenBucket {
  return { tokens: burst, at };
}

/** Takes a token. If there is none, `waitMs` is the time until the next one. */
export function takeToken(
  bucket: TokenBucket,
  rate: TokenBucketRate,
  at: Instant,
): { readonly bucket: TokenBucket; readonly waitMs: number } {
  const tokens = Math.min(rate.burst, bucket.tokens + ((at - bucket.at) / 1000) * rate.perSecond);
  // Tolerates rounding errors: after `waitMs` there must be a token.
  if (tokens < 1 - 1e-9) {
    return { bucket: { tokens, at }, waitMs: Math.ceil(((1 - tokens) / rate.perSecond) * 1000) };
  }
  return { bucket: { tokens: Math.max(0, tokens - 1), at }, waitMs: 0 };
}

/** A map that keeps the `size` most recently set entries. */
export function createRecentMap<V>(size: number) {
  const entries = new Map<string, V>();
  return {
    get: (key: string): V | undefined => entries.get(key),
    set(key: string, value: V): void {
      entries.delete(key);
      entries.set(key, value);
      const [oldest] = entries.keys();
      if (entries.size > size && oldest !== undefined) entries.delete(oldest);
    },
    delete(key: string): void {
      entries.delete(key);
    },
  };
}
