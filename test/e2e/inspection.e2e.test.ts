import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNamespaces } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import {
  type WatchedCandidate,
  type WatchedObjects,
  watchCandidates,
} from '../control-plane/watched-objects.ts';
import { runProgram } from './program-run.ts';

const NAMESPACE = 'looked-at';

let plane: ControlPlane;
let candidates: WatchedObjects<WatchedCandidate>;
let plugin: string;

beforeAll(async () => {
  plugin = await mkdtemp(join(tmpdir(), 'kubectl-plugin-'));
  await symlink(new URL('../../src/main.ts', import.meta.url).pathname, join(plugin, 'kubectl-cle'));
  plane = await startControlPlane();
  await createNamespaces(plane, NAMESPACE);
  candidates = await watchCandidates(plane);
  // Real ones: a holder that does not renew is something to tell of, sooner or later.
  const electors = await plane.startElectors();
  for (const [name, minor] of [
    ['web-old', 35],
    ['web-new', 36],
  ] as const) {
    const emulationVersion = `1.${minor}.0`;
    await electors.start({ id: name, namespace: NAMESPACE, lease: 'web', emulationVersion });
    await electors.waitFor({ id: name, event: name === 'web-old' ? 'startedLeading' : 'candidateCreated' });
  }
});

afterAll(async () => {
  candidates?.stop();
  await plane?.stop();
  await rm(plugin, { recursive: true, force: true });
});

function look(...args: string[]) {
  return runProgram([...args, '--kubeconfig', plane.kubeconfig], {});
}

describe('the commands that look, on a real control plane with its built-in coordinator', () => {
  test('show the Lease and its holder', async () => {
    const { code, stdout, stderr } = await look('status', '-A');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^NAMESPACE +NAME +HOLDER/);
    expect(stdout).toMatch(/\nlooked-at +web +web-old.* OldestEmulationVersion +2 /);
    expect(stdout).not.toContain('leader-election-controller');
  });

  test('explain why it leads, and who would be next', async () => {
    const { code, stdout } = await look('explain', 'web', '-n', NAMESPACE);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Coordinator: +the one built into kube-apiserver/);
    expect(stdout).toMatch(/web-old .*the best candidate\n +web-new .*its emulationVersion is higher/);
    expect(stdout).toMatch(/The Lease names OldestEmulationVersion, written by .+\./);
  });

  test('plan without changing anything', async () => {
    const uid = () => candidates.current(NAMESPACE, 'web-old')?.metadata.uid;
    const before = uid();
    const { code, stdout } = await look('plan', 'web', '-n', NAMESPACE, '--remove', 'web-old', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ holder: 'web-new', reason: 'LeaderOptimal', isSettled: true });
    expect(before).toBeDefined();
    expect(uid()).toBe(before);
  });

  test('examine the cluster', async () => {
    const { code, stdout } = await look('doctor', '-o', 'json');
    const findings: { check: string; severity: string; what: string }[] = JSON.parse(stdout).findings;
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([]);
    expect(code).toBe(0);
    expect(findings.find(({ check }) => check === 'FeatureGate')?.what).toBe(
      'Leases keep strategy and preferredHolder.',
    );
    expect(findings.find(({ check }) => check === 'CoordinatorLock')?.what).toContain(
      'built into kube-apiserver',
    );
  });

  test('work as a plugin of kubectl', async () => {
    const run = promisify(execFile);
    const main = join(plugin, 'kubectl-cle');
    const { stdout: help } = await run(process.execPath, [main]);
    expect(help).toMatch(/^Usage: kubectl cle /);
    const { stdout } = await run(process.execPath, [main, 'status', '-A', '--kubeconfig', plane.kubeconfig]);
    expect(stdout).toContain('web-old');
  });
});
