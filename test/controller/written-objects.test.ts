import { expect, test } from 'vitest';
import { WrittenObjects, writtenBy } from '../../src/controller/written-objects.ts';
import { wallAt } from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const a = { kind: 'candidate', name: 'a', uid: 'u' } as const;
const b = { kind: 'candidate', name: 'b', uid: 'v' } as const;
/** Of the same name, from the other source (rule 13). */
const twin = { ...a, uid: 'w' } as const;

test('what is noted about one object is neither another one’s, be it of the same name, nor another Lease’s', () => {
  const objects = new WrittenObjects<number>();
  objects.set(KEY, LEASE, 1);
  objects.set(KEY, a, 2);
  objects.set(KEY, b, 3);
  objects.delete(KEY, a);
  objects.set(KEY, twin, 5);
  objects.delete(KEY, { kind: 'candidate', name: 'never', uid: 'x' });
  expect([LEASE, a, b, twin].map((object) => objects.get(KEY, object))).toEqual([1, undefined, 3, 5]);
  expect(objects.get('kube-system/other', LEASE)).toBeUndefined();
  objects.set('kube-system/other', b, 4);
  expect(objects.size).toBe(4);
  objects.forget(KEY);
  expect(objects.size).toBe(1);
  for (const object of [LEASE, a, b, twin]) expect(objects.get(KEY, object)).toBeUndefined();
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
