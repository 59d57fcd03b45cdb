import { setTimeout as sleep } from 'node:timers/promises';
import { measureStart } from '../measured-start.ts';
import { watchUsage } from '../process-usage.ts';
import type { Contestant } from './contestant.ts';
import type { Measured } from './measures.ts';

/**
 * Starts this controller again with everything in place: until it is ready, and what it has in memory then. The limit is
 * there already, and fetches what has to be known.
 */
export async function playRestart(contestant: Contestant, restSeconds: number): Promise<Measured> {
  if (contestant.name === 'the limit') return { ready: [await contestant.list()] };
  await contestant.end();
  const { readyMs, heldMs, heldCpuMs, restRss, mostRss, heapUsed } = await measureStart(
    contestant.start,
    contestant.plane.directory,
    restSeconds * 1000,
  );
  return {
    ready: [readyMs],
    held: [heldMs],
    heldCpu: [heldCpuMs],
    rss: [restRss],
    mostRss: [mostRss],
    heap: [heapUsed],
  };
}

/** Leaves everything as it is, but for renewals, and counts what this costs the coordinator. */
export async function playSteadyState(contestant: Contestant, seconds: number): Promise<Measured> {
  const { programs, countWrites } = contestant;
  await programs.pace({ renewEveryMs: 2_000 });
  // By then all of them renew like this.
  await sleep(6_000);
  const from = Date.now();
  const usage = await watchUsage(contestant.pid());
  await sleep(seconds * 1000);
  const { cpus } = await usage();
  return { steadyWrites: [await countWrites(from, Date.now())], steadyCpus: [cpus] };
}
