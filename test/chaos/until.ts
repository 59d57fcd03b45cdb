import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves when it is so, asked again and again.
 * @throws Error when it is not in time, or the signal is aborted.
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
