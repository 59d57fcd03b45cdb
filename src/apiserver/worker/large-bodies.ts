import type { LargeBodies } from '../http/large-bodies.ts';
import { refusalOf } from './outcome-errors.ts';
import type { TaskWorker } from './worker.ts';

/** Has the worker read and write large bodies. */
export function createLargeBodies(worker: TaskWorker): LargeBodies {
  return {
    async question({ group, resource }, { body, contentType }) {
      const outcome = await worker.perform({ kind: 'review', group, resource, contentType, body });
      if (outcome.kind === 'question') return outcome.question;
      throw refusalOf(outcome);
    },
    async yaml(json) {
      const outcome = await worker.perform({ kind: 'yaml', json });
      if (outcome.kind === 'text') return outcome.text;
      throw refusalOf(outcome);
    },
  };
}
