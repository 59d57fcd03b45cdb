import { loadUndici } from '../kubernetes/load-undici.ts';
import { type Clock, sleep } from '../support/clock.ts';

/** What takes longest to load of all that a coordinator needs. */
const parts: readonly (() => unknown)[] = [
  () => import('../telemetry/metrics.ts'),
  () => import('../telemetry/logger.ts'),
  () => loadUndici(),
  () => import('../kubernetes/client.ts'),
  () => import('../controller/election-controller.ts'),
];

/**
 * Loads what runs a coordinator, part by part, with a turn for everybody else after each: all of it at once would hold the
 * event loop, and so whoever asks the process to end, for a fifth of a second.
 */
export async function loadCoordinator(clock: Clock): Promise<typeof import('./coordinator-process.ts')> {
  for (const load of parts) {
    await load();
    await sleep(clock, 0);
  }
  return await import('./coordinator-process.ts');
}
