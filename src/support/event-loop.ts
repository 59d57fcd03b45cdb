import { type Clock, type Instant, sleep } from './clock.ts';

/** Long work in steps. At each `yield`, other work may run. At `yield 'rest'`, other work always runs. */
export type Steps<T> = Generator<'rest' | undefined, T, void>;

/** A slice of work ends at the first `yield` after this time, in ms, or at an earlier `yield 'rest'`. */
const SLICE_MS = 5;

/** Runs long work in slices, so that other work can run in between. Each slice after the first waits for a `turn`. */
export class Slices {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isTurnSet = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `steps`. Returns the result if the work fits into one slice, otherwise a promise of the result. */
  run<T>(steps: Steps<T>): T | Promise<T> {
    const first = this.#slice(steps);
    return first.done ? first.value : this.#finish(steps);
  }

  /** Waits for a turn of the event loop. Callers get their turns one at a time, in the order of their calls. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#setTurn();
    });
  }

  async #finish<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      await this.turn();
      const { done, value } = this.#slice(steps);
      if (done) return value;
    }
  }

  #slice<T>(steps: Steps<T>): IteratorResult<unknown, T> {
    const until = this.#clock.now() + SLICE_MS;
    for (;;) {
      const step = steps.next();
      if (step.done || step.value === 'rest' || this.#clock.now() >= until) return step;
    }
  }

  #setTurn(): void {
    if (this.#isTurnSet || this.#waiting.length === 0) return;
    this.#isTurnSet = true;
    this.#clock.setTimer(() => {
      this.#isTurnSet = false;
      this.#waiting.shift()?.();
      this.#setTurn();
    }, 0);
  }
}

/** Longest time in milliseconds for which small tasks, one after the other, may block the event loop. */
const MAX_TURN_MS = 10;
/** After a pause longer than this time, in ms, the next task begins a new series: other work has had time to run. */
const PAUSE_MS = 1;

/** Prevents a long series of small tasks from blocking the event loop. */
export class EventLoopShare {
  readonly #clock: Clock;
  #busySince: Instant = Number.NEGATIVE_INFINITY;
  #workedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs one task. Then, if the series has blocked the event loop for too long, waits until other work has run. */
  async take(work: () => void): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#workedAt > PAUSE_MS) this.#busySince = now;
    work();
    this.#workedAt = this.#clock.now();
    if (this.#workedAt - this.#busySince > MAX_TURN_MS) await sleep(this.#clock, 0);
  }
}

/** Iterates over `items`. Pauses after every {@link MAX_TURN_MS} of work, so that other work can run. */
export async function* unhurried<T>(items: Iterable<T>, clock: Clock): AsyncGenerator<T, void, void> {
  let since = clock.now();
  for (const item of items) {
    yield item;
    if (clock.now() - since <= MAX_TURN_MS) continue;
    await sleep(clock, 0);
    since = clock.now();
  }
}
