import { beforeEach, describe, expect, test } from 'vitest';
import { createResources } from '../../src/apiserver/kinds/registry.ts';
import type { ApiObject } from '../../src/apiserver/schema/api-object.ts';
import { startStandIns } from '../../src/apiserver/stand-ins.ts';
import { ObjectStore } from '../../src/apiserver/storage/object-store.ts';
import { Slices } from '../../src/support/event-loop.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const resources = createResources({ leaseCandidateVersions: ['v1beta1'] });
const deletionTimestamp = '2026-01-01T00:00:00Z';
const foreground = { deletionTimestamp, finalizers: ['foregroundDeletion'] };
const orphan = { deletionTimestamp, finalizers: ['orphan'] };

type Metadata = Partial<ApiObject['metadata']>;

function lease(name: string, metadata: Metadata = {}): ApiObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'a', uid: `uid-${name}`, ...metadata },
  };
}

function owner(name: string, others: object = {}) {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name, uid: `uid-${name}`, ...others };
}

const ownedBy = (...owners: readonly string[]): Metadata => ({
  ownerReferences: owners.map((each) => owner(each)),
});
const blocking = { blockOwnerDeletion: true };

describe('the garbage collector', () => {
  let store: ObjectStore;
  let clock: VirtualClock;
  let errors: unknown[];
  beforeEach(() => {
    store = new ObjectStore({ historyLimit: 100 });
    clock = new VirtualClock();
    errors = [];
    for (const name of ['a', 'b']) {
      store.put('namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, uid: `uid-${name}` },
      });
    }
  });
  const start = () =>
    startStandIns({
      store,
      clock,
      slices: new Slices(clock),
      resources,
      onError: (error) => errors.push(error),
    });
  const put = (...objects: readonly ApiObject[]) => {
    for (const each of objects) store.put('leases', each);
  };
  const leases = () => store.list('leases').map(({ key }) => key);
  const ownersOf = (name: string) =>
    store.get('leases', `a/${name}`)?.object.metadata.ownerReferences?.map((each) => each['name']);
  const settle = async () => {
    await clock.advance(10);
    expect(errors).toEqual([]);
  };

  test('deletes the dependents of a deleted object, and their dependents', async () => {
    put(lease('top'), lease('child', ownedBy('top')), lease('grandchild', ownedBy('child')), lease('other'));
    start();
    await settle();
    expect(leases()).toHaveLength(4);
    store.remove('leases', 'a/top');
    await settle();
    expect(leases()).toEqual(['a/other']);
  });

  test('deletes objects whose owner does not exist, also if it was deleted before the start', async () => {
    put(lease('before', ownedBy('gone')));
    start();
    await settle();
    put(lease('after', ownedBy('gone')), lease('namesake'));
    put(lease('of-a-namesake', { ownerReferences: [owner('namesake', { uid: 'another' })] }));
    put(lease('elsewhere', { namespace: 'b', ...ownedBy('namesake') }));
    await settle();
    expect(leases()).toEqual(['a/namesake']);
  });

  test('keeps objects whose owner is of an unserved kind', async () => {
    start();
    put(
      lease('of-a-pod', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }] }),
      lease('of-another-version', {
        ownerReferences: [owner('gone', { apiVersion: 'coordination.k8s.io/v9' })],
      }),
    );
    await settle();
    expect(leases()).toHaveLength(2);
  });

  test('keeps objects with another owner, and removes the reference to the deleted one', async () => {
    put(lease('one'), lease('two'), lease('child', ownedBy('one', 'two')));
    start();
    await settle();
    store.remove('leases', 'a/one');
    await settle();
    expect(ownersOf('child')).toEqual(['two']);
  });

  test('deletes an owner that orphans its dependents when no dependent refers to it any more', async () => {
    put(lease('top'), lease('one', ownedBy('top')), lease('two', ownedBy('top', 'other')), lease('other'));
    start();
    put(lease('top', orphan));
    await settle();
    expect(leases()).toEqual(['a/one', 'a/other', 'a/two']);
    expect(ownersOf('one')).toBeUndefined();
    expect(ownersOf('two')).toEqual(['other']);
  });

  test('orphans more dependents than watchers can follow, a few at a time', async () => {
    put(lease('top'));
    for (let index = 0; index < 120; index += 1) put(lease(`child-${index}`, ownedBy('top')));
    start();
    put(lease('top', orphan));
    await settle();
    expect(leases()).toHaveLength(120);
    expect(store.list('leases').every(({ object }) => object.metadata.ownerReferences === undefined)).toBe(
      true,
    );
  });

  test('deletes a foreground owner after the dependents that block it', async () => {
    put(
      lease('top'),
      lease('free', ownedBy('top')),
      lease('held', { finalizers: ['a/b'], ownerReferences: [owner('top', blocking)] }),
    );
    start();
    put(lease('top', foreground));
    await settle();
    expect(leases()).toEqual(['a/held', 'a/top']);
    expect(store.get('leases', 'a/held')?.object.metadata.deletionTimestamp).toBeDefined();
    store.remove('leases', 'a/held');
    await settle();
    expect(leases()).toEqual([]);
  });

  test('deletes the dependents of dependents in the foreground, too', async () => {
    put(
      lease('top'),
      lease('child', { ownerReferences: [owner('top', blocking)] }),
      lease('grandchild', { finalizers: ['a/b'], ownerReferences: [owner('child', blocking)] }),
    );
    start();
    put(lease('top', foreground));
    await settle();
    expect(leases()).toEqual(['a/child', 'a/grandchild', 'a/top']);
    store.remove('leases', 'a/grandchild');
    await settle();
    expect(leases()).toEqual([]);
  });

  test('deletes a cycle of owners in the foreground', async () => {
    put(
      lease('one', { ownerReferences: [owner('two', blocking)] }),
      lease('two', { ownerReferences: [owner('one', blocking)] }),
    );
    start();
    await settle();
    put(lease('one', { ...foreground, ownerReferences: [owner('two', blocking)] }));
    await settle();
    expect(leases()).toEqual([]);
  });

  test('notices a deleted owner after more changes than the history contains', async () => {
    put(lease('top'), lease('child', ownedBy('top')));
    start();
    await settle();
    store.remove('leases', 'a/top');
    for (let index = 0; index < 200; index += 1) put(lease('busy', { labels: { index: String(index) } }));
    await settle();
    expect(leases()).toEqual(['a/busy']);
  });

  test('keeps its own finalizer on a namespace that is not empty yet', async () => {
    start();
    put(lease('held', { finalizers: ['a/b'] }));
    store.put('namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'a', uid: 'uid-a', ...foreground },
      spec: { finalizers: ['kubernetes'] },
    });
    await settle();
    expect(store.get('namespaces', 'a')?.object.metadata.finalizers).toBeUndefined();
    store.remove('leases', 'a/held');
    await settle();
    expect(store.get('namespaces', 'a')).toBeUndefined();
  });
});
