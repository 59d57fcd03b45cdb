import type { Clock } from './clock.ts';

/** The clocks, timers and random numbers of the machine. All other code in `src/` must take a Clock as an argument. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => BigInt(Date.now()) * 1000n,
  setTimer(callback, delayMs) {
    // A longer delay would overflow Node's 32-bit timer and fire at once.
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
