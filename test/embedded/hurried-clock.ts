import type { Clock, Instant } from '../../src/support/clock.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { patientClock } from './patient-clock.ts';

/**
 * Goes `pace` times as fast as {@link patientClock}, so that minutes pass while a test waits. Its wall clock is the
 * machine's: others' records carry that time, and are compared with it at first sight (rule 2).
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
