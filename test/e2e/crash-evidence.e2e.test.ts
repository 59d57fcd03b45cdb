import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { candidatePath, readLease } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { installChartRoles } from './chart-roles.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { type PodCluster, startPodCluster } from './pod-cluster.ts';
import {
  type Component,
  componentImage,
  deployComponent,
  makeParticipantsNamespace,
} from './runbooks/deployed-component.ts';

const namespace = 'shop';

interface LeaseTimes {
  readonly holderIdentity?: string;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseDurationSeconds?: number;
}

/** Pods of a Deployment, whose candidates name them as owners; a container that crashes again is restarted after 10 s. */
describe('a leader whose container has ended (rule 17)', () => {
  let cluster: PodCluster;
  let plane: ControlPlane;
  let coordinator: Coordinator;
  let web: Component;

  beforeAll(async () => {
    cluster = await startPodCluster({ nodes: [{ findImage: componentImage }] });
    plane = cluster.plane;
    const kubeconfig = await installChartRoles(plane, { crashEvidence: { enabled: true } });
    coordinator = await startCoordinator(kubeconfig, ['--watch-pods']);
    await makeParticipantsNamespace(cluster, namespace);
    await untilActive(coordinator, 60_000);
    web = await deployComponent(cluster, { namespace, name: 'web', replicas: 2 });
    await ownCandidates();
  }, 300_000);
  afterAll(async () => {
    await coordinator?.stop();
    await cluster?.stop();
  });

  async function ownCandidates(): Promise<void> {
    for (const name of await web.pods()) {
      const { metadata } = await plane.request<{ metadata: { uid: string } }>(
        'GET',
        `/api/v1/namespaces/${namespace}/pods/${name}`,
      );
      const owner = { apiVersion: 'v1', kind: 'Pod', name, uid: metadata.uid };
      await plane.request('PATCH', candidatePath({ namespace, name }), {
        metadata: { ownerReferences: [owner] },
      });
    }
  }

  const lease = async (): Promise<LeaseTimes> =>
    (await readLease(plane, { namespace, name: 'web' }))?.spec ?? {};

  /** Whether the container of each pod runs for the second time. */
  async function areRunning(): Promise<true | undefined> {
    const pods = await Promise.all(
      (await web.pods()).map((name) =>
        plane.request<{ status: { containerStatuses: readonly { ready: boolean; restartCount: number }[] } }>(
          'GET',
          `/api/v1/namespaces/${namespace}/pods/${name}`,
        ),
      ),
    );
    const statuses = pods.flatMap(({ status }) => status.containerStatuses);
    return statuses.every(({ ready, restartCount }) => ready && restartCount === 1) || undefined;
  }

  /** Waits until the holder has renewed so often that its interval is known. */
  async function untilRenewed(times: number): Promise<void> {
    const seen = new Set<string>();
    const isRenewed = async () => seen.add((await lease()).renewTime ?? '').size > times || undefined;
    await eventually(isRenewed, `${times} renewals`, 60_000, 250);
  }

  test('has a successor before its Lease expires', async () => {
    // The kubelet restarts a container at once after its first crash, and after 10 s from then on.
    for (const pod of await web.pods()) web.kill(pod);
    await eventually(areRunning, 'both run again', 60_000, 250);
    const leader = await web.untilLed();
    await untilRenewed(3);
    const { renewTime = '', leaseDurationSeconds = 0 } = await lease();
    // A renewal in the second of the end proves nothing before the container runs again.
    await sleep(1200);
    web.kill(leader);
    const successor = await web.untilLed(leader);
    const { acquireTime = '', holderIdentity } = await lease();
    expect(holderIdentity).toBe(successor);
    const leftMs = Date.parse(renewTime) + leaseDurationSeconds * 1000 - Date.parse(acquireTime);
    console.log(`granted ${(leftMs / 1000).toFixed(1)} s before the expiry, or more`);
    expect(leftMs).toBeGreaterThan(0);
    const { body } = await coordinator.get('/metrics');
    expect(body).toMatch(/cle_decisions_total\{reason="HolderEnded"\} [1-9]/);
  }, 180_000);
});
