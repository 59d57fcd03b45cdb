import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { SeedOutcome } from './seed-worker.ts';

/** Options for running seeds. */
export interface SeedWorkersOptions extends Pick<WorkerOptions, 'execArgv' | 'env'> {
  readonly workers: number;
}

/**
 * A seed that loops forever never answers. A seed normally takes a fraction of a second. The limit is in milliseconds
 * of CPU time of all workers, so that other load on the machine does not exceed it.
 */
const LONGEST_SEED_MS = 60_000;
const LOOK_EVERY_MS = 5000;

/** Runs `count` seeds from `from` on and reports each. Stops early if the callback returns false. */
export async function eachSeed(
  { from, count }: { readonly from: number; readonly count: number },
  { workers, ...options }: SeedWorkersOptions,
  then: (outcome: SeedOutcome) => boolean,
): Promise<void> {
  let next = from;
  let end = from + count;
  const work = async () => {
    let worker: Worker | undefined;
    while (next < end) {
      worker ??= startWorker(options);
      const outcome = await runSeed(worker, next++);
      if (outcome.isHanging) {
        await worker.terminate();
        worker = undefined;
      }
      if (!then(outcome)) end = next;
    }
    await worker?.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(count, workers) }, work));
}

/** Returns the first failing seed from 1 to `most`. */
export async function firstFailure(
  most: number,
  options: SeedWorkersOptions,
): Promise<SeedOutcome | undefined> {
  const failures: SeedOutcome[] = [];
  await eachSeed({ from: 1, count: most }, options, (outcome) => {
    if (outcome.problems.length > 0) failures.push(outcome);
    return failures.length === 0;
  });
  return failures.sort((a, b) => a.seed - b.seed)[0];
}

function startWorker(options: Pick<WorkerOptions, 'execArgv' | 'env'>): Worker {
  return new Worker(new URL('./seed-worker.ts', import.meta.url), {
    ...options,
    resourceLimits: { maxYoungGenerationSizeMb: 128 },
  });
}

function runSeed(worker: Worker, seed: number): Promise<SeedOutcome> {
  const { promise, resolve, reject } = Promise.withResolvers<SeedOutcome>();
  const before = process.cpuUsage();
  const looks = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 < LONGEST_SEED_MS) return;
    const problems = ['it does not come to an end'];
    resolve({ seed, problems, counts: new Map(), simulatedMs: 0, isHanging: true });
  }, LOOK_EVERY_MS);
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.postMessage(seed);
  return promise.finally(() => {
    clearInterval(looks);
    worker.off('message', resolve);
    worker.off('error', reject);
  });
}
