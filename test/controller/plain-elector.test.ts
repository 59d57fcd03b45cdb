import { describe, expect, test } from 'vitest';
import { formatSeconds } from '../../src/coordination/micro-time.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { ControllerWorld, sentSpec } from './make-controller.ts';
import { makeLeaseObject } from './make-objects.ts';

const LEASE = 'default/scheduler';
const HOLDER = 'web-0_5c7a';
const ASKING = { 'coordinated-leader-election.dev/crash-evidence': 'enabled' };
/** Field ownership of a Lease by an elector of client-go. */
const managedFields = [
  { manager: 'web', fieldsV1: { 'f:spec': { 'f:acquireTime': {}, 'f:renewTime': {} } } },
];

const secondsAt = (world: ControllerWorld) => formatSeconds(world.clock.wallTime());

const statusOf = (state: object) => ({
  containerStatuses: [{ name: 'main', containerID: 'containerd://1', state, lastState: {} }],
});

function createPod(world: ControllerWorld, metadata: object = {}, spec: object = {}): void {
  world.api.store.create('pods', {
    metadata: { namespace: 'default', name: 'web-0', ...metadata },
    spec: { containers: [{ name: 'main' }], ...spec },
    status: statusOf({ running: { startedAt: secondsAt(world) } }),
  });
}

/** A plain elector in the only container of its Pod acquires the Lease at 5 s, and renews it every 2 s. Settles at 11 s. */
async function ledPlainly({ asks = 'lease', namespaces = [] as readonly string[] } = {}) {
  const world = new ControllerWorld({
    settings: { ...defaultSettings, isCrashEvidenceUsed: true },
    namespaces,
  });
  createPod(world);
  world.api.store.create('namespaces', {
    metadata: { name: 'default', ...(asks === 'namespace' && { annotations: ASKING }) },
  });
  const lease = makeLeaseObject('', 0, { strategy: undefined });
  const metadata = { ...lease.metadata, ...(asks === 'lease' && { annotations: ASKING }) };
  world.api.store.create('leases', { ...lease, metadata });
  await world.start();
  await world.clock.advance(5000);
  const spec = { holderIdentity: HOLDER, acquireTime: world.wallText, leaseDurationSeconds: 15 };
  change(world, { ...spec, renewTime: world.wallText });
  await renewUntil(world, 11_000);
  return world;
}

/** The elector writes fields. */
function change(world: ControllerWorld, spec: Readonly<Record<string, unknown>>): void {
  const object = world.api.store.get('leases', LEASE);
  if (!object) throw new Error('there is no Lease');
  world.api.store.update('leases', object, {
    ...object,
    metadata: { ...object.metadata, managedFields },
    spec: { ...world.leaseSpec(), ...spec },
  });
}

async function renewUntil(world: ControllerWorld, at: number): Promise<void> {
  while (world.clock.now() < at) {
    change(world, { renewTime: world.wallText });
    await world.clock.advance(Math.min(2000, at - world.clock.now()));
  }
}

function reportEnd(world: ControllerWorld): void {
  const object = world.api.store.get('pods', 'default/web-0');
  if (!object) throw new Error('there is no Pod');
  const terminated = {
    ...{ containerID: 'containerd://1', startedAt: '2026-01-01T00:00:00Z' },
    ...{ finishedAt: secondsAt(world), reason: 'Error' },
  };
  world.api.store.update('pods', object, { ...object, status: statusOf({ terminated }) });
}

describe('the Lease of a plain elector whose container has ended (rule 17)', () => {
  test.for(['lease', 'namespace'])('is emptied as by a release, if the %s asks for it', async (asks) => {
    const world = await ledPlainly({ asks });
    reportEnd(world);
    await world.clock.advance(1900);
    expect(world.ourWrites).toEqual([]);
    await world.clock.advance(200);
    const [write, ...others] = world.ourWrites;
    expect(others).toEqual([]);
    expect(write && sentSpec(write)).toEqual({
      ...{ holderIdentity: '', leaseDurationSeconds: 1 },
      ...{ acquireTime: expect.any(String), renewTime: expect.any(String) },
    });
    expect(write?.body['metadata']).toMatchObject({ resourceVersion: expect.any(String) });
    expect(world.applied).toEqual([`${LEASE} HolderEnded`]);
    await world.clock.advance(60_000);
    expect(world.ourWrites).toHaveLength(1);
  });

  test('is left alone without a request for evidence', async () => {
    const world = await ledPlainly({ asks: 'nothing' });
    reportEnd(world);
    await world.clock.advance(14_000);
    expect(world.ourWrites).toEqual([]);
    expect(world.decisions).toEqual([]);
  });

  test('is emptied if the Namespace asks for it and the container ends again', async () => {
    const world = await ledPlainly({ asks: 'nothing' });
    const namespace = world.api.store.list('namespaces')[0];
    if (!namespace) throw new Error('there is no Namespace');
    const metadata = { ...namespace.metadata, annotations: ASKING };
    world.api.store.update('namespaces', namespace, { ...namespace, metadata });
    reportEnd(world);
    await world.clock.advance(2500);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: '' });
  });

  test('is left alone after the Namespace that asked for it is deleted', async () => {
    const world = await ledPlainly({ asks: 'namespace' });
    const namespace = world.api.store.list('namespaces')[0];
    if (namespace) world.api.store.remove('namespaces', namespace);
    await world.clock.advance(100);
    reportEnd(world);
    await world.clock.advance(3000);
    expect(world.ourWrites).toEqual([]);
  });

  test('needs no Namespaces if the coordinator is limited to some', async () => {
    const world = await ledPlainly({ namespaces: ['default'] });
    expect(world.ourRequests.filter((request) => request.endsWith('/api/v1/namespaces'))).toEqual([]);
    reportEnd(world);
    await world.clock.advance(2500);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: '' });
  });

  test('is left alone while the elector renews', async () => {
    const world = await ledPlainly();
    await world.clock.advance(500);
    reportEnd(world);
    await renewUntil(world, world.clock.now() + 20_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: HOLDER });
    expect(world.ourWrites).toEqual([]);
  });

  test('is left alone if another Pod had the hostname while it led, even if that Pod is deleted', async () => {
    const world = await ledPlainly();
    createPod(world, { namespace: 'other', name: 'forged' }, { hostname: 'web-0' });
    await renewUntil(world, world.clock.now() + 2000);
    world.remove('pods', 'other/forged');
    await renewUntil(world, world.clock.now() + 2000);
    reportEnd(world);
    await world.clock.advance(10_000);
    expect(world.ourWrites).toEqual([]);
  });

  test('is left alone if a later Pod has the name of its Pod', async () => {
    const world = await ledPlainly();
    world.remove('pods', 'default/web-0');
    createPod(world);
    await renewUntil(world, world.clock.now() + 2000);
    reportEnd(world);
    await world.clock.advance(10_000);
    expect(world.ourWrites).toEqual([]);
  });

  test('costs no decisions while it is renewed', async () => {
    const world = await ledPlainly();
    const before = world.looks;
    await renewUntil(world, world.clock.now() + 20_000);
    expect(world.looks).toBe(before);
  });
});
