import type { Instant } from '../support/clock.ts';

/** Lets `burst` things through at once, and then so many a second. */
export interface TokenBucketRate {
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
