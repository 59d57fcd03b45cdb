import type { Clock, Instant } from '../clock.ts';

/** An answer within this time is in good time: more requests may be under way. In milliseconds. */
const GOOD_MS = 250;
/** An answer that took longer says that the server has more to do than it can. */
const SLOW_MS = 1000;
const SHRINK = 0.75;
/** Fewer would not even show when the server has recovered. */
const LEAST = 4;

/**
 * How many requests may be under way at once: as many as the server answers in good time (rule 9). It grows by one for
 * each round of good answers that fills it, and shrinks by a quarter, once a round, when answers come late or not at all.
 */
export class RequestLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #most: number;
  #limit: number;
  #shrunkAt: Instant = Number.NEGATIVE_INFINITY;

  /** @param most the limit to begin with, and never to exceed */
  constructor(clock: Pick<Clock, 'now'>, most: number) {
    this.#clock = clock;
    this.#most = most;
    this.#limit = most;
  }

  get current(): number {
    return Math.floor(this.#limit);
  }

  /**
   * @param sentAt when the request was sent that was answered now, or given up
   * @param isAnswered whether the server did what it was asked to, or said why not; false for overload and silence
   */
  answered(sentAt: Instant, isAnswered: boolean): void {
    const now = this.#clock.now();
    const tookMs = now - sentAt;
    if (!isAnswered || tookMs > SLOW_MS) {
      // All that was under way when the limit shrank is one and the same bad news.
      if (sentAt < this.#shrunkAt) return;
      this.#limit = Math.max(Math.min(LEAST, this.#most), this.#limit * SHRINK);
      this.#shrunkAt = now;
    } else if (tookMs < GOOD_MS) {
      this.#limit = Math.min(this.#most, this.#limit + 1 / this.#limit);
    }
  }
}
