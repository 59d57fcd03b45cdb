import { afterAll, beforeAll, describe, test } from 'vitest';
import type { ConformanceTarget, RunningTarget, ServedApi } from './target.ts';
import { topics } from './topics.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

/** The tools of a topic's tests. */
export interface Suite extends ServedApi {
  /** A test with its own namespace. */
  test(name: string, body: (workspace: Workspace) => Promise<void>): void;
}

/**
 * Tests for every server of this API. The set of tests depends on the served versions, so no test is skipped. They
 * may run beside any other client. `only`: the titles of the wanted topics.
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
