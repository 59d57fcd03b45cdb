import type { Clock, Instant } from './clock.ts';

/** A pause between two rounds of work that something can end early, be it before it has begun. */
export class InterruptibleSleep {
  readonly #clock: Clock;
  #isInterrupted = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at `instant`, or at once when `interrupt` is called or was called since the last sleep. */
  async until(instant: Instant): Promise<void> {
    if (!this.#isInterrupted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = this.#clock.setTimer(resolve, Math.ceil(instant - this.#clock.now()));
      await promise;
      cancel();
    }
    this.#isInterrupted = false;
  }

  interrupt(): void {
    this.#isInterrupted = true;
    this.#wake?.();
  }
}
