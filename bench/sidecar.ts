// The cost of a sidecar, compared with a program that uses client-go's candidate and elector: `npm run bench --
// sidecar`. Both run as in a pod, and lead their own Lease. Needs Linux, and root for a mount namespace.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { binary } from '../test/control-plane/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { watchCandidates } from '../test/control-plane/watched-objects.ts';
import { type ProcessMemory, readMemory } from '../test/e2e/figures/process-usage.ts';
import { describeMs } from '../test/e2e/figures/table.ts';
import { writeTable } from '../test/e2e/figures/written-figures.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    /** How long each rests before its memory is read, in seconds. */
    rest: { type: 'string', default: '20' },
    json: { type: 'string' },
  },
});
const rounds = Number(values.rounds);

interface Sample extends ProcessMemory {
  /** From the start of the process until its LeaseCandidate exists, in milliseconds. */
  readonly startMs: number;
}

interface Program {
  readonly title: string;
  /** Of the program with this name, which leads the Lease with this name. */
  readonly command: (name: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly samples: Sample[];
}

// The path at which a kubelet mounts a service account. The program replaces the shell.
const script = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io
ln -s "$1" /run/secrets/kubernetes.io/serviceaccount
shift
exec "$@"`;

async function serviceAccount({ directory, caFile, adminToken }: ControlPlane): Promise<string> {
  const folder = join(directory, 'service-account');
  await mkdir(folder, { recursive: true });
  await copyFile(caFile, join(folder, 'ca.crt'));
  await writeFile(join(folder, 'token'), adminToken, { mode: 0o600 });
  await writeFile(join(folder, 'namespace'), 'default');
  return folder;
}

const plane = await startControlPlane();
const candidates = await watchCandidates(plane);
const account = await serviceAccount(plane);
const { hostname: KUBERNETES_SERVICE_HOST, port: KUBERNETES_SERVICE_PORT } = new URL(plane.url);
const inPod = { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT };
const main = new URL('../dist/main.js', import.meta.url).pathname;

const sidecar = (name: string) => [
  ...[process.execPath, main, 'participate', name, '--binary-version', '1.4.2'],
  ...['--identity', name, '--listen', '127.0.0.1:0'],
];
const goProgram = await binary('candidate');

/** In their order of starts in each round. */
const programs: readonly Program[] = [
  { title: 'sidecar', command: sidecar, env: {}, samples: [] },
  {
    title: 'sidecar, --max-semi-space-size=1',
    command: sidecar,
    env: { NODE_OPTIONS: '--max-semi-space-size=1' },
    samples: [],
  },
  {
    title: 'sidecar, --max-semi-space-size=1 --jitless',
    command: sidecar,
    env: { NODE_OPTIONS: '--max-semi-space-size=1 --jitless' },
    samples: [],
  },
  {
    title: 'client-go',
    command: (name) => [
      ...[goProgram, '--kubeconfig', plane.kubeconfig, '--lease', name, '--name', name],
      ...['--binary-version', '1.4.2', '--emulation-version', '1.4.2'],
    ],
    env: {},
    samples: [],
  },
];

interface Running {
  readonly child: ChildProcess;
  readonly startMs: number;
}

async function start(
  command: readonly string[],
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  const startedAt = Date.now();
  const args = ['--mount', '--propagation=private', 'sh', '-c', script, 'container', account, ...command];
  const child = spawn('unshare', args, {
    env: { ...inPod, ...env, PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // A failed run must leave no process behind.
  process.once('exit', () => child.kill('SIGKILL'));
  const { wallMs } = await candidates.waitFor('default', name, () => true);
  return { child, startMs: wallMs - startedAt };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

try {
  for (let round = 0; round < rounds; round += 1) {
    const running: (Running & { readonly samples: Sample[] })[] = [];
    // One after the other, so that none starts slower because of another.
    for (const [index, { command, env, samples }] of programs.entries()) {
      const name = `program-${index}-${round}`;
      running.push({ samples, ...(await start(command(name), name, env)) });
    }
    await sleep(Number(values.rest) * 1000);
    for (const { child, startMs, samples } of running)
      samples.push({ startMs, ...(await readMemory(child.pid ?? -1)) });
    await Promise.all(running.map(({ child }) => stop(child)));
    process.stderr.write(`${JSON.stringify(programs.map(({ samples }) => samples.at(-1)))}\n`);
  }
} finally {
  candidates.stop();
  await plane.stop();
}

if (values.json !== undefined) {
  const measured = programs.map(({ title, samples }) => ({ title, samples }));
  await writeFile(values.json, `${JSON.stringify({ command: 'sidecar', measured }, undefined, 2)}\n`);
}

function spread(
  samples: readonly Sample[],
  of: (sample: Sample) => number,
  text: (value: number) => string,
): string {
  const sorted = samples.map(of).sort((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  return [sorted[0], middle, sorted.at(-1)].map((value) => text(value ?? Number.NaN)).join(' / ');
}

const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
const rows: readonly (readonly [string, (samples: readonly Sample[]) => string])[] = [
  [
    'from the start of the process to its LeaseCandidate',
    (all) => spread(all, ({ startMs }) => startMs, describeMs),
  ],
  ['memory at rest (RSS)', (all) => spread(all, ({ rss }) => rss, mebibytes)],
  ['... of that its own (anonymous)', (all) => spread(all, ({ anonymous }) => anonymous, mebibytes)],
];
const header = ['', ...programs.map(({ title }) => title)];
const lines = rows.map(([what, cell]) => [what, ...programs.map(({ samples }) => cell(samples))]);
const table = [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
process.stdout.write(`${table.join('\n')}\n`);
if (process.env['CLE_WRITE_FIGURES'] === '1') await writeTable('sidecar', table.join('\n'));
