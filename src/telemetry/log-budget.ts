import type { Clock, Instant } from '../support/clock.ts';

/** The levels whose lines are limited. */
export type LimitedLevel = 'info' | 'warn' | 'error' | 'fatal';

/** How many lines were left out, by their messages, and the most severe level among them. */
interface LeftOut {
  readonly level: LimitedLevel;
  readonly lines: Readonly<Record<string, number>>;
}

/** Of each message. */
const RATE = { burst: 20, perSecond: 1 };

/** A namespace that a message was not written about for so long is heard beside those that use up all there is. */
const UNHEARD_MS = 60_000;

/** Of how many messages about namespaces it is known when they were last written. */
const MOST_HEARD = 1000;

/** How often it is told what was left out, in milliseconds. */
const TELL_EVERY_MS = 10_000;

/** Messages are constant, and fewer. Should some not be, they cannot get around this all the same. */
const MOST_MESSAGES = 100;
const OTHERS = 'other messages';
const BY_SEVERITY: readonly LimitedLevel[] = ['info', 'warn', 'error', 'fatal'];

/**
 * Keeps a log to a few lines a second, whatever happens how often: of each message there are 20 at once and then one a
 * second. Each has its own budget, so that nothing rare is lost among what is frequent; and as much again for namespaces
 * that have not been heard of for a minute, so that none silences another.
 */
export class LogBudget {
  readonly #clock: Clock;
  readonly #tell: (leftOut: LeftOut) => void;
  readonly #buckets = new Map<string, TokenBucket>();
  /** The same for namespaces that have not been heard of. */
  readonly #unheard = new Map<string, TokenBucket>();
  readonly #heardAt = createRecentMap<Instant>(MOST_HEARD);
  #leftOut = new Map<string, number>();
  #severity = 0;
  #cancelTelling: (() => void) | undefined;

  /** @param tell what was left out, while there is something, every ten seconds; itself not limited. */
  constructor(clock: Clock, tell: (leftOut: LeftOut) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Whether one more line with this message, about a namespace perhaps, may be written; if not, it is counted. */
  admits(level: LimitedLevel, message: string, namespace?: string): boolean {
    const isKnown = this.#buckets.has(message) || this.#buckets.size < MOST_MESSAGES;
    const key = isKnown ? message : OTHERS;
    const now = this.#clock.now();
    const heard = `${key}\n${namespace}`;
    const isUnheard =
      namespace !== undefined && now - (this.#heardAt.get(heard) ?? Number.NEGATIVE_INFINITY) >= UNHEARD_MS;
    if (this.#take(this.#buckets, key, now) || (isUnheard && this.#take(this.#unheard, key, now))) {
      if (namespace !== undefined) this.#heardAt.set(heard, now);
      return true;
    }
    this.#leftOut.set(key, (this.#leftOut.get(key) ?? 0) + 1);
    this.#severity = Math.max(this.#severity, BY_SEVERITY.indexOf(level));
    this.#cancelTelling ??= this.#clock.setTimer(() => this.tellNow(), TELL_EVERY_MS);
    return false;
  }

  #take(buckets: Map<string, TokenBucket>, key: string, now: Instant): boolean {
    const { bucket, waitMs } = takeToken(buckets.get(key) ?? fullBucket(RATE, now), RATE, now);
    buckets.set(key, bucket);
    return waitMs === 0;
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

/** Lets `burst` things through at once, and then so many a second. */
interface TokenBucketRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** What is left in a bucket, and since when it has not been looked into. Immutable. */
export interface TokenBucket {
  readonly tokens: number;
  readonly at: Instant;
}

/** A bucket that nothing was taken from yet. */
export function fullBucket({ burst }: TokenBucketRate, at: Instant): TokenBucket {
  return { tokens: burst, at };
}

/** Takes a token; `waitMs` is 0, or how long it takes until there is one, and then none was taken. */
export function takeToken(
  bucket: TokenBucket,
  rate: TokenBucketRate,
  at: Instant,
): { readonly bucket: TokenBucket; readonly waitMs: number } {
  const tokens = Math.min(rate.burst, bucket.tokens + ((at - bucket.at) / 1000) * rate.perSecond);
  // Of what is added up in fractions a little is lost: a wait that was told must be enough.
  if (tokens < 1 - 1e-9) {
    return { bucket: { tokens, at }, waitMs: Math.ceil(((1 - tokens) / rate.perSecond) * 1000) };
  }
  return { bucket: { tokens: Math.max(0, tokens - 1), at }, waitMs: 0 };
}

/** A map that keeps the entries that were set most recently, and forgets the others. */
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
