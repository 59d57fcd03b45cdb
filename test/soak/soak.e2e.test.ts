import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runSoak } from './soak-run.ts';

/** A random seed; SOAK_SEED repeats a run as far as the machine allows. */
const SEED = Number(process.env['SOAK_SEED'] ?? Date.now() % 1_000_000);
const MINUTES = 1.5;

test('after 90 seconds of churn no resources are left over, and caches equal the server’s state', {
  // In addition to the churn: time to start, two minutes of quiet, settling and stopping, on a slow machine.
  timeout: MINUTES * 60_000 + 1_200_000,
}, async ({ annotate, signal }) => {
  const directory = await mkdtemp(join(tmpdir(), 'soak-'));
  const { problems, summary } = await runSoak({
    minutes: MINUTES,
    leases: 50,
    candidates: 3,
    seed: SEED,
    main: new URL('../../src/main.ts', import.meta.url).pathname,
    directory,
    say: (line) => console.info(line),
    signal,
  });
  await annotate(summary);
  expect(problems, `seed ${SEED}, recorded in ${directory}\n${summary}`).toEqual([]);
  await rm(directory, { recursive: true });
});
