import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the condition is true.
 * @throws Error if it is not true in time, or if the signal aborts
 */
export async function until(
  isSo: () => Promise<boolean> | boolean,
  withinMs: number,
  signal: AbortSignal,
  what: string,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isSo())) {
    signal.throwIfAborted();
    if (performance.now() > deadline) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
    await sleep(100);
  }
}
