import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { SeedOutcome } from './seed-worker.ts';

/** How to run seeds. */
export interface SeedWorkersOptions extends Pick<WorkerOptions, 'execArgv' | 'env'> {
  readonly workers: number;
}

/** Runs `count` seeds from `from` on, and tells of each; it stops early where that returns false. */
export async function eachSeed(
  { from, count }: { readonly from: number; readonly count: number },
  { workers, ...options }: SeedWorkersOptions,
  then: (outcome: SeedOutcome) => boolean,
): Promise<void> {
  let next = from;
  let end = from + count;
  const runOn = (worker: Worker) =>
    new Promise<void>((resolve, reject) => {
      const feed = () => {
        if (next < end) worker.postMessage(next++);
        else void worker.terminate().then(() => resolve());
      };
      worker.on('message', (outcome: SeedOutcome) => {
        if (!then(outcome)) end = next;
        feed();
      });
      worker.on('error', reject);
      feed();
    });
  const started = Array.from({ length: Math.min(count, workers) }, () => {
    return new Worker(new URL('./seed-worker.ts', import.meta.url), {
      ...options,
      resourceLimits: { maxYoungGenerationSizeMb: 128 },
    });
  });
  await Promise.all(started.map(runOn));
}

/** The first of the seeds from 1 to `most` that fails. */
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
