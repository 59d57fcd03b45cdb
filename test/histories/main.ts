// Records histories of the embedded server: `npm run histories -- [--seconds 60] [--seed N]`.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Judgement, runAsProcess } from '../support/judged-run.ts';
import { buildChecker, checkHistory } from './checker.ts';
import { HISTORY_FILE, runHistories, summaryOf } from './histories-run.ts';

const usage = `usage: histories [--seconds N] [--seed N] [--kill-every N] [--clients N] [--pause N]
       histories --check DIRECTORY
  --seconds N        how long clients work; default 60
  --seed N           what clients, watchers and kills are chosen by; default: drawn
  --kill-every N     seconds between two kills of the server, on average; default 6, and 0 for none
  --clients N        default 8
  --pause N          milliseconds between two operations of a client, on average; default 15
  --check DIRECTORY  checks the record of a run again`;

async function main(signal: AbortSignal): Promise<Judgement | undefined> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      'kill-every': { type: 'string', default: '6' },
      clients: { type: 'string', default: '8' },
      pause: { type: 'string', default: '15' },
      check: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), 'histories-'));
  const checker = await buildChecker(directory);
  if (values.check !== undefined) {
    const verdict = await checkHistory(checker, join(values.check, HISTORY_FILE), values.check);
    return { problems: verdict.problems, summary: summaryOf(verdict) };
  }
  const [seconds, seed, secondsBetweenKills, clients, pauseMs] = [
    Number(values.seconds),
    Number(values.seed),
    Number(values['kill-every']),
    Number(values.clients),
    Number(values.pause),
  ];
  if (!(seconds > 0 && secondsBetweenKills >= 0 && clients > 0 && pauseMs >= 0) || !Number.isInteger(seed)) {
    throw new Error(`all values are numbers\n${usage}`);
  }
  console.log(`seed ${seed}; everything is recorded in ${directory}`);
  const say = (line: string) => console.log(line);
  return runHistories({
    seconds,
    seed,
    secondsBetweenKills,
    clients,
    pauseMs,
    checker,
    directory,
    say,
    signal,
  });
}

await runAsProcess(main);
