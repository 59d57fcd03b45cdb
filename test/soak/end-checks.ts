import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from './ask.ts';
import { differencesOf, listServed, readCaches } from './cached-objects.ts';
import { leftoversOf, type Open } from './leftovers.ts';
import type { Replica } from './replica.ts';

/** What the last election needed may be open as long as this afterwards. */
const CLEARED_WITHIN_MS = 120_000;
/** Caches follow within milliseconds; a busy machine is given more. */
const EQUAL_WITHIN_MS = 60_000;
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

/**
 * In what the caches of a replica differ from what the server has. Holders go on renewing meanwhile, so that a cache may be
 * a moment behind the list: an object is in order once it was not.
 */
export async function differencesAtEnd(
  replica: Replica,
  ask: Ask,
  main: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  let remaining: ReadonlyMap<string, string> | undefined;
  await whatRemains(
    async () => {
      const served = await listServed(ask);
      const caches = await readCaches(replica, main);
      const found = new Map(
        caches.flatMap(({ name, objects }) =>
          [...differencesOf(objects, served)].map(([key, what]) => [`${name}: ${key}`, what] as const),
        ),
      );
      const before = remaining;
      remaining = new Map([...found].filter(([key]) => before?.has(key) ?? true));
      return [...remaining.keys()];
    },
    EQUAL_WITHIN_MS,
    signal,
  );
  return [...(remaining ?? [])].map(([key, what]) => `${replica.name}, ${key} ${what}`);
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
