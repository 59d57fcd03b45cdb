import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandBlock } from '../support/command-blocks.ts';
import { eventually } from './coordinator.ts';
import { builtIn, coordinatorTurns, lateWrites, overlaps } from './coordinator-turns.ts';
import { followBlock, isNotRun } from './guide-steps.ts';
import { objectNames } from './object-names.ts';
import { type OperationsSite, startAnySite, startGateSite } from './operations-site.ts';
import { type Step, stepsOnAnyCluster, stepsWithGate } from './operations-steps.ts';

/** A way through the pages, from nothing to the uninstall. */
interface Way {
  readonly start: () => Promise<OperationsSite>;
  readonly steps: readonly Step[];
  /** The heading of the commands that end with a first election. */
  readonly firstElection: string;
}

const anyCluster: Way = {
  start: startAnySite,
  steps: stepsOnAnyCluster,
  firstElection: 'See a first election',
};

const withGate: Way = {
  start: startGateSite,
  steps: stepsWithGate,
  firstElection: 'Elect by a LeaseCandidate of Kubernetes',
};

/** Somebody who goes a way. */
class Reader {
  readonly #way: Way;
  #site: OperationsSite | undefined;
  #stuckAt: string | undefined;
  #installedAt = Number.NaN;
  /** What was there before the install. */
  before: readonly string[] = [];
  /** From the install on, in milliseconds. */
  firstElectionAfterMs = Number.NaN;

  constructor(way: Way) {
    this.#way = way;
  }

  get site(): OperationsSite {
    if (this.#site === undefined) throw new Error('the cluster has not been started');
    return this.#site;
  }

  /** Tests for all steps of the way. */
  go(): void {
    beforeAll(async () => {
      this.#site = await this.#way.start();
    });
    afterAll(async () => {
      await this.#site?.stop();
    });
    const { steps, firstElection } = this.#way;
    const last = steps.findLast(({ heading }) => heading === firstElection);
    for (const block of steps.filter((each) => !isNotRun(each))) {
      const { page, line, heading, text } = block;
      const name = `${page}, line ${line}, ${heading}: ${text.split('\n', 1)[0]}`;
      this.#step(name, () =>
        block.text.startsWith('helm install ') ? this.#install(block) : this.#follow(block),
      );
      if (block !== last) continue;
      this.#step('so there is a first election', async () => {
        this.firstElectionAfterMs = performance.now() - this.#installedAt;
      });
      this.#step('the same by what helm prints after an install', () => this.#followNotes());
    }
  }

  /** A step of somebody who goes no further when one of them has failed. */
  #step(name: string, take: () => Promise<void>): void {
    test(name, async () => {
      if (this.#stuckAt !== undefined)
        throw new Error(`those who follow the pages are stuck at: ${this.#stuckAt}`);
      this.#stuckAt = name;
      await take();
      this.#stuckAt = undefined;
    });
  }

  async #install(block: CommandBlock): Promise<void> {
    this.before = await objectNames(this.site.shell);
    this.#installedAt = performance.now();
    await this.#follow(block);
  }

  #follow(block: CommandBlock): Promise<void> {
    return followBlock(this.site.shell, block);
  }

  async #followNotes(): Promise<void> {
    const notes = await this.site.shell.run(
      'helm get notes coordinated-leader-election --namespace kube-system',
    );
    const lines = notes.output.split('\n').filter((line) => !/^(?:\d\. |Then )/.test(line));
    const script = lines.slice(lines.findIndex((line) => line.startsWith('kubectl '))).join('\n');
    const { code, output } = await this.site.shell.run(script);
    for (const shown of [
      'successfully rolled out',
      'holderIdentity: first-candidate',
      '"lease":"default/first-election"',
      'Succeeded',
    ]) {
      expect(output).toContain(shown);
    }
    expect(code).toBe(0);
  }
}

/** Who coordinated, one after the other, and never two at once. */
async function turnsOf({ audit }: OperationsSite) {
  const { turns } = coordinatorTurns(await audit.requests());
  expect(overlaps(turns)).toEqual([]);
  const ours = turns.filter(({ client }) => client !== builtIn);
  expect(ours.flatMap(lateWrites)).toEqual([]);
  return { turns, ours };
}

describe('the pages on any cluster', () => {
  const reader = new Reader(anyCluster);
  reader.go();

  test('leads to a first election within five minutes of the install', () => {
    const seconds = reader.firstElectionAfterMs / 1000;
    console.log(`from helm install to a first election, explained: ${seconds.toFixed(0)} s`);
    expect(seconds).toBeLessThan(300);
  });

  test('leaves nothing behind', async () => {
    const before = new Set(reader.before);
    expect(before.size).toBeGreaterThan(100);
    let left: readonly string[] = [];
    const isClean = async () => {
      left = (await objectNames(reader.site.shell)).filter((name) => !before.has(name));
      return left.length === 0 || undefined;
    };
    await eventually(isClean, 'all is as before', 30_000).catch(() => {});
    expect(left).toEqual([]);
  });

  test('never had two coordinators at once', async () => {
    const { turns, ours } = await turnsOf(reader.site);
    expect(turns).toEqual(ours);
    expect(ours.length).toBeGreaterThanOrEqual(1);
  });
});

describe('the pages on a cluster with the feature gate', () => {
  const reader = new Reader(withGate);
  reader.go();

  test('never had two coordinators at once, from the install to the uninstall', async () => {
    const { turns, ours } = await turnsOf(reader.site);
    // From one replica to the next: an upgrade, or a rollback.
    for (const [index, { client, until }] of turns.slice(0, -1).entries()) {
      const next = turns[index + 1];
      if (client !== builtIn && next && next.client !== builtIn)
        expect(next.from - until).toBeLessThan(2_000);
    }
    // One of the install, one or more of each upgrade and rollback, one after all replicas had gone.
    expect(ours.length).toBeGreaterThanOrEqual(5);
    expect(turns.at(-1)?.client).toBe(builtIn);
  });
});
