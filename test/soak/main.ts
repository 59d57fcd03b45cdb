// Runs a soak on real servers: `npm run soak -- [--minutes 30] [--leases 500] [--candidates 5] [--seed N]`.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Judgement, runAsProcess } from '../support/judged-run.ts';
import { runSoak } from './soak-run.ts';

const usage = `usage: soak [--minutes N] [--leases N] [--candidates N] [--seed N] [--coordinator PATH]
  --minutes N         for how long programs come and go; default 30
  --leases N          default 500
  --candidates N      for each Lease; default 5
  --seed N            what happens to whom follows from it; default: drawn
  --coordinator PATH  another build of the coordinator: its main.js or main.ts`;

async function main(signal: AbortSignal): Promise<Judgement | undefined> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      leases: { type: 'string', default: '500' },
      candidates: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      coordinator: { type: 'string', default: new URL('../../src/main.ts', import.meta.url).pathname },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return undefined;
  }
  const [minutes, leases, candidates, seed] = [
    values.minutes,
    values.leases,
    values.candidates,
    values.seed,
  ].map(Number) as [number, number, number, number];
  if (!(minutes > 0) || ![leases, candidates].every((count) => Number.isInteger(count) && count > 0))
    throw new Error(`--minutes, --leases and --candidates are positive numbers\n${usage}`);
  if (!Number.isInteger(seed)) throw new Error(`--seed is a whole number\n${usage}`);
  const directory = await mkdtemp(join(tmpdir(), 'soak-'));
  console.log(`everything is recorded in ${directory}`);
  return runSoak({
    minutes,
    leases,
    candidates,
    seed,
    main: resolve(values.coordinator),
    directory,
    say: (line) => console.log(line),
    signal,
  });
}

await runAsProcess(main);
