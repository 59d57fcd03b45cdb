import { expect, test } from 'vitest';
import { HeldLocks } from '../../src/controller/other-locks.ts';
import { decodeLease } from '../../src/coordination/lease.ts';
import { leaseKey } from '../../src/coordination/lease-key.ts';
import type { Lease } from '../../src/election/model.ts';

const OURS = 'coordinated-leader-election_host_1';

function lock(namespace: string, holderIdentity: string, second = 0, name = 'leader-election-controller') {
  const renewTime = `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;
  const spec = { holderIdentity, leaseDurationSeconds: 15, renewTime };
  return decodeLease({ metadata: { namespace, name }, spec });
}

function see(locks: HeldLocks, lease: Lease, at: number, isGone = false): void {
  locks.see(leaseKey(lease.namespace, lease.name), () => (isGone ? undefined : lease), at);
}

test('a lock counts as held while its holder renews it, by the time of observation (rule 10)', () => {
  const locks = new HeldLocks();
  see(locks, lock('infra', OURS), 0);
  expect(locks.heldAt(14_999)).toEqual(['infra']);
  expect(locks.heldAt(15_000)).toEqual([]);
  see(locks, lock('infra', OURS), 20_000); // listed again, unchanged
  expect(locks.heldAt(20_000)).toEqual([]);
  see(locks, lock('infra', OURS, 20), 20_000);
  expect(locks.heldAt(20_000)).toEqual(['infra']);
});

test.each([
  { name: 'released', seen: lock('infra', '', 1), isGone: false },
  { name: 'deleted', seen: lock('infra', OURS, 1), isGone: true },
])('a lock that is $name has no holder', ({ seen, isGone }) => {
  const locks = new HeldLocks();
  see(locks, lock('infra', OURS), 0);
  see(locks, seen, 1000, isGone);
  expect(locks.heldAt(1000)).toEqual([]);
});

test.each([
  { name: 'ours, in any namespace', lease: lock('infra', OURS), want: ['infra'] },
  { name: 'the built-in’s', lease: lock('kube-system', 'apiserver-1'), want: ['kube-system'] },
  { name: 'another client’s Lease with that name', lease: lock('shop', 'web-1'), want: [] },
  { name: 'another Lease that we hold', lease: lock('infra', OURS, 0, 'web'), want: [] },
])('a lock is recognized by its name and its holder: $name', ({ lease, want }) => {
  const locks = new HeldLocks();
  see(locks, lease, 0);
  expect(locks.heldAt(0)).toEqual(want);
});
