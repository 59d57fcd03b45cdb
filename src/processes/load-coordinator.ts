import { type Clock, sleep } from '../support/clock.ts';

/** The modules that take longest to load. */
const parts: readonly (() => unknown)[] = [
  () => import('../telemetry/metrics.ts'),
  () => import('../telemetry/logger.ts'),
  () => import('../kubernetes/client.ts'),
  () => import('../controller/election-controller.ts'),
];

/**
 * Loads the code of a coordinator in parts, and lets the event loop run between parts. Loading everything at once would
 * block the event loop, and with it signals, for 0.2 s.
 */
export async function loadCoordinator(clock: Clock): Promise<typeof import('./coordinator-process.ts')> {
  for (const load of parts) {
    await load();
    await sleep(clock, 0);
  }
  return await import('./coordinator-process.ts');
}
