// Runs chaos on real servers: `npm run chaos -- [--minutes 15] [--seed N]`.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Judgement, runAsProcess } from '../support/judged-run.ts';
import { judge, runChaos } from './chaos-run.ts';

const usage = `usage: chaos [--minutes N] [--seed N] [--coordinator PATH]
       chaos --check DIRECTORY
  --minutes N         how long faults strike; default 15
  --seed N            what the plan of faults follows from; default: drawn
  --coordinator PATH  another build of the coordinator: its main.js or main.ts
  --check DIRECTORY   judges the record of a run again`;

const settingsName = 'settings.json';

async function main(signal: AbortSignal): Promise<Judgement | undefined> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '15' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      coordinator: { type: 'string' },
      check: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return undefined;
  }
  if (values.check !== undefined) {
    const settings = JSON.parse(await readFile(join(values.check, settingsName), 'utf8')) as {
      minutes: number;
    };
    return judge(values.check, settings.minutes);
  }
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0) || !Number.isInteger(seed))
    throw new Error(`--minutes and --seed are numbers\n${usage}`);
  const directory = await mkdtemp(join(tmpdir(), 'chaos-'));
  await writeFile(join(directory, settingsName), `${JSON.stringify({ minutes, seed })}\n`);
  console.log(`everything is recorded in ${directory}`);
  return runChaos({
    minutes,
    seed,
    directory,
    ...(values.coordinator === undefined ? {} : { coordinatorMain: values.coordinator }),
    say: (line) => console.log(line),
    signal,
  });
}

await runAsProcess(main);
