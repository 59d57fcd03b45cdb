import type { Clock, Instant } from '../../src/clock.ts';
import { systemClock } from '../../src/system-clock.ts';

interface Timer {
  readonly dueAt: Instant;
  readonly callback: () => void;
  cancel: () => void;
}

/** The machine's clock, but the time that nothing happens in can be skipped. The wall clock stays as it is. */
export class SkippableClock implements Clock {
  readonly wallTime = systemClock.wallTime;
  readonly random = systemClock.random;
  readonly #timers = new Set<Timer>();
  #skippedMs = 0;

  readonly now = (): Instant => systemClock.now() + this.#skippedMs;

  setTimer(callback: () => void, delayMs: number): () => void {
    const timer: Timer = { dueAt: this.now() + delayMs, callback, cancel: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  /** It is `ms` milliseconds later at once: what is due by then is called soon. */
  skip(ms: number): void {
    this.#skippedMs += ms;
    for (const timer of this.#timers) {
      timer.cancel();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    timer.cancel = systemClock.setTimer(() => {
      this.#timers.delete(timer);
      timer.callback();
    }, timer.dueAt - this.now());
  }
}
