import { describe, expect, test } from 'vitest';
import {
  isReleased,
  newLockLease,
  readLockRecord,
  release,
  withRecord,
} from '../../../src/controller/lock/lock-record.ts';
import { FIELD_MANAGER } from '../../../src/coordination/lease.ts';
import { isNotNewer } from '../../../src/kubernetes/objects.ts';

const WALL = 1_767_225_600_123_456n;
const WRITTEN = '2026-01-01T00:00:00.123456Z';
const change = { holder: 'me', leaseDurationMs: 15_000, wallTime: WALL };

describe('the written record', () => {
  test('of a new Lease is the one of client-go’s elector', () => {
    expect(newLockLease({ namespace: 'kube-system', name: 'leader-election-controller' }, change)).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'kube-system', name: 'leader-election-controller' },
      spec: {
        holderIdentity: 'me',
        leaseDurationSeconds: 15,
        acquireTime: WRITTEN,
        renewTime: WRITTEN,
        leaseTransitions: 0,
      },
    });
  });

  test.each([
    {
      name: 'a renewal changes renewTime alone',
      spec: { holderIdentity: 'me', acquireTime: 'a', renewTime: 'r', leaseTransitions: 3 },
      want: { holderIdentity: 'me', acquireTime: 'a', renewTime: WRITTEN, leaseTransitions: 3 },
    },
    {
      name: 'another holder is no transition at the maximum count',
      spec: { holderIdentity: 'other', leaseTransitions: 2 ** 31 - 1 },
      want: {
        holderIdentity: 'me',
        leaseDurationSeconds: 15,
        acquireTime: WRITTEN,
        renewTime: WRITTEN,
        leaseTransitions: 2 ** 31 - 1,
      },
    },
    {
      name: 'a renewal changes renewTime even if the clock stands still',
      spec: { holderIdentity: 'me', acquireTime: 'a', renewTime: WRITTEN, leaseTransitions: 3 },
      want: {
        holderIdentity: 'me',
        acquireTime: 'a',
        renewTime: '2026-01-01T00:00:00.123457Z',
        leaseTransitions: 3,
      },
    },
    {
      name: 'another holder is a transition',
      spec: { holderIdentity: 'you', acquireTime: 'a', renewTime: 'r', leaseTransitions: 3 },
      want: { holderIdentity: 'me', acquireTime: WRITTEN, renewTime: WRITTEN, leaseTransitions: 4 },
    },
    {
      name: 'a holder after none is a transition',
      spec: { holderIdentity: '' },
      want: { holderIdentity: 'me', acquireTime: WRITTEN, renewTime: WRITTEN, leaseTransitions: 1 },
    },
  ])('$name', ({ spec, want }) => {
    const lease = withRecord({ metadata: { name: 'lock' }, spec }, change);
    expect(lease['spec']).toEqual({ ...want, leaseDurationSeconds: 15 });
  });

  test('of a release keeps the transitions', () => {
    const spec = { holderIdentity: 'me', acquireTime: 'a', renewTime: 'r', leaseTransitions: 3 };
    const lease = withRecord(
      { metadata: { name: 'lock' }, spec },
      { holder: '', leaseDurationMs: 1000, wallTime: WALL },
    );
    expect(lease['spec']).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: WRITTEN,
      renewTime: WRITTEN,
      leaseTransitions: 3,
    });
  });

  test('of a release is no transition if the Lease has no holder', () => {
    const released = { holder: '', leaseDurationMs: 1000, wallTime: WALL };
    const lease = withRecord({ metadata: { name: 'lock' }, spec: { acquireTime: 'a' } }, released);
    expect(lease['spec']).toMatchObject({ holderIdentity: '', acquireTime: 'a' });
  });

  test('keeps every other field', () => {
    const found = {
      metadata: { name: 'lock', resourceVersion: '7', labels: { a: 'b' } },
      spec: { holderIdentity: 'you', strategy: 's', preferredHolder: 'p', future: [1] },
      status: { future: true },
    };
    expect(withRecord(found, change)).toMatchObject({
      metadata: found.metadata,
      spec: { strategy: 's', preferredHolder: 'p', future: [1] },
      status: { future: true },
    });
  });
});

test.each([
  { name: 'no spec', lease: {} },
  { name: 'fields of the wrong type', lease: { spec: { holderIdentity: 1, leaseDurationSeconds: '15' } } },
  { name: 'nulls', lease: { spec: { holderIdentity: null, leaseDurationSeconds: null, renewTime: null } } },
  { name: 'transitions that are a text', lease: { spec: { leaseTransitions: '3' } } },
  { name: 'numbers out of range', lease: { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } } },
])('a record with $name has no holder', ({ lease }) => {
  expect(readLockRecord({ metadata: { name: 'lock' }, ...lease })).toEqual({
    holder: '',
    leaseDurationMs: undefined,
    renewTime: undefined,
    leaseTransitions: 0,
  });
});

test.each([
  { name: 'no holder, for a second: a release by a holder', holder: '', leaseDurationMs: 1000, want: true },
  {
    name: 'no holder, for longer: another client emptied it',
    holder: '',
    leaseDurationMs: 15_000,
    want: false,
  },
  { name: 'no holder and no duration', holder: '', leaseDurationMs: undefined, want: false },
  { name: 'a holder, for a second', holder: 'x', leaseDurationMs: 1000, want: false },
])('a record of $name is a release: $want', ({ holder, leaseDurationMs, want }) => {
  expect(isReleased({ holder, leaseDurationMs, renewTime: 'r', leaseTransitions: 0 })).toBe(want);
});

test('a holder releases at once, or lets the lock expire when no other process can act any more', () => {
  expect(release('me', 0)).toEqual({ holder: '', leaseDurationMs: 1000 });
  expect(release('me', 1)).toEqual({ holder: 'me', leaseDurationMs: 1 });
});

test.each([
  { name: 'an earlier version', version: '9', seen: '10', want: true },
  { name: 'the same version', version: '10', seen: '10', want: true },
  { name: 'a later version', version: '11', seen: '10', want: false },
  { name: 'a version that cannot be compared', version: 'b', seen: '10', want: false },
  { name: 'no version', version: undefined, seen: '10', want: false },
  { name: 'the first version seen', version: '9', seen: undefined, want: false },
])('$name is distinguished from news: $want', ({ version, seen, want }) => {
  const at = (resourceVersion: string | undefined) => ({
    metadata: { name: 'lock', ...(resourceVersion !== undefined && { resourceVersion }) },
  });
  expect(isNotNewer(at(version), seen === undefined ? undefined : at(seen))).toBe(want);
});

test.each([
  { name: 'its holder, if its manager owns holderIdentity', field: 'f:holderIdentity', want: true },
  { name: 'not its holder, if it owns only another field', field: 'f:renewTime', want: false },
])('a record shows that one of our replicas wrote $name', ({ field, want }) => {
  const fieldsV1 = { 'f:spec': { [field]: {} } };
  const lease = { metadata: { name: 'lock', managedFields: [{ manager: FIELD_MANAGER, fieldsV1 }] } };
  expect(readLockRecord(lease).isWrittenByOurs).toBe(want);
});
