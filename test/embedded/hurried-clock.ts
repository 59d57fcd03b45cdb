import type { Clock, Instant } from '../../src/support/clock.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { patientClock } from './patient-clock.ts';

/**
 * Runs `pace` times as fast as {@link patientClock}, so that minutes pass while a test waits. Its wall clock is the
 * machine's, because records of other clients contain that time, and the coordinator compares them with it at first
 * sight (rule 2).
 */
export class HurriedClock implements Clock {
  readonly wallTime = systemClock.wallTime;
  readonly random = systemClock.random;
  readonly #pace: number;
  readonly #madeAt: Instant = patientClock.now();

  constructor(pace: number) {
    this.#pace = pace;
  }

  readonly now = (): Instant => (patientClock.now() - this.#madeAt) * this.#pace;

  setTimer(callback: () => void, delayMs: number): () => void {
    return patientClock.setTimer(callback, delayMs / this.#pace);
  }
}
