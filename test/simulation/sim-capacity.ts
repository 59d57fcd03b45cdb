import type { Instant } from '../../src/support/clock.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

/**
 * The speed of a simulated API server. It works on one request at a time, in order of arrival. It also executes
 * requests whose sender no longer waits for the answer.
 */
export class SimCapacity {
  readonly #clock: VirtualClock;
  readonly #serviceMs: number;
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  #slowness = 1;
  #slowUntil: Instant = Number.NEGATIVE_INFINITY;

  constructor(clock: VirtualClock, requestsPerSecond: number) {
    this.#clock = clock;
    this.#serviceMs = 1000 / requestsPerSecond;
  }

  /** Runs `work` after all earlier requests are done and its own time has passed. */
  serve(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#isBusy) this.#serveNext();
  }

  /** Requests that start within the next `ms` take `factor` times as long. */
  slowDown(factor: number, ms: number): void {
    this.#slowness = factor;
    this.#slowUntil = this.#clock.now() + ms;
  }

  #serveNext(): void {
    const work = this.#waiting.shift();
    this.#isBusy = work !== undefined;
    if (!work) return;
    const slowness = this.#clock.now() < this.#slowUntil ? this.#slowness : 1;
    this.#clock.setTimer(() => {
      work();
      this.#serveNext();
    }, this.#serviceMs * slowness);
  }
}
