import { describe, expect, test } from 'vitest';
import { CoordinatorLock } from '../../../src/controller/lock/coordinator-lock.ts';
import { createApiLockStorage } from '../../../src/controller/lock/lock-storage.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { ScriptedClient } from '../../kubernetes/scripted-client.ts';
import { SimApiServer } from '../../simulation/sim-api-server.ts';
import { SimConnection } from '../../simulation/sim-connection.ts';
import { SimProcess } from '../../simulation/sim-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LEASE = { namespace: 'kube-system', name: 'leader-election-controller' };
const KEY = 'kube-system/leader-election-controller';
const PATH = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${LEASE.name}`;

function makeStorage() {
  const clock = new VirtualClock({ random: () => 0 });
  const api = new SimApiServer(clock);
  const connection = new SimConnection(api, new SimProcess(clock), 'us');
  return { clock, api, connection, storage: createApiLockStorage(connection, clock, LEASE, () => {}) };
}

function makeLock(holder = 'a', fields: Readonly<Record<string, unknown>> = {}): KubernetesObject {
  return {
    ...fields,
    metadata: { ...LEASE },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15 },
  };
}

describe('the lock on an API server', () => {
  test('is undefined without a Lease', async () => {
    await expect(makeStorage().storage.get()).resolves.toBeUndefined();
  });

  test('is created, read and changed with all unknown fields', async () => {
    const { storage } = makeStorage();
    const created = await storage.create(makeLock('a', { future: 'kept' }));
    await expect(storage.get()).resolves.toEqual(created);
    const updated = await storage.update({ ...created, spec: { holderIdentity: 'b' } });
    expect(updated).toMatchObject({ future: 'kept', spec: { holderIdentity: 'b' } });
  });

  test.each(['create', 'update'] as const)(
    'refuses a late %s with the status of a conflict',
    async (call) => {
      const { api, storage } = makeStorage();
      const created = await storage.create(makeLock());
      const lease = api.lease(KEY);
      if (lease) api.store.update('leases', lease, { ...lease, spec: { holderIdentity: 'b' } });
      await expect(storage[call](created)).rejects.toMatchObject({ status: 409 });
    },
  );

  test('that cannot be read does not count as missing', async () => {
    const clock = new VirtualClock();
    const connection = new SimConnection(new SimApiServer(clock), new SimProcess(clock), 'us', {
      fate: () => ({ outcome: 500 }),
    });
    await expect(createApiLockStorage(connection, clock, LEASE, () => {}).get()).rejects.toMatchObject({
      status: 500,
    });
  });

  test('sends one request for each call, with the field manager of this controller', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => ({ metadata: { name: LEASE.name } });
    const storage = createApiLockStorage(client, new VirtualClock(), LEASE, () => {});
    await storage.get();
    await storage.create(makeLock());
    await storage.update(makeLock());
    const query = { fieldManager: 'coordinated-leader-election' };
    const deadlineMs = 3000;
    const body = makeLock();
    expect(client.requests).toEqual([
      { method: 'GET', path: PATH, deadlineMs },
      { method: 'POST', path: PATH.replace(/\/[^/]+$/, ''), body, query, deadlineMs },
      { method: 'PUT', path: PATH, body, query, deadlineMs },
    ]);
  });

  test('rejects an answer to a write without a Lease', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => ({ kind: 'Status' });
    const storage = createApiLockStorage(client, new VirtualClock(), LEASE, () => {});
    await expect(storage.update(makeLock())).rejects.toThrow('answered without a Lease');
  });
});

describe('the watch of the lock', () => {
  test('reports this one Lease, including its deletion, until it is stopped', async () => {
    const { clock, api, connection, storage } = makeStorage();
    const seen: unknown[] = [];
    const stop = storage.watch((lease) => seen.push(lease?.['spec']));
    await clock.advance(0);
    const created = await storage.create(makeLock('a'));
    api.handle('test', {
      method: 'POST',
      path: PATH.replace(/\/[^/]+$/, ''),
      body: { metadata: { name: 'another' }, spec: {} },
    });
    await storage.update({ ...created, spec: { holderIdentity: 'b' } });
    const lease = api.lease(KEY);
    if (lease) api.store.remove('leases', lease);
    await clock.advance(0);
    expect(seen).toEqual([
      { holderIdentity: 'a', leaseDurationSeconds: 15 },
      { holderIdentity: 'b' },
      undefined,
    ]);
    stop();
    await clock.advance(0);
    expect(connection.openWatches).toBe(0);
    await storage.create(makeLock('c'));
    await clock.advance(1000);
    expect(seen).toHaveLength(3);
  });

  test('continues after a failure, without losing changes', async () => {
    const { clock, connection, storage } = makeStorage();
    const seen: unknown[] = [];
    storage.watch((lease) => seen.push(lease?.['spec']));
    await clock.advance(0);
    connection.breakWatches();
    await storage.create(makeLock('a'));
    await clock.advance(1000);
    expect(seen).toEqual([{ holderIdentity: 'a', leaseDurationSeconds: 15 }]);
  });
});

describe('a lock that is released and taken by another at the same moment', () => {
  test('is left to the other, although both events arrive together', async () => {
    const { clock, api, connection, storage } = makeStorage();
    const [ours, former, next] = ['us', 'former', 'next'].map(
      (name) => `coordinated-leader-election_${name}`,
    );
    const renewTime = 'then';
    await storage.create({
      ...makeLock(former),
      spec: { holderIdentity: former, leaseDurationSeconds: 15, renewTime },
    });
    const lock = new CoordinatorLock({ clock, storage, identity: ours ?? '', takeOver: true });
    lock.start();
    await clock.advance(1000);
    connection.holdWatches(true);
    const released = api.lease(KEY) ?? makeLock();
    const claimable = api.store.update('leases', released, {
      ...released,
      spec: { holderIdentity: '', leaseDurationSeconds: 1, renewTime: 'now' },
    });
    api.store.update('leases', claimable, {
      ...claimable,
      spec: { holderIdentity: next, leaseDurationSeconds: 15, renewTime: 'new' },
    });
    connection.holdWatches(false);
    await clock.advance(500);
    expect(api.leaseSpec(KEY)).toMatchObject({ holderIdentity: next });
    expect(lock.isActive()).toBe(false);
  });
});
