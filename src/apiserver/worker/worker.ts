import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ServedCandidates } from '../../coordination/candidate-sources.ts';
import type { Clock } from '../../support/clock.ts';
import { ApiError, timedOut } from '../errors/api-error.ts';
import type { Outcome, Task } from './tasks.ts';

/** What the thread has to know from its beginning. */
export interface ThreadOptions {
  readonly leaseCandidateVersions: readonly ServedCandidates[];
}

/** A task as the thread gets it; its outcome comes back with the same number. */
export interface NumberedTask {
  readonly number: number;
  readonly task: Task;
}

/** Does tasks where they keep nobody waiting. */
export interface TaskWorker {
  /** @throws {ApiError} as a rejection: 429 where too many wait already, 504 where it takes too long. */
  perform(task: Task): Promise<Outcome>;
  close(): Promise<void>;
}

interface Waiting {
  readonly task: Task;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** More than a thread does in the time that a client waits. With 3 MiB each they fit into memory. */
const MOST_WAITING = 100;
/** How long a real server lets a write take. */
const MOST_MS = 34_000;
/**
 * What a task may use. Ten thousand levels of JSON need a stack far above Node's own; what needs more memory is no object of
 * the API any more.
 */
const LIMITS = { stackSizeMb: 64, maxOldGenerationSizeMb: 1024 };

/** One thread, started when it is first needed. What it dies of is the end of one task, not of those behind it. */
export function createTaskWorker(options: ThreadOptions, clock: Clock): TaskWorker {
  const waiting: Waiting[] = [];
  let current: Waiting | undefined;
  let thread: Worker | undefined;
  let number = 0;
  let cancelDeadline = () => {};
  let isClosed = false;

  function next(): void {
    if (current !== undefined || isClosed) return;
    current = waiting.shift();
    if (current === undefined) {
      thread?.unref();
      return;
    }
    thread ??= start();
    thread.ref();
    number += 1;
    cancelDeadline = clock.setTimer(() => end(timedOut()), MOST_MS);
    thread.postMessage({ number, task: current.task } satisfies NumberedTask);
  }

  function start(): Worker {
    // This file and the thread's are either both compiled or both not.
    const file = join(import.meta.dirname, `thread${extname(import.meta.filename)}`);
    const started = new Worker(file, { workerData: options, resourceLimits: LIMITS, execArgv: [] });
    started.on('message', (done: { readonly number: number; readonly outcome: Outcome }) => {
      if (started === thread && done.number === number) settle(({ resolve }) => resolve(done.outcome));
    });
    for (const failure of ['error', 'messageerror'] as const) {
      started.once(failure, (error) => {
        if (started === thread) end(error);
      });
    }
    return started;
  }

  /** Gives up the task under way, and the thread with it. */
  function end(error: unknown): void {
    void thread?.terminate();
    thread = undefined;
    settle(({ reject }) => reject(error));
  }

  function settle(how: (done: Waiting) => void): void {
    const done = current;
    current = undefined;
    cancelDeadline();
    if (done) how(done);
    next();
  }

  return {
    perform: (task) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(timedOut());
        if (waiting.length >= MOST_WAITING) return reject(tooMany());
        waiting.push({ task, resolve, reject });
        next();
      }),
    async close() {
      isClosed = true;
      const stopped = thread?.terminate();
      for (const { reject } of waiting.splice(0)) reject(timedOut());
      settle(({ reject }) => reject(timedOut()));
      await stopped;
    },
  };
}

function tooMany(): ApiError {
  const message = 'too many requests, please try again later';
  return new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds: 1 });
}
