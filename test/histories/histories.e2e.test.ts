import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Flaw, startBrokenProxy } from './broken-proxy.ts';
import { buildChecker } from './checker.ts';
import { type HistoriesOptions, runHistories } from './histories-run.ts';

/** A random seed; HISTORIES_SEED repeats a run as far as the machine allows. */
const SEED = Number(process.env['HISTORIES_SEED'] ?? Date.now() % 1_000_000);

let directory: string;
let checker: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'histories-'));
  checker = await buildChecker(directory);
});

async function run(options: Partial<HistoriesOptions> & Pick<HistoriesOptions, 'seconds' | 'signal'>) {
  return runHistories({
    seed: SEED,
    secondsBetweenKills: 0,
    checker,
    directory: await mkdtemp(join(directory, 'run-')),
    say: (line) => console.info(line),
    ...options,
  });
}

let isKept = false;
afterAll(async () => {
  if (!isKept) await rm(directory, { recursive: true });
});

test('objects are linearizable and watches complete, although the server is killed repeatedly', async ({
  annotate,
  signal,
}) => {
  const { problems, summary } = await run({ seconds: 15, secondsBetweenKills: 3, signal });
  await annotate(summary);
  isKept = problems.length > 0;
  expect(problems, `${summary}, recorded in ${directory}`).toEqual([]);
  expect(summary).toMatch(/[1-9]\d* kills/);
});

describe('the checker notices', () => {
  test('a server that loses acknowledged writes when it is killed', async ({ signal }) => {
    const { problems } = await run({ seconds: 4, secondsBetweenKills: 2, keepsData: false, signal });
    expect(problems.join('\n')).toMatch(/^not linearizable: .*drawn in /m);
    const [, picture = ''] = /drawn in (\S+);/.exec(problems.join('\n')) ?? [];
    await access(picture);
  });

  test.for<[Flaw, RegExp]>([
    ['staleRead', /^not linearizable/m],
    ['lostEvent', /^a lost event/m],
    ['duplicateEvent', /^an event twice/m],
  ])('%s', async ([flaw, problem], { signal }) => {
    const proxies: { close(): void }[] = [];
    const between = async (url: string) => {
      const proxy = await startBrokenProxy(url, flaw);
      proxies.push(proxy);
      return proxy.url;
    };
    const { problems } = await run({ seconds: 3, between, signal });
    for (const each of proxies) each.close();
    expect(problems.join('\n')).toMatch(problem);
  });
});
