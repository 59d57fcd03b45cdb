import type { Clock } from './clock.ts';

/** The machine's own clocks and timers. Nothing else in `src/` may ask for the time, set a timer or draw a number. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => BigInt(Date.now()) * 1000n,
  setTimer(callback, delayMs) {
    // Longer delays overflow Node's 32-bit timers and would fire at once.
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
