import type { Clock, Instant } from '../../src/support/clock.ts';
import { systemClock } from '../../src/support/system-clock.ts';

const TICK_MS = 5;
/** The maximum step of this clock from one tick to the next. */
const MAX_TRACE_MS = 10;

interface Timer {
  readonly dueAt: Instant;
  readonly callback: () => void;
  cancel: () => void;
}

/**
 * The machine's clock, but it stops while this process gets no CPU time: on a loaded machine everything takes longer,
 * and nothing is late by this clock. The wall clock is not affected.
 */
export class PatientClock implements Clock {
  readonly wallTime = systemClock.wallTime;
  readonly random = systemClock.random;
  readonly #timers = new Set<Timer>();
  #time: Instant = 0;
  #tickedAt = systemClock.now();

  constructor() {
    setInterval(() => {
      this.#time = this.now();
      this.#tickedAt = systemClock.now();
    }, TICK_MS).unref();
  }

  readonly now = (): Instant => this.#time + Math.min(systemClock.now() - this.#tickedAt, MAX_TRACE_MS);

  setTimer(callback: () => void, delayMs: number): () => void {
    const timer: Timer = { dueAt: this.now() + delayMs, callback, cancel: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  /** Advances the clock by `ms` milliseconds at once. Due timers fire soon. */
  skip(ms: number): void {
    this.#time += ms;
    for (const timer of this.#timers) {
      timer.cancel();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    timer.cancel = systemClock.setTimer(() => {
      if (this.now() < timer.dueAt) {
        this.#arm(timer);
        return;
      }
      this.#timers.delete(timer);
      timer.callback();
    }, timer.dueAt - this.now());
  }
}

/** The shared clock of all members of the same elections. */
export const patientClock = new PatientClock();
