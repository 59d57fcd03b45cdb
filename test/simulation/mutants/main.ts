import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { firstFailure } from '../seed-workers.ts';
import type { Mutant } from './mutant.ts';
import { MUTANTS, MUTANTS_OF } from './mutants.ts';

const USAGE = `Breaks the program by hand, in one way after the other, and counts the seeds until the simulation notices.

  npm run simulate -- mutants [--only NAME,...] [--most SEEDS]
    Prints tables in Markdown; docs/contributing/attacks.md has the last ones. Fails when a mutant survives SEEDS seeds (2000).
`;

interface Catch {
  readonly seed: number;
  readonly problem: string;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      most: { type: 'string', default: '2000' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const only = values.only?.split(',');
  const chosen = MUTANTS.filter(({ name }) => !only || only.includes(name));
  if (chosen.length === 0) throw new Error(`there is no mutant "${values.only}"`);
  let survivors = 0;
  for (const [who, mutants] of Object.entries(MUTANTS_OF)) {
    const of = mutants.filter((mutant) => chosen.includes(mutant));
    if (of.length > 0) process.stdout.write(`| ${who} ... | seeds | first noticed as |\n|---|---|---|\n`);
    for (const mutant of of) {
      const caught = await hunt(mutant, Number(values.most));
      if (!caught) survivors++;
      process.stdout.write(
        `| ${mutant.what} (${mutant.name}) | ${caught?.seed ?? '-'} | ${caught?.problem ?? 'SURVIVES'} |\n`,
      );
    }
  }
  process.stderr.write(`${chosen.length - survivors} of ${chosen.length} mutants caught\n`);
  return survivors > 0 ? 1 : 0;
}

async function hunt({ name }: Mutant, most: number): Promise<Catch | undefined> {
  const hook = new URL('./mutate.ts', import.meta.url).href;
  const failure = await firstFailure(most, {
    workers: availableParallelism(),
    execArgv: ['--import', hook],
    env: { ...process.env, CLE_MUTANT: name },
  });
  if (!failure) return undefined;
  const [problem = ''] = failure.problems;
  return { seed: failure.seed, problem: problem.replaceAll('|', '\\|').slice(0, 120) };
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  return 2;
});
