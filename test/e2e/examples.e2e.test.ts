import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandBlocksIn } from '../support/command-blocks.ts';
import { strike } from './examples/chaos.ts';
import {
  type DeployedExample,
  type ExamplesSite,
  LEASE_MS,
  startExamplesSite,
} from './examples/examples-site.ts';
import { followBlock, isNotRun } from './guide-steps.ts';

const guide = await readFile(new URL('../../docs/tutorials/four-programs.md', import.meta.url), 'utf8');
const blocks = commandBlocksIn(guide).filter((block) => !isNotRun(block));
const isLast = ({ heading }: { readonly heading: string }) => heading === 'Remove';

/** For how long leaders are struck at random: `CLE_E2E_CHAOS_SECONDS=120` is the full one. */
const chaosSeconds = Number(process.env['CLE_E2E_CHAOS_SECONDS'] ?? 15);
/** `CLE_E2E_CHAOS_SEED` repeats the faults of a run. */
const seed = Number(process.env['CLE_E2E_CHAOS_SEED'] ?? Date.now() % 1_000_000);

/** A leader leads so long after its last renewal, in milliseconds. */
const RENEW_DEADLINE_MS = 10_000;

const timeout = 240_000 + chaosSeconds * 1000;

/** One story in two clusters at once, as most of it is waiting for Leases to run out. */
describe('docs/tutorials/four-programs.md and its examples, with the feature gate and without', {
  timeout,
}, () => {
  let sites: readonly ExamplesSite[] = [];
  let stuckAt: string | undefined;
  let begunAt = 0;

  beforeAll(async () => {
    sites = await Promise.all([true, false].map(startExamplesSite));
    begunAt = performance.now();
  }, timeout);
  afterAll(() => Promise.all(sites.map((site) => site.stop())));

  /** A step that is of no use when one before has failed. */
  function step(name: string, take: (site: ExamplesSite) => Promise<void>): void {
    test(name, async () => {
      if (stuckAt !== undefined) throw new Error(`stuck at: ${stuckAt}`);
      stuckAt = name;
      const startedAt = performance.now();
      await Promise.all(sites.map(take));
      console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${name}`);
      stuckAt = undefined;
    });
  }
  const each = <T>({ examples }: ExamplesSite, take: (example: DeployedExample) => Promise<T>) =>
    Promise.all(examples.map(take));

  for (const block of blocks.filter((one) => !isLast(one))) {
    step(`line ${block.line}, ${block.heading}: ${block.text.split('\n', 1)[0]}`, ({ shell }) =>
      followBlock(shell, block),
    );
  }

  step('within ten minutes each program has a leader that writes, and was upgraded', async (site) => {
    await each(site, (example) => example.untilWritten());
    expect(performance.now() - begunAt).toBeLessThan(600_000);
  });

  step('leads again after its leader was killed', async (site) => {
    await each(site, async (example) => {
      expect(example.kill(), example.program.name).toBe(true);
      await example.untilWritten();
    });
  });

  step('is led by another pod while its leader is stopped for longer than its Lease lasts', async (site) => {
    await each(site, async (example) => {
      const { leader } = example;
      const thaw = example.freeze();
      await example.untilWritten(leader, 2 * LEASE_MS + 10_000);
      thaw();
    });
    // Whoever believed to lead still would write now.
    await sleep(3000);
  });

  step('leads on another node when the node of its leader is drained', async (site) => {
    const nodes = await each(site, (example) => example.leaderNode());
    const node = nodes[0] ?? '';
    const drain = `kubectl drain ${node} --ignore-daemonsets --delete-emptydir-data --timeout=90s`;
    const { code, output } = await site.shell.run(drain);
    expect(code, output).toBe(0);
    await each(site, async (example) => {
      await example.untilWritten();
      expect(await example.leaderNode()).not.toBe(node);
    });
    await site.shell.run(`kubectl uncordon ${node}`);
  });

  step(`leads again after ${chaosSeconds} s of faults, seed ${seed}`, async (site) => {
    await strike(site, chaosSeconds * 1000, seed);
    await each(site, (example) => example.untilWritten());
  });

  step(
    'does not lead while the API server is away for longer than a leader may go without it',
    async (site) => {
      const { plane } = site.cluster;
      plane.suspend();
      await sleep(RENEW_DEADLINE_MS + 2500);
      const before = site.examples.map(({ ledger }) => ledger.length);
      await sleep(1500);
      const after = site.examples.map(({ ledger }) => ledger.length);
      plane.resume();
      expect(after).toEqual(before);
      await each(site, (example) => example.untilWritten());
    },
  );

  test('never had two leaders that wrote, nor one that wrote after its successor', () => {
    for (const { examples } of sites) {
      for (const { program, ledger } of examples) {
        expect(ledger.violations(program.name)).toEqual([]);
        console.log(`${program.name}: ${ledger.length} lines of ${ledger.terms} terms`);
        expect(ledger.terms).toBeGreaterThanOrEqual(3);
      }
    }
  });

  for (const block of blocks.filter(isLast)) {
    step(`line ${block.line}, ${block.heading}: ${block.text.split('\n', 1)[0]}`, ({ shell }) =>
      followBlock(shell, block),
    );
  }
});
