import { setTimeout as sleep } from 'node:timers/promises';
import { measureStart } from '../measured-start.ts';
import { watchUsage } from '../process-usage.ts';
import type { Contestant } from './contestant.ts';
import type { Measured } from './measures.ts';

/**
 * Starts this controller again with all objects in place: the time until it is ready, and its memory then. The limit
 * runs already, and lists the objects.
 */
export async function playRestart(contestant: Contestant, restSeconds: number): Promise<Measured> {
  if (contestant.name === 'the limit') return { ready: [await contestant.list()] };
  await contestant.end();
  const { readyMs, heldMs, heldCpuMs, restRss, peakRss, heapUsed } = await measureStart(
    contestant.start,
    contestant.plane.directory,
    restSeconds * 1000,
  );
  return {
    ready: [readyMs],
    held: [heldMs],
    heldCpu: [heldCpuMs],
    rss: [restRss],
    peakRss: [peakRss],
    heap: [heapUsed],
  };
}

/** Changes nothing except by renewals, and counts the coordinator's cost. */
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
