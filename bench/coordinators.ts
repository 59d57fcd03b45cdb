// Compares this coordinator with the best possible one and with the one built into kube-apiserver: `npm run bench`,
// half an hour. `-- --quick`, under five minutes, fails if a ratio misses its target by more than half.
// CLE_WRITE_FIGURES=1 writes the table and its plots into docs/.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchTable, describe } from '../test/e2e/figures/bench/bench-table.ts';
import { contestants } from '../test/e2e/figures/bench/contestant.ts';
import type { Measure } from '../test/e2e/figures/bench/measures.ts';
import { refusals } from '../test/e2e/figures/bench/own-load.ts';
import { plotsOf, writePlots } from '../test/e2e/figures/bench/plots.ts';
import { isBusyByNature, runBench, type Size, scenarios } from '../test/e2e/figures/bench/run.ts';
import { shortfalls, targetTable } from '../test/e2e/figures/bench/targets.ts';
import { distributionOf } from '../test/e2e/figures/statistics.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Numbers of Leases, like 20,300. */
    sizes: { type: 'string' },
    rounds: { type: 'string' },
    /** Scenarios, like first,release; the first elections always run. */
    only: { type: 'string' },
    /** Contestants, like "this controller,the limit". */
    contestants: { type: 'string' },
    /** A file for all measurements. */
    json: { type: 'string' },
    /** A directory for drawings of it. */
    plots: { type: 'string' },
    /** A directory for CPU profiles of this controller. */
    profile: { type: 'string' },
  },
});

const full: readonly Size[] = [
  { leases: 20, rounds: 2 },
  { leases: 300, rounds: 3 },
  { leases: 1000, rounds: 1 },
  { leases: 10_000, rounds: 1 },
];
const quick: readonly Size[] = [
  { leases: 20, rounds: 1 },
  { leases: 300, rounds: 1 },
];

/** The built-in coordinator is slow, and that is known. */
const quickContestants = ['this controller', 'the limit'] as const;
const quickScenarios = scenarios.filter((scenario) => scenario !== 'stale');

/** The members of `all` in a list like `a,b`; `standard` without a list. */
function chosen<T extends string>(
  option: string,
  list: string | undefined,
  all: readonly T[],
  standard: readonly T[],
): readonly T[] {
  const names: readonly string[] = list?.split(',') ?? standard;
  const unknown = names.find((name) => !(all as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Error(`--${option}: "${unknown}" is none of ${all.join(', ')}`);
  return all.filter((name) => names.includes(name));
}

function positive(option: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${option}: "${text}" is no number from 1 on`);
  return Number(text);
}

const isToWrite = process.env['CLE_WRITE_FIGURES'] === '1';
const isPart = ['quick', 'sizes', 'rounds', 'only', 'contestants', 'profile'].some((option) =>
  process.argv.some((argument) => argument.split('=')[0] === `--${option}`),
);
if (isToWrite && isPart) throw new Error('figures are written into docs/ of a whole run, or not at all');

const standard = values.quick ? quick : full;
const sizes: readonly Size[] = (
  values.sizes?.split(',').map((text) => {
    const leases = positive('sizes', text);
    return standard.find((size) => size.leases === leases) ?? { leases, rounds: 1 };
  }) ?? standard
).map(({ leases, rounds }) => ({
  leases,
  rounds: values.rounds === undefined ? rounds : positive('rounds', values.rounds),
}));
const scale = {
  sizes,
  contestants: chosen(
    'contestants',
    values.contestants,
    contestants,
    values.quick ? quickContestants : contestants,
  ),
  scenarios: chosen('only', values.only, scenarios, values.quick ? quickScenarios : scenarios),
  seconds: values.quick ? { steady: 15, rest: 10 } : { steady: 60, rest: 20 },
  // client-go renews a Lease of 15 s every 2 s.
  pace: values.quick
    ? { renewEveryMs: 3_000, leaseDurationSeconds: 10 }
    : { renewEveryMs: 4_000, leaseDurationSeconds: 15 },
  profileTo: values.profile,
};
if (values.profile !== undefined) await mkdir(values.profile, { recursive: true });

const startedAt = performance.now();
const say = (text: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${text}\n`);

const played = await runBench(scale, {
  begun: say,
  // Also printed at once: the whole measurement takes minutes.
  done(_, __, measured) {
    for (const [measure, waits] of Object.entries(measured) as [Measure, readonly number[]][]) {
      if (waits.length === 0) continue;
      const { p50, p99, max } = distributionOf(waits);
      const texts = (waits.length > 1 ? [p50, p99, max] : [p50]).map((value) => describe(measure, value));
      say(`   ${measure}: ${texts.join(', ')}`);
    }
  },
});
if (values.json !== undefined)
  await writeFile(values.json, `${JSON.stringify({ scale, played }, undefined, 2)}\n`);

const reasons = played.map(({ title, load }) => refusals({ [title]: load }, isBusyByNature));
const samples = played.flatMap((each, index) => (reasons[index]?.length === 0 ? each.samples : []));
const refused = reasons.flat();
// In a short run, which judges the program, that is no failure: other load of the machine says nothing about the
// program.
if (refused.length > 0) {
  say(`left out, as the measuring itself may have been measured:\n${refused.join('\n')}`);
  if (!values.quick) process.exitCode = 1;
}
process.stdout.write(`${benchTable(samples)}\n\n${targetTable(samples)}\n`);

const plots = plotsOf(samples);
if (values.plots !== undefined) await writePlots(values.plots, plots);
if (isToWrite) {
  await writePlots(fileURLToPath(new URL('../docs/images', import.meta.url)), plots);
  const drawings = [...plots].map(([file, { title }]) => `![${title}](images/${file})`);
  await writeTable('targets', [targetTable(samples), ...drawings, benchTable(samples)].join('\n\n'));
}
if (values.quick) {
  const behind = shortfalls(samples);
  if (behind.length > 0) {
    say(`behind a target by more than half:\n${behind.join('\n')}`);
    process.exitCode = 1;
  }
}
