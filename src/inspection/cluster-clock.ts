import type { HeardDate } from '../kubernetes/client.ts';
import type { Clock, Instant } from '../support/clock.ts';

/** Clocks that differ by less do no harm and cannot be told from a slow network, in milliseconds. */
export const SKEW_TOLERATED_MS = 2000;

/** How far the server's clock is ahead of this machine's, in milliseconds: between the two, as it tells whole seconds. */
export interface ServerAhead {
  readonly min: number;
  readonly max: number;
}

/**
 * This machine's clock, whose wall time is the server's where the two differ by more than is tolerated: renewTimes are
 * written by machines of the cluster, and whoever looks at them may sit at any.
 */
export class ClusterClock implements Clock {
  readonly #clock: Clock;
  #serverAheadMs: ServerAhead | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes in the time of an answer. */
  hear({ date, sentAt, answeredAt }: HeardDate): void {
    const milliseconds = Date.parse(date);
    if (Number.isNaN(milliseconds)) return;
    // The server wrote it, cut to the second, at some moment between the two.
    const written = BigInt(milliseconds) * 1000n;
    this.#serverAheadMs = {
      min: Number(written - answeredAt) / 1000,
      max: Number(written + 1_000_000n - sentAt) / 1000,
    };
  }

  /** By the last answer; undefined before the first. */
  get serverAheadMs(): ServerAhead | undefined {
    return this.#serverAheadMs;
  }

  wallTime(): bigint {
    const skew = skewOf(this.#serverAheadMs);
    return this.#clock.wallTime() + (skew === undefined ? 0n : BigInt(Math.round(skew.byMs * 1000)));
  }

  now(): Instant {
    return this.#clock.now();
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    return this.#clock.setTimer(callback, delayMs);
  }

  random(): number {
    return this.#clock.random();
  }
}

/** By how much the server's clock is off this machine's, positive where it is ahead; undefined where that is tolerated. */
export function skewOf(ahead: ServerAhead | undefined): { byMs: number; text: string } | undefined {
  if (ahead === undefined) return undefined;
  if (ahead.min <= SKEW_TOLERATED_MS && ahead.max >= -SKEW_TOLERATED_MS) return undefined;
  const byMs = (ahead.min + ahead.max) / 2;
  const seconds = (Math.abs(byMs) / 1000).toFixed(0);
  return {
    byMs,
    text: `This machine's clock is about ${seconds} s ${byMs > 0 ? 'behind' : 'ahead of'} the server's`,
  };
}
