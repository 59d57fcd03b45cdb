import type { Clock } from './clock.ts';

/**
 * The clocks, timers and random numbers of the machine. `main.ts` and the defaults of the library use this Clock. Other
 * code in `src/` takes a Clock as an argument, so that tests can pass another one.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => BigInt(Date.now()) * 1000n,
  setTimer(callback, delayMs) {
    // Limit the delay: a longer one would overflow Node's 32-bit timer, which would then fire at once.
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
