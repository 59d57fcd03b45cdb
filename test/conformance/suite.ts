import { afterAll, beforeAll, describe, test } from 'vitest';
import type { ConformanceTarget, RunningTarget, ServedApi } from './target.ts';
import { topics } from './topics.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** What a topic's tests are built with. */
export interface Suite extends ServedApi {
  /** A test with a namespace of its own. */
  test(name: string, body: (workspace: Workspace) => Promise<void>): void;
}

/**
 * What must hold of every server of this API. Which tests there are depends on what is served, so that none has to be
 * skipped; they may run beside any other client. `only` names the topics where not all are wanted.
 */
export function describeConformance(
  served: ServedApi,
  start: () => Promise<RunningTarget>,
  only: readonly string[] = Object.keys(topics),
): void {
  describe(`the coordination API of ${served.name}`, () => {
    let running: RunningTarget | undefined;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(async () => {
      await running?.stop();
    });
    const target = (): ConformanceTarget => {
      if (running === undefined) throw new Error('the server has not been started');
      return running.target;
    };
    const suite: Suite = {
      ...served,
      test: (name, body) => test.concurrent(name, async () => body(await openWorkspace(target()))),
    };
    for (const name of only) {
      const describeTopic = topics[name];
      if (describeTopic === undefined) throw new Error(`there is no topic ${name}`);
      describe(name, () => describeTopic(suite));
    }
  });
}
