// The cost of an event without a change, `npm run bench -- events`: a coordinator's CPU time for each renewal of a
// Lease and of a candidate, from the socket to the records, compared with the minimum for reading and parsing.
// Includes all work of the processes, such as garbage collection. Needs the /proc of Linux. `-- --profile DIRECTORY`
// writes a profile of the coordinator, `-- --main FILE` measures another one than src/main.ts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { generateCertificate } from '../src/apiserver/access/certificates.ts';
import { kubeconfigText } from '../src/apiserver/access/client-credentials.ts';
import { systemClock } from '../src/support/system-clock.ts';
import { startCommanded } from '../test/e2e/figures/commanded-process.ts';
import type { Command, Scale } from './events-objects.ts';

const { values } = parseArgs({
  options: {
    leases: { type: 'string', default: '1000' },
    candidates: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '20' },
    profile: { type: 'string' },
    main: { type: 'string', default: new URL('../src/main.ts', import.meta.url).pathname },
  },
});
const scale: Scale = { leases: Number(values.leases), candidates: Number(values.candidates) };
const durationMs = Number(values.seconds) * 1000;
/** First until V8 has compiled the code in use. */
const WARM_UP_MS = 10_000;

const cases = [
  { resource: 'leases', perSecond: 500 },
  { resource: 'leases', perSecond: 5000 },
  { resource: 'leasecandidates', perSecond: 500 },
  { resource: 'leasecandidates', perSecond: 5000 },
] as const;

const directory = await mkdtemp(join(tmpdir(), 'bench-events-'));
const { ca, cert, key } = await generateCertificate([], systemClock);
const server = startCommanded<Command>(new URL('./events-server.ts', import.meta.url), {
  ...scale,
  cert,
  key,
});
const url = `https://127.0.0.1:${await server.send({ op: 'listen' })}`;
const kubeconfig = join(directory, 'kubeconfig');
await writeFile(kubeconfig, kubeconfigText({ server: url, ca, token: 'bench' }));

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Resolves when it has printed each of `words`. */
async function until({ stdout }: ChildProcess, ...words: readonly string[]): Promise<void> {
  let printed = '';
  stdout?.on('data', (data) => {
    printed += data;
  });
  while (!words.every((word) => printed.includes(word))) await sleep(50);
}

/** The CPU time of all threads so far, in microseconds. */
async function cpuMicros({ pid }: ChildProcess): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(
    tasks.map(async (task) => {
      const stat = await readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0');
      return Number(stat.split(' ')[0]) / 1000;
    }),
  );
  return times.reduce((sum, micros) => sum + micros, 0);
}

const profiling = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile];
const coordinator = start([
  ...profiling,
  values.main,
  ...['run', '--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0'],
]);
const reader = start([new URL('./events-reader.ts', import.meta.url).pathname, JSON.stringify({ url, ca })]);
await Promise.all([until(coordinator, '"active"', 'Watching LeaseCandidates'), until(reader, 'Reading')]);

/** Of both, per event, in microseconds; includes their cost without events. */
async function measure(asked: Omit<Extract<Command, { op: 'renew' }>, 'op'>) {
  const both = () => Promise.all([coordinator, reader].map(cpuMicros));
  const before = await both();
  const events = await server.send({ op: 'renew', ...asked });
  await sleep(100);
  const after = await both();
  const [ours = 0, least = 0] = after.map((micros, index) => (micros - (before[index] ?? 0)) / events);
  return { ours, least };
}

for (const resource of ['leases', 'leasecandidates'] as const)
  await measure({ resource, perSecond: 5000, durationMs: WARM_UP_MS / 2 });
process.stdout.write(
  '| renewals of | a second | µs each | reading and parsing alone | ratio |\n|---|---|---|---|---|\n',
);
for (const { resource, perSecond } of cases) {
  const { ours, least } = await measure({ resource, perSecond, durationMs });
  process.stdout.write(
    `| ${resource} | ${perSecond} | ${ours.toFixed(1)} | ${least.toFixed(1)} | ${(ours / least).toFixed(2)} |\n`,
  );
}
coordinator.kill('SIGTERM');
await once(coordinator, 'exit');
reader.kill();
await server.kill();
await rm(directory, { recursive: true });
process.exit(0);
