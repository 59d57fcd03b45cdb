import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Job, jobs } from './jobs.ts';

const USAGE = `Looks at every course that small elections can take, with the functions that the controller and the participants use.

  npm run explore [-- SCENARIO...] [--full] [--most N] [--save] [--verbose]
    Explores the scenarios named; by default the beginning of each, with --full as much as fits into memory. --most N looks at no
    more than N states of each. Prints the shortest way to break a promise, and exits with 1 if there is one. --save writes it to
    test/explorer/transcripts/, from where a test replays it.
`;

/** Maximum number of states to explore per scenario: with scenario names or --full, and by default. */
const MAX_STATES = { full: 3_000_000, short: 40_000 };

const TRANSCRIPTS = `${import.meta.dirname}/transcripts`;

interface Options {
  readonly most: string;
  readonly save: boolean;
  readonly verbose: boolean;
}

/** Explores one scenario and prints the result. Returns whether all promises were kept. */
function run({ name, explore }: Job, { most, save, verbose }: Options): boolean {
  const onLevel = (depth: number, states: number, frontier: number) => {
    if (verbose) process.stderr.write(`${name}: depth ${depth}, ${states} states, ${frontier} of them new\n`);
  };
  const found = explore({ maxStates: Number(most), onLevel });
  process.stdout.write(`${summaryOf(name, found)}\n`);
  if (!found.violation) return true;
  const { text, transcript } = found.violation;
  process.stdout.write(`  ${text}:\n${transcript}\n`);
  if (save) {
    const heading = `${text}: ${found.states} states, depth ${found.depth}`;
    writeFileSync(`${TRANSCRIPTS}/${name}.txt`, `${heading}\n\n${transcript}\n`);
  }
  return false;
}

function summaryOf(name: string, found: ReturnType<Job['explore']>): string {
  const { states, transitions, depth, ms, isWhole, violation } = found;
  const outcome = violation ? 'BROKEN' : isWhole ? 'all states' : 'not all states';
  return `${name.padEnd(28)} ${outcome.padEnd(15)} ${states} states, ${transitions} steps, depth ${depth}, ${(ms / 1000).toFixed(1)} s`;
}

function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      most: { type: 'string' },
      save: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => !jobs.some((job) => job.name === name));
  if (values.help || unknown.length > 0) {
    process.stdout.write(unknown.length > 0 ? `no scenario "${unknown.join('", "')}"\n\n${USAGE}` : USAGE);
    return values.help ? 0 : 2;
  }
  const chosen = jobs.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const isFull = values.full || positionals.length > 0;
  const most = values.most ?? String(isFull ? MAX_STATES.full : MAX_STATES.short);
  const kept = chosen.map((job) => run(job, { ...values, most }));
  return kept.every(Boolean) ? 0 : 1;
}

process.exitCode = main();
