import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runChaos } from './chaos-run.ts';

/** A random seed; CHAOS_SEED repeats a run as far as the machine allows. */
const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
const MINUTES = 2;

test('two minutes of chaos break no invariant, and all Leases settle soon after', {
  // In addition to the chaos: time to start, settle and stop, on a slow machine.
  timeout: MINUTES * 60_000 + 600_000,
}, async ({ annotate, signal }) => {
  const directory = await mkdtemp(join(tmpdir(), 'chaos-'));
  const say = (line: string) => console.info(line);
  const { problems, summary } = await runChaos({ minutes: MINUTES, seed: SEED, directory, say, signal });
  await annotate(summary);
  expect(problems, `seed ${SEED}, recorded in ${directory}\n${summary}`).toEqual([]);
  await rm(directory, { recursive: true });
});
