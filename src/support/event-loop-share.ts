import { type Clock, type Instant, sleep } from './clock.ts';

/** After so much work in a row everybody else has a turn, in milliseconds. */
const LONGEST_TURN_MS = 10;
/** Pieces of work further apart than this, in milliseconds, do not follow upon each other. */
const PAUSE_MS = 1;

/** Keeps work that is done in thousands of small pieces, without ever waiting, from having the event loop to itself. */
export class EventLoopShare {
  readonly #clock: Clock;
  #busySince: Instant = Number.NEGATIVE_INFINITY;
  #workedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does one piece of work; resolves once others have had their turn, if it is time for that. */
  async take(work: () => void): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#workedAt > PAUSE_MS) this.#busySince = now;
    work();
    this.#workedAt = this.#clock.now();
    if (this.#workedAt - this.#busySince > LONGEST_TURN_MS) await sleep(this.#clock, 0);
  }
}

/** `items` one after the other, as long as that takes, with turns for everybody else in between. */
export async function* unhurried<T>(items: Iterable<T>, clock: Clock): AsyncGenerator<T, void, void> {
  let since = clock.now();
  for (const item of items) {
    yield item;
    if (clock.now() - since <= LONGEST_TURN_MS) continue;
    await sleep(clock, 0);
    since = clock.now();
  }
}
