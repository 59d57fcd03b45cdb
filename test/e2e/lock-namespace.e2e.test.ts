import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import {
  coordinatorLease,
  createCandidate,
  createLease,
  createNamespaces,
  leasePath,
  microTime,
  readLease,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { installChartRoles } from './chart-roles.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { runProgram } from './program-run.ts';

const apiVersion = CUSTOM_API_VERSION;
const lock = { ...coordinatorLease, namespace: 'infra' };
const args = ['--lock-namespace', lock.namespace];

/** One sequence on one server: the gate is off, is turned on, and off again. */
describe('a lock in its own namespace', () => {
  let plane: ControlPlane;
  let kubeconfig: string;
  let coordinator: Coordinator;

  beforeAll(async () => {
    plane = await startControlPlane({ readyWithinMs: 120_000, coordinatedLeaderElection: false });
    await installCandidateResource(plane);
    await createNamespaces(plane, lock.namespace);
    // No object in kube-system.
    kubeconfig = await installChartRoles(plane, { config: { lockNamespace: lock.namespace } });
    coordinator = await startCoordinator(kubeconfig, args);
  });
  afterAll(async () => {
    await coordinator?.stop();
    await plane?.stop();
  });

  const holderOf = async (lease: { namespace: string; name: string }) =>
    (await readLease(plane, lease))?.spec.holderIdentity || undefined;
  const metric = async (name: string) =>
    new RegExp(`^${name} (\\d+)$`, 'm').exec((await coordinator.get('/metrics')).body)?.[1];

  test('is held, and leaders are elected, without permissions in kube-system', async () => {
    await untilActive(coordinator);
    expect(await holderOf(lock)).toMatch(/^coordinated-leader-election_/);
    expect(await readLease(plane, coordinatorLease)).toBeUndefined();
    await createCandidate(plane, { apiVersion, lease: 'web', name: 'web-1' });
    await eventually(() => holderOf({ namespace: 'default', name: 'web' }), 'web has a holder');
  });

  test('is found by doctor, which reports it if it looks in another namespace', async () => {
    const doctor = (...more: readonly string[]) =>
      runProgram(['doctor', '--kubeconfig', plane.kubeconfig, ...more], {});
    expect((await doctor(...args)).stdout).toMatch(/OK +CoordinatorLock\n +coordinated-leader-election_/);
    expect((await doctor()).stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /ERROR CoordinatorLock No coordinator holds the lock kube-system.* run doctor with --lock-namespace infra\./,
    );
  });

  test('is distinguished from that of another coordinator, which metrics count while it is renewed', async () => {
    expect(await metric('cle_other_locks_held')).toBe('0');
    const other = { ...coordinatorLease, namespace: 'default' };
    const holderIdentity = 'coordinated-leader-election_other_1';
    await createLease(plane, other, { holderIdentity, leaseDurationSeconds: 3, renewTime: microTime() });
    await eventually(async () => (await metric('cle_other_locks_held')) === '1' || undefined, 'it is seen');
    await eventually(async () => (await metric('cle_other_locks_held')) === '0' || undefined, 'it expires');
    await plane.request('DELETE', leasePath(other));
  });

  test('is released when the API server begins to serve native LeaseCandidates: only the built-in coordinator elects', async () => {
    await plane.restartApiServer({ coordinatedLeaderElection: true });
    await coordinator.waitForLog(({ msg }) => /^Nothing is elected: .* --lock-namespace/.test(msg), 60_000);
    await eventually(
      async () => (await readLease(plane, lock))?.spec.holderIdentity === '' || undefined,
      'the lock is let go',
      60_000,
    );
    await eventually(() => holderOf(coordinatorLease), 'the built-in has its lock', 60_000);
    const { status, body } = await coordinator.get('/readyz');
    expect(status).toBe(503);
    expect(body).toContain('[-]lock-namespace failed: the lock cannot be in namespace infra');
    expect(await metric('cle_lock_namespace_refused')).toBe('1');
    await eventually(async () => (await metric('cle_other_locks_held')) === '1' || undefined, 'it is seen');

    await createCandidate(plane, { apiVersion, lease: 'late', name: 'late-1' });
    await sleep(3000);
    expect(await holderOf({ namespace: 'default', name: 'late' })).toBeUndefined();
  });

  test('is then refused at the start', async () => {
    const { code, stderr } = await runProgram(
      ['run', '--kubeconfig', kubeconfig, '--listen', 'off', ...args],
      {},
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the lock cannot be in namespace infra: the API server serves LeaseCandidates as coordination\.k8s\.io\/v1beta1/,
    );
  });

  test('is taken again when they are not served any more', async () => {
    await plane.restartApiServer({ coordinatedLeaderElection: false });
    await eventually(() => holderOf(lock), 'the lock is taken again', 90_000);
    await createCandidate(plane, { apiVersion, lease: 'last', name: 'last-1' });
    await eventually(() => holderOf({ namespace: 'default', name: 'last' }), 'last has a holder', 60_000);
    expect(await metric('cle_lock_namespace_refused')).toBe('0');
  });
});
