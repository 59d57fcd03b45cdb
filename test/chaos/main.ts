// Chaos on real servers: `npm run chaos -- [--minutes 15] [--seed N]`.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Judgement, judge, runChaos } from './chaos-run.ts';

const usage = `usage: chaos [--minutes N] [--seed N] [--coordinator PATH]
       chaos --check DIRECTORY
  --minutes N         how long faults strike; default 15
  --seed N            what the plan of faults follows from; default: drawn
  --coordinator PATH  another build of the coordinator: its main.js or main.ts
  --check DIRECTORY   judges the record of a run again`;

const settingsName = 'settings.json';

async function main(): Promise<Judgement | undefined> {
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
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  return runChaos({
    minutes,
    seed,
    directory,
    ...(values.coordinator === undefined ? {} : { coordinatorMain: values.coordinator }),
    say: (line) => console.log(line),
    signal: stopping.signal,
  });
}

try {
  const judgement = await main();
  if (judgement) {
    console.log(`\n${judgement.summary}`);
    for (const problem of judgement.problems) console.error(`WRONG: ${problem}`);
    process.exitCode = judgement.problems.length > 0 ? 1 : 0;
  }
} catch (error) {
  const wasStopped = error instanceof Error && error.name === 'AbortError';
  console.error(wasStopped ? 'stopped' : error instanceof Error ? error.message : error);
  process.exitCode = wasStopped ? 130 : 1;
}
// Node does not close a connection whose reset has failed, and would wait for that for ever.
process.exit();
