import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { FAULTS } from './faults/faults.ts';
import type { SeedOutcome } from './seed-worker.ts';
import { eachSeed } from './seed-workers.ts';
import { shrink } from './shrink.ts';
import { makePlan, type Reduction, reducePlan } from './sim-plan.ts';
import { runPlan } from './sim-run.ts';
import { Tally } from './tally.ts';

const USAGE = `Simulates a cluster in which everything fails, once for each seed.

  npm run simulate -- --seeds N [--from K]
    Runs the seeds K to K + N - 1 (K is 1 where it is not given). Prints what happened, and for the first seeds that
    fail the least that still fails, with the command that replays it.
  npm run simulate -- --seed S [--faults 3,17] [--without replica-2,scheduler-1]
    Replays one seed, all of it or with only these faults and without these actors, and prints what happened.
`;
/** Shrinking takes hundreds of runs. */
const MAX_SHRUNK = 3;
/** With fewer seeds, a kind of fault may be missing by chance. */
const ENOUGH_SEEDS = 300;
const PROGRESS_MS = 2000;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      faults: { type: 'string' },
      without: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.seed !== undefined) {
    const faults = values.faults === undefined ? undefined : listOf(values.faults).map(wholeNumber);
    return await replay(wholeNumber(values.seed), { faults, without: listOf(values.without ?? '') });
  }
  if (values.help || values.seeds === undefined) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  return await simulate(wholeNumber(values.from), wholeNumber(values.seeds));
}

async function replay(seed: number, reduction: Reduction): Promise<number> {
  Error.stackTraceLimit = 10;
  const { problems, trace } = await runPlan(reducePlan(makePlan(seed), reduction), true);
  process.stdout.write(`${trace}\n`);
  for (const problem of problems) process.stdout.write(`wrong: ${problem}\n`);
  return problems.length > 0 ? 1 : 0;
}

async function simulate(from: number, count: number): Promise<number> {
  const startedAt = performance.now();
  const tally = new Tally();
  const failed: SeedOutcome[] = [];
  let done = 0;
  let simulatedMs = 0;
  const seconds = () => (performance.now() - startedAt) / 1000;
  const progress = setInterval(() => {
    const left = (seconds() / Math.max(1, done)) * (count - done);
    process.stderr.write(
      `${done} of ${count} seeds, ${failed.length} failed, ${seconds().toFixed(0)} s, ${left.toFixed(0)} s left\n`,
    );
  }, PROGRESS_MS);
  await eachSeed({ from, count }, { workers: availableParallelism() }, (outcome) => {
    done++;
    simulatedMs += outcome.simulatedMs;
    tally.addAll(outcome.counts);
    if (outcome.problems.length > 0) {
      failed.push(outcome);
      process.stderr.write(`seed ${outcome.seed}: ${outcome.problems.join('; ')}\n`);
    }
    return true;
  });
  clearInterval(progress);
  process.stdout.write(summaryOf(tally));
  const missing = Object.keys(FAULTS).filter((kind) => !tally.counts.has(`fault ${kind}`));
  const isMissed = count >= ENOUGH_SEEDS && missing.length > 0;
  if (isMissed) process.stdout.write(`faults that never struck: ${missing.join(', ')}\n`);
  failed.sort((a, b) => a.seed - b.seed);
  for (const { seed, problems } of failed) process.stdout.write(`seed ${seed}: ${problems.join('; ')}\n`);
  for (const { seed } of failed.slice(0, MAX_SHRUNK)) await printShrunk(seed);
  process.stdout.write(
    `${count - failed.length} seeds passed, ${failed.length} failed; ${(simulatedMs / 3_600_000).toFixed(1)} h simulated in ${seconds().toFixed(0)} s\n`,
  );
  return failed.length > 0 || isMissed ? 1 : 0;
}

async function printShrunk(seed: number): Promise<void> {
  const { faults = [], without = [] } = await shrink(makePlan(seed), async (plan) => {
    const { problems } = await runPlan(plan);
    return problems.length > 0;
  });
  const { problems, trace } = await runPlan(reducePlan(makePlan(seed), { faults, without }), true);
  const leftOut = without.length > 0 ? ` --without ${without.join(',')}` : '';
  process.stdout.write(
    `\nthe least of seed ${seed} that fails: ${problems.join('; ')}\n${trace}\nreplay: npm run simulate -- --seed ${seed} --faults ${faults.join(',') || 'none'}${leftOut}\n\n`,
  );
}

function summaryOf({ counts }: Tally): string {
  const lines = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${`${count}`.padStart(10)} ${what}`);
  return `${lines.join('\n')}\n`;
}

function listOf(text: string): readonly string[] {
  return text.split(',').filter((part) => part !== '' && part !== 'none');
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`"${text}" is no whole number`);
  return Number(text);
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  return 2;
});
