import { parentPort, workerData } from 'node:worker_threads';
import { createResources } from '../kinds/registry.ts';
import { perform } from './perform.ts';
import type { NumberedTask, ThreadOptions } from './worker.ts';

/** The beginning of the thread that does tasks one after the other. */
const resources = createResources(workerData as ThreadOptions);
parentPort?.on('message', ({ number, task }: NumberedTask) => {
  parentPort?.postMessage({ number, outcome: perform(task, resources) });
});
