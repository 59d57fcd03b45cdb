import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createCandidate, createLease } from '../control-plane/cluster-objects.ts';
import { heldBy } from '../embedded/contested-lease.ts';
import { startEmbeddedCluster } from '../embedded/embedded-cluster.ts';

/** The exit code that a shell shows for SIGPIPE. */
const SIGPIPE_CODE = 141;

function startProgram(...args: readonly string[]) {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: {} });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const said = { err: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  return { stdout: child.stdout, said, ended: once(child, 'close').then(([code]): unknown => code) };
}

test('help exits quietly when its reader closes the pipe', async () => {
  const { stdout, said, ended } = startProgram('--help');
  stdout.destroy();
  expect(await ended).toBe(SIGPIPE_CODE);
  expect(said.err).toBe('');
});

test('a watch exits quietly at the first change after its reader has closed the pipe', async () => {
  const cluster = await startEmbeddedCluster();
  onTestFinished(() => cluster.stop());
  const directory = await mkdtemp(join(tmpdir(), 'broken-pipe-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeConfigOf('admin').exportConfig());
  const addLease = async (name: string) => {
    await createCandidate(cluster, { lease: name, name: `${name}-1` });
    await createLease(cluster, { namespace: 'default', name }, heldBy(`${name}-1`));
  };
  await addLease('one');

  const { stdout, said, ended } = startProgram('status', '-w', '--kubeconfig', kubeconfig);
  await once(stdout, 'data');
  stdout.destroy();
  await addLease('two');
  expect(await ended).toBe(SIGPIPE_CODE);
  expect(said.err).toBe('');
});
