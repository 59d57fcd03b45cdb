import { describe, expect, test } from 'vitest';
import { formatSeconds } from '../../src/coordination/micro-time.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject } from './make-objects.ts';

const LEASE = 'default/scheduler';

/** `a` leads and renews every 2 s, in the only container of its Pod; `b` answers pings. Settles at 10 s. */
async function ledByPod(isCrashEvidenceUsed = true): Promise<ControllerWorld> {
  const world = new ControllerWorld({ settings: { ...defaultSettings, isCrashEvidenceUsed } });
  const pod = world.api.store.create('pods', {
    metadata: { namespace: 'default', name: 'a-0' },
    spec: { containers: [{ name: 'main' }] },
    status: statusOf({ running: { startedAt: secondsAt(world) } }),
  });
  await world.start();
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a-0', uid: pod.metadata.uid };
  const candidate = makeCandidateObject('a', { renewedAt: 0 });
  world.create('leasecandidates', {
    ...candidate,
    metadata: { ...candidate.metadata, ownerReferences: [owner] },
  });
  await world.clock.advance(100);
  world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 100 }));
  await renewUntil(world, 10_000);
  return world;
}

async function renewUntil(world: ControllerWorld, at: number): Promise<void> {
  while (world.clock.now() < at) {
    world.change('leases', LEASE, { renewTime: world.wallText, leaseDurationSeconds: 15 });
    await world.clock.advance(Math.min(2000, at - world.clock.now()));
  }
}

const secondsAt = (world: ControllerWorld) => formatSeconds(world.clock.wallTime());

const statusOf = (state: object) => ({
  containerStatuses: [{ name: 'main', containerID: 'containerd://1', state, lastState: {} }],
});

/** The kubelet reports that the container of `a` has ended. */
function reportEnd(world: ControllerWorld, reason = 'Error'): void {
  const object = world.api.store.get('pods', 'default/a-0');
  if (!object) throw new Error('there is no Pod');
  const terminated = {
    containerID: 'containerd://1',
    startedAt: '2026-01-01T00:00:00Z',
    finishedAt: secondsAt(world),
    reason,
  };
  world.api.store.update('pods', object, { ...object, status: statusOf({ terminated }) });
}

/** `b` answers each ping. */
async function answering(world: ControllerWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    const { pingTime = '', renewTime = '' } = world.candidateSpec('default/b');
    if (String(pingTime) > String(renewTime)) world.renew('default/b');
    await world.clock.advance(100);
  }
}

describe('the Lease of a holder whose container has ended (rule 17)', () => {
  test('goes to the next candidate one renewal interval after the report', async () => {
    const world = await ledByPod();
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    reportEnd(world);
    await answering(world, 1900);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    await answering(world, 300);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    expect(world.applied).toContain(`${LEASE} HolderEnded`);
  });

  test('expires if Pods are not watched', async () => {
    const world = await ledByPod(false);
    expect(world.ourRequests.filter((request) => request.includes('/pods'))).toEqual([]);
    reportEnd(world);
    await answering(world, 12_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    await answering(world, 3500);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
    expect(world.applied).toContain(`${LEASE} LeaseExpired`);
  });

  test('stays with a holder that renews after the report', async () => {
    const world = await ledByPod();
    reportEnd(world);
    await renewUntil(world, world.clock.now() + 20_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('expires after a false report of the kubelet', async () => {
    const world = await ledByPod();
    reportEnd(world, 'ContainerStatusUnknown');
    await answering(world, 12_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('expires when its Pod is deleted: a deletion is no proof', async () => {
    const world = await ledByPod();
    world.remove('pods', 'default/a-0');
    await answering(world, 12_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('costs no decisions while other fields of Pods change', async () => {
    const world = await ledByPod();
    const before = world.decisions.length;
    const object = world.api.store.get('pods', 'default/a-0');
    if (!object) throw new Error('there is no Pod');
    const conditions = [{ type: 'Ready', status: 'False' }];
    const status = { ...(object['status'] as object), conditions };
    world.api.store.update('pods', object, { ...object, status });
    await world.clock.advance(100);
    expect(world.decisions.length).toBe(before);
  });
});
