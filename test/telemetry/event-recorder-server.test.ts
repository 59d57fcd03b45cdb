import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCoordinator } from '../../src/processes/coordinator-process.ts';
import { runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { candidatePath, createCandidate, leasePath, microTime } from '../control-plane/cluster-objects.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded/embedded-cluster.ts';
import { SimHost } from '../support/make-host.ts';

interface CoreEvent {
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}

const NAMESPACE = 'default';
let cluster: EmbeddedCluster;
let directory: string;
let stopCoordinator: () => Promise<void>;

beforeAll(async () => {
  cluster = await startEmbeddedCluster();
  directory = await mkdtemp(join(tmpdir(), 'events-'));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeConfigOf('coordinator').exportConfig());
  const host = new SimHost();
  const settings = resolveSettings(runSettings, {}, {});
  const ended = runCoordinator({ ...settings, kubeconfig, listen: undefined, logLevel: 'error' }, host);
  stopCoordinator = async () => {
    host.stop();
    await ended;
  };
});
afterAll(async () => {
  await stopCoordinator();
  await rm(directory, { recursive: true, force: true });
  // It fails if the coordinator lacked a permission that deploy/rbac.yaml should grant.
  await cluster.stop();
});

async function eventsOf(lease: string): Promise<readonly CoreEvent[]> {
  const path = `/api/v1/namespaces/${NAMESPACE}/events?fieldSelector=involvedObject.name%3D${lease}`;
  return (await cluster.request<{ items: CoreEvent[] }>('GET', path)).items;
}

async function untilTold(lease: string, reason: string, count = 1): Promise<CoreEvent> {
  return vi.waitFor(
    async () => {
      const found = (await eventsOf(lease)).find((event) => event.reason === reason && event.count === count);
      if (!found) throw new Error(`no ${reason} x${count} of ${lease}`);
      return found;
    },
    { timeout: 30_000, interval: 20 },
  );
}

describe('an event of a Lease', () => {
  test('is recorded on it, by its uid', async () => {
    await createCandidate(cluster, { lease: 'web', name: 'web-1' });
    const event = await untilTold('web', 'LeaderElected');
    const lease = await cluster.request<{ metadata: { uid: string } }>(
      'GET',
      leasePath({ namespace: NAMESPACE, name: 'web' }),
    );
    expect(event).toMatchObject({
      involvedObject: { kind: 'Lease', name: 'web', uid: lease.metadata.uid },
      type: 'Normal',
      message: 'web-1 leads under OldestEmulationVersion: LeaseMissing',
      source: { component: 'coordinated-leader-election' },
    });
  });

  // Events are written a second later: this takes 7 s on an idle machine.
  test('that repeats is counted up in one Event', { timeout: 90_000 }, async () => {
    await createCandidate(cluster, { lease: 'db', name: 'db-1' });
    await untilTold('db', 'LeaderElected');
    // Its holder renews it for longer than this test takes. Otherwise, the end of the Lease would cause other Events.
    await cluster.request('PATCH', leasePath({ namespace: NAMESPACE, name: 'db' }), {
      spec: { leaseDurationSeconds: 3600, renewTime: microTime() },
    });
    const rival = { lease: 'db', name: 'db-2', strategy: 'example.com/other' };
    for (const count of [1, 2, 3]) {
      await createCandidate(cluster, rival);
      await untilTold('db', 'StrategyConflict', count);
      await cluster.request('DELETE', candidatePath({ ...rival, namespace: NAMESPACE }));
      await untilTold('db', 'StrategyResolved', count);
    }
    expect((await eventsOf('db')).map(({ reason, count }) => `${reason} x${count}`).sort()).toEqual([
      'LeaderElected x1',
      'StrategyConflict x3',
      'StrategyResolved x3',
    ]);
  });
});
