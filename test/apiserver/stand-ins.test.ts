import { beforeEach, describe, expect, test } from 'vitest';
import { createResources } from '../../src/apiserver/kinds/registry.ts';
import type { ApiObject } from '../../src/apiserver/schema/api-object.ts';
import { startStandIns } from '../../src/apiserver/stand-ins.ts';
import { ObjectStore } from '../../src/apiserver/storage/object-store.ts';
import { Slices } from '../../src/support/event-loop.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const resources = createResources({ leaseCandidateVersions: ['v1beta1'] });
const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };

function lease(name: string, metadata: Partial<ApiObject['metadata']> = {}): ApiObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'a', ...metadata },
  };
}

function namespace(name: string, metadata: Partial<ApiObject['metadata']> = {}): ApiObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } };
}

describe('the controllers that replace those of a cluster', () => {
  let store: ObjectStore;
  let clock: VirtualClock;
  let errors: unknown[];

  beforeEach(() => {
    store = new ObjectStore({ historyLimit: 5 });
    clock = new VirtualClock();
    errors = [];
  });
  const start = () =>
    startStandIns({
      store,
      clock,
      slices: new Slices(clock),
      resources,
      onError: (error) => errors.push(error),
    });
  const names = (storage: string) => store.list(storage).map(({ key }) => key);

  test('ignores finalizers until the object is deleted', async () => {
    start();
    store.put('leases', lease('one', { finalizers: ['orphan'] }));
    await clock.advance(1);
    expect(store.get('leases', 'a/one')?.object.metadata.finalizers).toEqual(['orphan']);
  });

  test('finds objects that were deleted before its start, or among more changes than the history contains', async () => {
    store.put('leases', lease('before', { ...deleted, finalizers: ['orphan'] }));
    start();
    await clock.advance(1);
    expect(names('leases')).toEqual([]);
    store.put('leases', lease('first', { ...deleted, finalizers: ['orphan'] }));
    for (let index = 0; index < 10; index += 1) store.put('leases', lease(`other-${index}`));
    await clock.advance(1);
    expect(store.get('leases', 'a/first')).toBeUndefined();
  });

  test.each([
    {
      by: 'finalizers in its metadata',
      metadata: { finalizers: ['example.com/mine'] },
      spec: ['kubernetes'],
      want: [],
    },
    {
      by: 'finalizers in its spec',
      metadata: {},
      spec: ['kubernetes', 'example.com/mine'],
      want: ['example.com/mine'],
    },
  ])('keeps a namespace that $by holds, and removes its own finalizer', async ({ metadata, spec, want }) => {
    start();
    store.put('leases', lease('one'));
    store.put('namespaces', { ...namespace('a', { ...deleted, ...metadata }), spec: { finalizers: spec } });
    await clock.advance(1);
    expect(names('leases')).toEqual([]);
    expect(store.get('namespaces', 'a')?.object['spec']).toEqual(want.length > 0 ? { finalizers: want } : {});
    const { revision } = store;
    await clock.advance(1000);
    expect(store.revision).toBe(revision);
  });

  const event = (name: string, writtenAt: string, others: object = {}): ApiObject => ({
    ...lease(name, {
      creationTimestamp: '2026-01-01T00:00:00Z',
      managedFields: [
        {
          manager: 'm',
          operation: 'Update',
          apiVersion: 'v1',
          time: writtenAt,
          fieldsType: 'FieldsV1',
          fieldsV1: {},
        },
      ],
    }),
    apiVersion: 'v1',
    kind: 'Event',
    ...others,
  });

  test('deletes Events an hour after their last write', async () => {
    start();
    store.put('events', event('old', '2026-01-01T00:00:00Z'));
    store.put('events', event('young', '2026-01-01T00:30:00Z'));
    await clock.advance(62 * 60_000);
    expect(names('events')).toEqual(['a/young']);
    await clock.advance(30 * 60_000);
    expect(names('events')).toEqual([]);
  });

  test('deletes Events an hour after their last write, whatever time they contain', async () => {
    start();
    const ahead = '2027-01-01T00:00:00Z';
    const past = '2020-01-01T00:00:00Z';
    store.put('events', event('ahead', '2026-01-01T00:00:00Z', { lastTimestamp: ahead, eventTime: ahead }));
    store.put('events', event('series', '2026-01-01T00:00:00Z', { series: { lastObservedTime: ahead } }));
    store.put('events', event('past', '2026-01-01T00:00:00Z', { lastTimestamp: past }));
    await clock.advance(59 * 60_000);
    expect(names('events')).toEqual(['a/ahead', 'a/past', 'a/series']);
    await clock.advance(3 * 60_000);
    expect(names('events')).toEqual([]);
  });

  test('empties a full namespace in small batches', async () => {
    for (let index = 0; index < 200; index += 1) store.put('leases', lease(`l${index}`));
    start();
    store.put('namespaces', namespace('a', deleted));
    let most = 0;
    let before = store.revision;
    const look = () => {
      most = Math.max(most, store.revision - before);
      before = store.revision;
      if (names('namespaces').length > 0) clock.setTimer(look, 0);
    };
    clock.setTimer(look, 0);
    await clock.advance(1);
    expect(names('leases')).toEqual([]);
    expect(names('namespaces')).toEqual([]);
    expect(most).toBeLessThanOrEqual(50);
  });

  test('reports an object that cannot be stored, and retries', async () => {
    start();
    store.put('leases', lease('one'));
    store.put('namespaces', namespace('a', deleted));
    const { remove } = store;
    store.remove = () => {
      throw new Error('the disk is full');
    };
    await clock.advance(1);
    expect(errors).toEqual([new Error('the disk is full')]);
    store.remove = remove;
    store.put('namespaces', namespace('b'));
    await clock.advance(1);
    expect(names('leases')).toEqual([]);
    expect(names('namespaces')).toEqual(['b']);
  });

  test('does nothing after it was stopped', async () => {
    const standIns = start();
    standIns.stop();
    store.put('leases', lease('one', { ...deleted, finalizers: ['orphan'] }));
    await clock.advance(3 * 3_600_000);
    expect(names('leases')).toEqual(['a/one']);
  });
});
