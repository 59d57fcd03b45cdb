import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { sortedYaml } from '../chart/plain-manifests.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import {
  coordinatorAccount,
  coordinatorLease,
  createCandidate,
  createNamespaces,
  readLease,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { startHelm } from './helm.ts';
import { kubectlFor } from './kubectl.ts';

/** A shard as docs/concepts/scale.md says: a release of its own, for namespaces of its own, with a lock in one that nobody watches. */
const SHARDS = ['a', 'b'].map((letter) => ({
  release: `shard-${letter}`,
  namespace: `team-${letter}`,
  lockNamespace: `lock-${letter}`,
}));
type ShardOfRelease = (typeof SHARDS)[number];

describe('two releases with namespaces and a lock of their own', () => {
  let plane: ControlPlane;
  const coordinators: Coordinator[] = [];

  beforeAll(async () => {
    plane = await startControlPlane({ readyWithinMs: 120_000, coordinatedLeaderElection: false });
    await installCandidateResource(plane);
    await createNamespaces(
      plane,
      ...SHARDS.flatMap(({ namespace, lockNamespace }) => [namespace, lockNamespace]),
    );
    await installChartRoles();
    for (const shard of SHARDS) coordinators.push(await startReplica(shard));
  });
  afterAll(async () => {
    await Promise.all(coordinators.map((coordinator) => coordinator.stop()));
    await plane?.stop();
  });

  async function installChartRoles(): Promise<void> {
    const [helm, kubectl] = await Promise.all([startHelm(), kubectlFor(plane.kubeconfig)]);
    for (const { release, namespace, lockNamespace } of SHARDS) {
      const objects = await helm.render({
        fullnameOverride: release,
        namespaces: [namespace],
        config: { lockNamespace },
      });
      const needed = objects.filter(({ kind }) => /Role|ServiceAccount/.test(kind));
      expect(needed.filter(({ kind }) => kind.startsWith('Cluster'))).toEqual([]);
      const input = sortedYaml(needed);
      const { code, stderr } = await kubectl.run(['apply', '--server-side', '--filename', '-'], { input });
      expect(code, stderr).toBe(0);
    }
    await Promise.all([helm.remove(), kubectl.remove()]);
  }

  async function startReplica({ release, namespace, lockNamespace }: ShardOfRelease): Promise<Coordinator> {
    const kubeconfig = await plane.kubeconfigFor({
      serviceAccount: { ...coordinatorAccount, name: release },
    });
    return startCoordinator(kubeconfig, ['--namespace', namespace, '--lock-namespace', lockNamespace]);
  }

  const holderOf = async (namespace: string, name: string) =>
    (await readLease(plane, { namespace, name }))?.spec.holderIdentity || undefined;

  async function elect(namespace: string, lease: string): Promise<void> {
    await createCandidate(plane, {
      apiVersion: CUSTOM_API_VERSION,
      namespace,
      lease,
      name: `${lease}-1`,
    });
    await eventually(() => holderOf(namespace, lease), `${namespace}/${lease} has a holder`);
  }

  test('elect beside each other, and do not take each other for a mistake', async () => {
    for (const coordinator of coordinators) await untilActive(coordinator);
    const locks = SHARDS.map(({ lockNamespace }) => holderOf(lockNamespace, coordinatorLease.name));
    expect(new Set(await Promise.all(locks)).size).toBe(2);
    for (const { namespace } of SHARDS) await elect(namespace, 'web');
    for (const coordinator of coordinators)
      expect((await coordinator.get('/metrics')).body).toMatch(/^cle_other_locks_held 0$/m);
  });

  test('a shard whose coordinator dies has its standby elect, and the other one elects all the while', async () => {
    const [first, second] = SHARDS as [ShardOfRelease, ShardOfRelease];
    const standby = await startReplica(first);
    await coordinators[0]?.kill();
    coordinators[0] = standby;
    await elect(second.namespace, 'meanwhile');
    await untilActive(standby, 60_000);
    await elect(first.namespace, 'afterwards');
  });
});
