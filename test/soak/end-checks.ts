import { setTimeout as sleep } from 'node:timers/promises';
import { differencesOf, listServed, readCaches } from './cached-objects.ts';
import type { Crowd } from './crowd.ts';
import { leftoversOf, type Open } from './leftovers.ts';
import type { Replica } from './replica.ts';

/** What the last election needed may be open as long as this afterwards. */
const CLEARED_WITHIN_MS = 120_000;
/** Caches follow within milliseconds; a busy machine is given more, but no holder may miss its renewal. */
const CACHED_WITHIN_MS = 4_000;
const LOOK_AGAIN_MS = 500;

/** What a replica has open that it did not have at the start, and goes on to have. */
export async function leftoversAtEnd(
  { name }: Replica,
  atStart: readonly Open[],
  look: () => Promise<Open>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const leftovers = await whatRemains(
    async () => leftoversOf(atStart, await look()),
    CLEARED_WITHIN_MS,
    signal,
  );
  return leftovers.map((each) => `${name} has left over ${each}`);
}

/** In what the caches of a replica differ from what the server has, while nobody else writes. */
export async function differencesAtEnd(
  replica: Replica,
  crowd: Crowd,
  main: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  crowd.pause(true);
  try {
    return await whatRemains(
      async () => {
        const served = await listServed(crowd.ask);
        const caches = await readCaches(replica, main);
        return caches.flatMap(({ name, objects }) =>
          differencesOf(objects, served).map((each) => `${replica.name}, ${name}: ${each}`),
        );
      },
      CACHED_WITHIN_MS,
      signal,
    );
  } finally {
    crowd.pause(false);
  }
}

/** What is still found when the time is over, or nothing as soon as nothing is found. */
async function whatRemains(
  find: () => Promise<readonly string[]>,
  withinMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (const deadline = performance.now() + withinMs; ; ) {
    const found = await find();
    if (found.length === 0 || performance.now() > deadline) return found;
    await sleep(LOOK_AGAIN_MS, undefined, { signal });
  }
}
