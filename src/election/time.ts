/** A moment of metav1.MicroTime: whole microseconds since the Unix epoch, on the clock of whoever wrote it. */
export type MicroTime = bigint;

/**
 * A moment on this process's monotonic clock, in milliseconds (fractions allowed). It only ever moves forward, means
 * nothing outside this process, and is the only kind of time that ages and deadlines are measured with (rule 2).
 */
export type Instant = number;

/** The two clocks read together: `monotonic` to measure with, `wall` for what is written for others to read. */
export interface Now {
  readonly monotonic: Instant;
  readonly wall: MicroTime;
}

/** The earliest of the given instants; undefined entries and an empty list count as never. */
export function earliest(instants: Iterable<Instant | undefined>): Instant | undefined {
  let first: Instant | undefined;
  for (const instant of instants) {
    if (instant !== undefined && (first === undefined || instant < first)) first = instant;
  }
  return first;
}

/** The earliest of those that lie after `at`; Infinity counts as never. */
export function earliestAfter(at: Instant, instants: Iterable<Instant | undefined>): Instant | undefined {
  let first: Instant = Number.POSITIVE_INFINITY;
  for (const instant of instants) {
    if (instant !== undefined && instant > at && instant < first) first = instant;
  }
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}

/**
 * Exponential backoff: `baseMs`, doubled for each attempt after the first, at most `capMs`. Without chance, as what is
 * decided again has to come to the same moment.
 */
export function backoffMs(attempt: number, baseMs: number, capMs: number): number {
  return Math.min(baseMs * 2 ** (attempt - 1), capMs);
}
