import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask } from './ask.ts';
import { differencesOf, listServed, readCaches } from './cached-objects.ts';
import { leftoversOf, type Open } from './leftovers.ts';
import type { Replica } from './replica.ts';

/** Resources of the last election may stay open for this long. */
const CLEARED_WITHIN_MS = 120_000;
/** Caches follow within milliseconds; a busy machine gets more time. */
const EQUAL_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 500;

/** Returns the resources that a replica holds at the end but did not hold at the start. */
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
 * Returns the differences between a replica's caches and the server. Holders renew during the check, so a cache may
 * be a moment behind the list: an object counts as correct if it was correct once.
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

/** Polls until there is no finding. Returns the findings at the end of the time. */
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
