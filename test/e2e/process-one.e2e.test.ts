import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readLease } from '../control-plane/cluster-objects.ts';
import { eventually } from './coordinator.ts';
import { startGatelessServe } from './gateless-cluster.ts';

/** Leaves two child processes: one exits soon, so that only process 1 can reap it, and the other ignores signals. */
const SCRIPT = `
/bin/sh -c '/bin/true & exit 0'
/bin/sh -c 'trap "" TERM; while :; do sleep 0.1; done' &
trap 'exit 5' TERM
echo up > "$0"
while :; do sleep 0.05; done`;

const main = new URL('../../src/main.ts', import.meta.url).pathname;

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

const stateOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .charAt(0);

test('as process 1 of a container, the wrapper ends its command at SIGTERM, and the command’s remaining processes', {
  timeout: 120_000,
}, async (context) => {
  const { plane } = await startGatelessServe(context);
  const up = join(plane.directory, 'up');
  const container = spawn(
    'unshare',
    [
      ...['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, main, 'participate', 'web'],
      ...['--kubeconfig', plane.kubeconfig, '--', '/bin/sh', '-c', SCRIPT, up],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  context.onTestFinished(() => void container.kill('SIGKILL'));
  let log = '';
  container.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(container, 'exit');
  await eventually(() => existsSync(up) || undefined, `the command is up: ${log}`);
  const [first = 0] = childrenOf(container.pid ?? 0);

  // Node reaps only its own children: the other one is a zombie, which blocks nothing.
  await eventually(
    () => childrenOf(first).some((pid) => stateOf(pid) === 'Z') || undefined,
    'a zombie, without which this test shows nothing',
  );
  process.kill(first, 'SIGTERM');
  expect(await ended).toEqual([5, null]);
  expect((await readLease(plane, { namespace: 'default', name: 'web' }))?.spec.holderIdentity).toBe('');
  expect(log).toContain('Released the Lease');
  const left = readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(up);
    } catch {
      return false;
    }
  });
  expect(left).toEqual([]);
});

/** Sends itself SIGTERM when it begins to load the command-line parser, which takes most of its start. */
const EARLY_SIGNAL = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    if (url.endsWith('/cli/program.ts')) process.kill(process.pid, 'SIGTERM');
    return next(url, context);
  },
});
`)}`;

const NOBODY_THERE = JSON.stringify({
  clusters: [{ name: 'away', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'nobody', user: {} }],
  contexts: [{ name: 'away', context: { cluster: 'away', user: 'nobody' } }],
  'current-context': 'away',
});

test.each([
  { command: 'participate', args: ['web', '--', 'sleep', '60'] },
  { command: 'run', args: ['--listen', 'off'] },
])(
  'as process 1 of a container, $command is ended by a signal that arrives during its start',
  async ({ command, args }) => {
    const folder = await mkdtemp(join(tmpdir(), 'process-one-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, NOBODY_THERE);
    const container = spawn(
      'unshare',
      [
        ...['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, '--import', EARLY_SIGNAL],
        ...[main, command, '--kubeconfig', kubeconfig, ...args],
      ],
      { stdio: 'ignore' },
    );
    onTestFinished(() => void container.kill('SIGKILL'));
    const [code] = await once(container, 'exit', { signal: AbortSignal.timeout(30_000) });
    // Either a signal ends the process, or its command stops on request, whichever is first.
    expect([0, 143]).toContain(code);
  },
);
