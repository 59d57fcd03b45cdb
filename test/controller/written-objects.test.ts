import { expect, test } from 'vitest';
import { WrittenObjects, writtenBy } from '../../src/controller/written-objects.ts';
import { wallAt } from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const a = { kind: 'candidate', name: 'a' } as const;
const b = { kind: 'candidate', name: 'b' } as const;

test('what is noted about one object is neither another one’s nor another Lease’s', () => {
  const objects = new WrittenObjects<number>();
  objects.set(KEY, LEASE, 1);
  objects.set(KEY, a, 2);
  objects.set(KEY, b, 3);
  objects.delete(KEY, a);
  objects.delete(KEY, { kind: 'candidate', name: 'never' });
  expect([LEASE, a, b].map((object) => objects.get(KEY, object))).toEqual([1, undefined, 3]);
  expect(objects.get('kube-system/other', LEASE)).toBeUndefined();
  objects.set('kube-system/other', b, 4);
  expect(objects.size).toBe(3);
  objects.forget(KEY);
  expect(objects.size).toBe(1);
  expect([LEASE, a, b].map((object) => objects.get(KEY, object))).toEqual([undefined, undefined, undefined]);
});

test('a ping and a deletion write the candidate, everything else the Lease', () => {
  const candidate = { name: 'a', uid: 'u', resourceVersion: '1' };
  expect(
    writtenBy({
      kind: 'PingCandidate',
      source: 'native',
      ...candidate,
      pingTime: wallAt(0),
      purpose: 'election',
    }),
  ).toEqual(a);
  expect(writtenBy({ kind: 'DeleteCandidate', source: 'native', ...candidate })).toEqual(a);
  expect(writtenBy({ kind: 'CreateLease', strategy: 's', grant: undefined })).toEqual(LEASE);
});
