import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { candidatesPath } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from './coordinator.ts';
import { LEASE_MS, OperatorReplicas, type Replica } from './operator-replicas.ts';
import { runProgram } from './program-run.ts';

interface Cluster {
  readonly plane: ControlPlane;
  readonly isGateOn: boolean;
  coordinate(): Promise<Coordinator>;
  /** Runs a command of the program. */
  command(...args: readonly string[]): Promise<void>;
}

async function startCluster(isGateOn: boolean, { onTestFinished }: TestContext): Promise<Cluster> {
  const plane = await startControlPlane({ coordinatedLeaderElection: isGateOn, readyWithinMs: 120_000 });
  onTestFinished(() => plane.stop());
  if (!isGateOn) await installCandidateResource(plane);
  await plane.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
    metadata: { name: 'default' },
  });
  const kubeconfig = await installRole(plane);
  return {
    plane,
    isGateOn,
    async coordinate() {
      const coordinator = await startCoordinator(kubeconfig);
      onTestFinished(() => coordinator.kill());
      await untilActive(coordinator, 90_000);
      return coordinator;
    },
    async command(...args) {
      const { code, stdout, stderr } = await runProgram(
        [...args, '--kubeconfig', plane.kubeconfig],
        {},
        90_000,
      );
      expect(code, stdout + stderr).toBe(0);
    },
  };
}

/** Former replicas know nothing of coordination. They use the same Lease. */
async function migrate({ isGateOn }: Cluster, operators: OperatorReplicas): Promise<readonly Replica[]> {
  const a = await operators.start('a', { kind: 'former' });
  await operators.untilLedBy(a);
  const b = await operators.start('b', { kind: 'former' });
  const c = await operators.start('c', { kind: 'new' });
  // The coordinator fences a leader that does not make way: this takes 10 s, and then the Lease's duration.
  if (isGateOn) {
    await sleep(2 * LEASE_MS);
    expect(operators).toMatchObject({ leader: a.name, terms: 1, restarts: 0 });
  } else {
    await operators.untilLedBy(c);
    await a.started(2);
    expect(operators).toMatchObject({ terms: 2, restarts: 1 });
  }
  await a.stop();
  const d = await operators.start('d', { kind: 'new' });
  await b.stop();
  await operators.untilLedBy(c, d);
  return [c, d];
}

/** No coordinator is needed: the coordinator may be away. */
async function goBack(
  { plane, isGateOn }: Cluster,
  operators: OperatorReplicas,
  current: readonly Replica[],
) {
  const { terms } = operators;
  const former = [
    await operators.start('e', { kind: 'former' }),
    await operators.start('f', { kind: 'former' }),
  ];
  await sleep(LEASE_MS);
  expect(operators.terms, 'a former replica has taken the Lease of a leader').toBe(terms);
  for (const replica of current) await replica.stop();
  await operators.untilLedBy(...former);
  expect(operators.terms).toBe(terms + 1);
  const candidates = await plane.request<{ items: { spec: { leaseName: string } }[] }>(
    'GET',
    candidatesPath(isGateOn ? {} : { apiVersion: CUSTOM_API_VERSION }),
  );
  expect(candidates.items.filter(({ spec }) => spec.leaseName === operators.lease)).toEqual([]);
}

/** The lead moves by each command, and to a higher priority. A replica that makes way is a candidate again. */
async function move({ command }: Cluster, operators: OperatorReplicas): Promise<readonly Replica[]> {
  const a = await operators.start('a', { kind: 'new', node: 'worker-1' });
  await operators.untilLedBy(a);
  const b = await operators.start('b', { kind: 'new', node: 'worker-2' });
  await command('transfer', operators.lease, '--to', b.name);
  await operators.untilLedBy(b);
  await a.started(2);
  await command('drain', '--node', 'worker-2');
  await operators.untilLedBy(a);
  await b.started(2);
  const c = await operators.start('c', { kind: 'new', priority: 1, node: 'worker-3' });
  await operators.untilLedBy(c);
  await a.started(3);
  expect(operators).toMatchObject({ terms: 4, restarts: 3 });
  return [a, b, c];
}

/** The leader works on without a coordinator. A Lease that it releases stays vacant. */
async function stopLeader(
  operators: OperatorReplicas,
  replicas: readonly Replica[],
): Promise<readonly Replica[]> {
  const { leader, terms } = operators;
  await sleep(2 * LEASE_MS);
  expect(operators).toMatchObject({ leader, terms });
  await replicas.find(({ name }) => name === leader)?.stop();
  await sleep(LEASE_MS);
  expect(operators).toMatchObject({ leader: undefined, terms });
  return replicas.filter(({ name }) => name !== leader);
}

describe.concurrent('operators in Go on a kube-apiserver (rule 15)', { timeout: 300_000 }, () => {
  test.for([
    { gate: 'on', isGateOn: true },
    { gate: 'off', isGateOn: false },
  ])('move, and migrate to and fro, with the feature gate $gate', async ({ isGateOn }, context) => {
    const cluster = await startCluster(isGateOn, context);
    const coordinator = await cluster.coordinate();
    const [migrated, moved] = ['migrated', 'moved'].map(
      (lease) => new OperatorReplicas(cluster.plane, lease, context),
    );
    if (!migrated || !moved) throw new Error('two Leases make two operators');
    const [current, replicas] = await Promise.all([migrate(cluster, migrated), move(cluster, moved)]);

    await coordinator.stop();
    const [standbys] = await Promise.all([stopLeader(moved, replicas), goBack(cluster, migrated, current)]);
    await cluster.coordinate();
    await moved.untilLedBy(...standbys);
    expect([...migrated.violations(), ...moved.violations()]).toEqual([]);
  });
});
