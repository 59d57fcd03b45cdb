import type { Clock, Instant } from './clock.ts';

/** A pause between two rounds of work that something can end early, be it before it has begun. */
export class Rest {
  readonly #clock: Clock;
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at `instant`, or at once when `end` is called or was called since the last rest. */
  async until(instant: Instant): Promise<void> {
    if (!this.#isEnded) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = this.#clock.setTimer(resolve, Math.ceil(instant - this.#clock.now()));
      await promise;
      cancel();
    }
    this.#isEnded = false;
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }
}
