import type { Clock } from './clock.ts';

/** Work that may be interrupted wherever it yields, and always is where it yields `rest`. */
export type Steps<T> = Generator<'rest' | undefined, T, void>;

/** How long work goes on before others are let in. In milliseconds. */
const SLICE_MS = 5;

/**
 * Does long work in slices, between which others are let in. However many wait, each turn of the event loop has one slice of
 * one of them.
 */
export class Slices {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isTurnSet = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What takes no longer than a slice is done when this returns. */
  run<T>(steps: Steps<T>): T | Promise<T> {
    const first = this.#slice(steps);
    return first.done ? first.value : this.#finish(steps);
  }

  /** Resolves after those that wait already. */
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
