import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { candidatePath } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { commandBlocksIn } from '../support/command-blocks.ts';
import { installChartRoles } from './chart-roles.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { type PodCluster, startPodCluster } from './pod-cluster.ts';
import {
  type Component,
  componentImage,
  deployComponent,
  evict,
  makeParticipantsNamespace,
} from './runbooks/deployed-component.ts';
import { openShell } from './runbooks/shell.ts';

const namespace = 'shop';
const label = 'coordinated-leader-election.dev/web';
const args = ['--leader-label'];

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: { readonly podIP?: string };
}

interface EndpointSlice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
}

async function items<T>(plane: ControlPlane, path: string): Promise<readonly T[]> {
  return (await plane.request<{ items: readonly T[] }>('GET', path)).items;
}

/** One story in one cluster, whose pods, Services and EndpointSlices are those of Kubernetes' own controllers. */
describe('the label of a leader', () => {
  let cluster: PodCluster;
  let plane: ControlPlane;
  let kubeconfig: string;
  let coordinator: Coordinator;
  let web: Component;

  beforeAll(async () => {
    cluster = await startPodCluster({ nodes: [{ findImage: componentImage }] });
    plane = cluster.plane;
    kubeconfig = await installChartRoles(plane, { config: { leaderLabel: true } });
    coordinator = await startCoordinator(kubeconfig, args);
    await makeParticipantsNamespace(cluster, namespace);
    await plane.request('POST', `/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: 'web-leader' },
      spec: { selector: { [label]: 'leader' }, ports: [{ port: 80 }] },
    });
    await untilActive(coordinator, 60_000);
    web = await deployComponent(cluster, { namespace, name: 'web', replicas: 2 });
    await ownCandidates();
  }, 300_000);
  afterAll(async () => {
    await coordinator?.stop();
    await cluster?.stop();
  });

  /** As a program does that knows the name and uid of its Pod: its candidate says whose it is, and goes with it. */
  async function ownCandidates(): Promise<void> {
    const pods = await items<Pod>(plane, `/api/v1/namespaces/${namespace}/pods?labelSelector=app=web`);
    for (const { metadata } of pods) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const owner = { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid };
      const path = candidatePath({ namespace, name: metadata.name });
      const own = () =>
        plane.request('PATCH', path, { metadata: { ownerReferences: [owner] } }).catch(() => undefined);
      // A leader is succeeded sooner than the Pod in its place has started.
      await eventually(own, `${metadata.name} has a candidate`, 60_000);
    }
  }

  const labelled = () =>
    items<Pod>(plane, `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(label)}`);

  /** Waits until the Pod alone has the label, and the Service leads to it alone. */
  async function untilRouted(pod: string): Promise<void> {
    const isRouted = async () => {
      const [leader, ...others] = await labelled();
      if (leader?.metadata.name !== pod || others.length > 0) return undefined;
      const slices = await items<EndpointSlice>(
        plane,
        `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name=web-leader`,
      );
      const addresses = slices.flatMap(({ endpoints }) => endpoints ?? []).flatMap((one) => one.addresses);
      return (addresses.length === 1 && addresses[0] === leader.status.podIP) || undefined;
    };
    await eventually(isRouted, `${pod} has the label, and the Service leads there`, 60_000, 100);
  }

  test('is put on its Pod, and a Service leads there', async () => {
    await untilRouted(await web.untilLed());
  });

  test('follows a planned change of the leader, and is never on two Pods', async () => {
    const former = await web.untilLed();
    let most = 0;
    const watching = new AbortController();
    const watched = (async () => {
      while (!watching.signal.aborted) {
        most = Math.max(most, (await labelled()).length);
        // Without a pause, this would keep a small machine from all other work.
        await sleep(20);
      }
    })();
    await evict(cluster, namespace, former);
    const leader = await web.untilLed(former);
    await ownCandidates();
    await untilRouted(leader);
    watching.abort();
    await watched;
    expect(most).toBe(1);
  });

  test('is taken off when the leader’s Lease has run out', async () => {
    const frozen = await web.untilLed();
    web.freeze(frozen);
    const leader = await web.untilLed(frozen);
    await untilRouted(leader);
    const { metadata } = await plane.request<{ metadata: { labels: Record<string, string> } }>(
      'GET',
      `/api/v1/namespaces/${namespace}/pods/${frozen}`,
    );
    expect(metadata.labels).not.toHaveProperty([label]);
  });

  test('is put right by the next coordinator where one has crashed', async () => {
    await coordinator.kill();
    const leader = await web.untilLed();
    const pods = await web.pods();
    const gone = 'coordinated-leader-election.dev/long-gone';
    for (const name of pods) {
      const labels = { [gone]: 'leader', [label]: name === leader ? null : 'leader' };
      await plane.request('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}`, { metadata: { labels } });
    }
    coordinator = await startCoordinator(kubeconfig, args);
    await untilActive(coordinator, 60_000);
    await untilRouted(leader);
    const stale = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(gone)}`;
    await eventually(async () => (await items(plane, stale)).length === 0 || undefined, 'those are gone');
    const { body } = await coordinator.get('/metrics');
    expect(body).toContain('cle_leader_label_calls_total{call="list",result="success"} 1');
    expect(body).toMatch(/cle_leader_label_calls_total\{call="remove",result="error"\} 0/);
  });

  test('stays where the setting is turned off, until somebody takes it off as docs/how-to/leader-service.md says', async () => {
    await coordinator.stop();
    coordinator = await startCoordinator(kubeconfig);
    await untilActive(coordinator, 60_000);
    const leader = await web.untilLed();
    expect((await labelled()).map(({ metadata }) => metadata.name)).toEqual([leader]);
    const guide = await readFile(new URL('../../docs/how-to/leader-service.md', import.meta.url), 'utf8');
    const [command = ''] = commandBlocksIn(guide).flatMap(
      ({ text }) => /^kubectl label pods .*$/m.exec(text) ?? [],
    );
    const shell = await openShell(plane.kubeconfig);
    expect(await shell.run(command)).toEqual({ code: 0, output: `pod/${leader} unlabeled\n` });
    await shell.remove();
    expect(await labelled()).toEqual([]);
  });
});
