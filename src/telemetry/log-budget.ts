import type { Clock, Instant } from '../support/clock.ts';

/**
 * Reports how many log lines of each message were dropped. `level` is the most severe level of the dropped lines, as
 * pino's number.
 */
type TellDropped = (lines: Readonly<Record<string, number>>, level: number) => void;

/** Each budget of a message allows `burst` lines at once, and then `perSecond` lines a second. */
const RATE = { burst: 20, perSecond: 1 };

/**
 * A namespace is quiet for a message if no line with this message and namespace was written for this time, in ms. A
 * line of a quiet namespace may also use a second budget.
 */
const QUIET_NAMESPACE_MS = 60_000;
/** Maximum number of pairs of message and namespace that are remembered. Limits the memory. */
const MAX_REMEMBERED_NAMESPACES = 1000;
const REPORT_INTERVAL_MS = 10_000;
/** Maximum number of messages with their own budgets. All other messages count as one message. Limits the memory. */
const MAX_MESSAGES = 100;
const OTHERS = 'other messages';

/**
 * Limits log lines: each message may be written 20 times at once, and then once a second. Each message has a second
 * budget for namespaces that were quiet for a minute, so that one namespace does not use up the lines of all others.
 * @param tell reports all lines dropped since its last call. It runs ten seconds after the first of these lines, or when
 * the caller calls `tellNow`. The caller must not call `admits` for the line that `tell` writes.
 */
export function createLogBudget(clock: Clock, tell: TellDropped) {
  const messages = new Set([OTHERS]);
  const takeToken = createRateLimits(RATE, MAX_MESSAGES + 1);
  const takeTokenOfQuiet = createRateLimits(RATE, MAX_MESSAGES + 1);
  const heardAt = createRecentMap<Instant>(MAX_REMEMBERED_NAMESPACES);
  const dropped = new Map<string, number>();
  let severity = 0;
  let cancelTelling: (() => void) | undefined;

  /** Reports the dropped lines now and cancels the timer. */
  function tellNow(): void {
    cancelTelling?.();
    cancelTelling = undefined;
    if (dropped.size > 0) tell(Object.fromEntries(dropped), severity);
    dropped.clear();
    severity = 0;
  }

  return {
    tellNow,
    /** Returns whether a line with this message may be written. If not, counts the line as dropped. */
    admits(level: number, message: string, namespace: string | undefined): boolean {
      if (messages.size <= MAX_MESSAGES) messages.add(message);
      const key = messages.has(message) ? message : OTHERS;
      const now = clock.now();
      const heard = `${key}\n${namespace}`;
      const isQuiet =
        namespace !== undefined &&
        now - (heardAt.get(heard) ?? Number.NEGATIVE_INFINITY) >= QUIET_NAMESPACE_MS;
      if (takeToken(key, now) || (isQuiet && takeTokenOfQuiet(key, now))) {
        if (namespace !== undefined) heardAt.set(heard, now);
        return true;
      }
      dropped.set(key, (dropped.get(key) ?? 0) + 1);
      severity = Math.max(severity, level);
      cancelTelling ??= clock.setTimer(tellNow, REPORT_INTERVAL_MS);
      return false;
    },
  };
}

/**
 * Creates a token bucket, which is full at first. The returned function takes a token and returns 0. If the bucket has
 * no token, the function returns the time until the next token, in milliseconds.
 */
export function createTokenBucket({ burst, perSecond }: typeof RATE, createdAt: Instant) {
  let tokens = burst;
  let updatedAt = createdAt;
  return (at: Instant): number => {
    tokens = Math.min(burst, tokens + ((at - updatedAt) / 1000) * perSecond);
    updatedAt = at;
    // Tolerate rounding errors: a caller that waits for the returned time must get a token.
    if (tokens < 1 - 1e-9) return Math.ceil(((1 - tokens) / perSecond) * 1000);
    tokens = Math.max(0, tokens - 1);
    return 0;
  };
}

/**
 * Creates one token bucket for each key. The returned function takes a token from the bucket of `key`, and returns
 * false if that bucket is empty. Only the `size` most recently used buckets are kept.
 */
export function createRateLimits(rate: typeof RATE, size: number) {
  const buckets = createRecentMap<ReturnType<typeof createTokenBucket>>(size);
  return (key: string, at: Instant): boolean => {
    const takeToken = buckets.get(key) ?? createTokenBucket(rate, at);
    buckets.set(key, takeToken);
    return takeToken(at) === 0;
  };
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
