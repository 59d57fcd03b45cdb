import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { coordinatorLease, leasePath } from '../control-plane/cluster-objects.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import type { Electors } from '../control-plane/electors.ts';
import { leadershipsOf, overlapsOf, RELEASE_REPORTED_LATE_MS } from '../control-plane/leaderships.ts';
import { type CoordinatedCluster, startCoordinatedCluster } from './coordinated-cluster.ts';
import { type Coordinator, startCoordinator, untilActive } from './coordinator.ts';

const NAMESPACE = 'default';

describe('client-go’s electors on a real API server', () => {
  let cluster: CoordinatedCluster;
  let electors: Electors;
  let coordinator: Coordinator;

  beforeAll(async () => {
    cluster = await startCoordinatedCluster();
    await refuseLockToBuiltIn(cluster.plane);
    electors = await cluster.plane.startElectors();
    coordinator = cluster.coordinator;
  });
  afterAll(async () => {
    await electors?.stop();
    await coordinator?.kill();
    await cluster?.stop();
  });

  const led = (lease: string) => leadershipsOf(electors.events, (id) => id.startsWith(`${lease}/`));
  const start = (lease: string, name: string, spec: object = {}) =>
    electors.start({
      id: `${lease}/${name}`,
      namespace: NAMESPACE,
      lease,
      name: `${lease}-${name}`,
      ...spec,
    });
  const untilLed = (lease: string, name: string) =>
    electors.waitFor({ id: `${lease}/${name}`, event: 'startedLeading' }, { timeoutMs: 60_000 });

  test('the best of six candidates that appear within 300 ms leads, and no other before it (rule 6)', async () => {
    for (const minor of [36, 35, 34, 33, 32]) {
      await start('settling', `v${minor}`, { emulationVersion: `1.${minor}.0` });
      await sleep(40);
    }
    await start('settling', 'best', { emulationVersion: '1.31.0' });
    await untilLed('settling', 'best');
    expect(led('settling').map(({ id }) => id)).toEqual(['settling/best']);
  });

  test('a better candidate whose elector does not run costs its Lease no more than 10 s (rule 12)', async () => {
    await start('hanging', 'first', { restart: true });
    await start('hanging', 'second', { restart: true });
    const [leader] = await untilSomeoneLeads('hanging');
    const since = electors.events.length;
    await start('hanging', 'better', { mode: 'candidate-only', emulationVersion: '1.31.0' });
    const stopped = await electors.waitFor(
      { id: leader ?? '', event: 'stoppedLeading' },
      { since, timeoutMs: 30_000 },
    );
    const next = await untilAnotherLeads('hanging', electors.events.indexOf(stopped));
    // The grant to the better one comes at the release or, without one, when the Lease has run out.
    expect((next - stopped.wallMicros) / 1000).toBeLessThan(10_000);
  });

  test('a Lease that is deleted while no coordinator runs is no other’s before its leader stops (rule 8)', async () => {
    await start('deleted', 'a', { restart: true });
    await start('deleted', 'b', { restart: true });
    await untilSomeoneLeads('deleted');
    await coordinator.stop();
    const since = electors.events.length;
    await cluster.plane.request('DELETE', leasePath({ namespace: NAMESPACE, name: 'deleted' }));
    coordinator = await startCoordinator(cluster.kubeconfig);
    await untilActive(coordinator);
    await untilAnotherLeads('deleted', since);
    expect(overlapsOf(led('deleted'), RELEASE_REPORTED_LATE_MS)).toEqual([]);
  });

  test('a plain elector leads, and is followed, and follows when every candidate has died', async () => {
    await start('mixed', 'plain', { mode: 'plain' });
    await untilLed('mixed', 'plain');
    await start('mixed', 'old', { emulationVersion: '1.35.0' });
    await start('mixed', 'new');
    await electors.crash('mixed/plain');
    await untilLed('mixed', 'old');
    await start('mixed', 'heir', { mode: 'plain' });
    await electors.waitFor({ id: 'mixed/heir', event: 'newLeader', leader: 'mixed-old' });
    await electors.crash('mixed/old');
    await electors.crash('mixed/new');
    await untilLed('mixed', 'heir');
    expect(overlapsOf(led('mixed'), RELEASE_REPORTED_LATE_MS)).toEqual([]);
  });

  async function untilSomeoneLeads(lease: string): Promise<readonly string[]> {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
      const leading = electors.leading().filter((id) => id.startsWith(`${lease}/`));
      if (leading.length > 0) return leading;
    }
    throw new Error(`nobody leads ${lease}`);
  }

  /** When the next leadership began, in microseconds, after the event of that index. */
  async function untilAnotherLeads(lease: string, after: number): Promise<number> {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
      const next = electors.events.findIndex(
        ({ id, event }, index) => index > after && id.startsWith(`${lease}/`) && event === 'startedLeading',
      );
      if (next !== -1) return electors.events[next]?.wallMicros ?? 0;
    }
    throw new Error(`nobody leads ${lease} any more`);
  }
});

/**
 * While no coordinator of this project runs, the built-in coordinator would take the lock within 2 s. It then creates a
 * missing Lease at once, for any candidate.
 */
async function refuseLockToBuiltIn(plane: CoordinationPlane): Promise<void> {
  const name = 'no-built-in-coordinator';
  const group = '/apis/admissionregistration.k8s.io/v1';
  await plane.request('POST', `${group}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['coordination.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['leases'],
            resourceNames: [coordinatorLease.name],
          },
        ],
      },
      validations: [{ expression: "request.userInfo.username != 'system:apiserver'" }],
    },
  });
  await plane.request('POST', `${group}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
}
