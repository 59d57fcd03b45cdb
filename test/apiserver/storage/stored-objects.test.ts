import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  eachObject,
  findObject,
  listObjects,
  noObjects,
  type StoredObject,
  withObject,
  withoutKey,
} from '../../../src/apiserver/storage/stored-objects.ts';
import { makeObject } from './make-object.ts';

function makeStored(key: string, revision: number): StoredObject {
  return { key, revision, object: makeObject(key), characters: 100 };
}

const namespace = fc.constantFrom('a', 'a-b', 'a.b', 'ab', 'b');
const key = fc.tuple(namespace, fc.integer({ min: 0, max: 400 })).map(([a, n]) => `${a}/${n}`);
const step = fc.record({ isRemoval: fc.integer({ min: 0, max: 3 }).map((n) => n === 0), key });

test('objects are found by key and listed in order, also by namespace, after any insertions and removals', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 3000, size: 'max' }), (steps) => {
      const model = new Map<string, StoredObject>();
      let objects = noObjects;
      for (const [index, next] of steps.entries()) {
        if (next.isRemoval) {
          model.delete(next.key);
          objects = withoutKey(objects, next.key);
        } else {
          const stored = makeStored(next.key, index);
          model.set(next.key, stored);
          objects = withObject(objects, stored);
        }
      }
      const inOrder = [...model.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
      expect(listObjects(objects)).toEqual(inOrder);
      expect([...eachObject(objects)]).toEqual(inOrder);
      for (const each of ['a', 'a-b', 'a.b', 'ab', 'b', 'c']) {
        const inNamespace = inOrder.filter((stored) => stored.key.startsWith(`${each}/`));
        expect(listObjects(objects, each)).toEqual(inNamespace);
      }
      for (const [known, stored] of model) expect(findObject(objects, known)).toBe(stored);
      expect(findObject(objects, 'a/missing')).toBeUndefined();
      expect(objects.chunks.every((chunk) => chunk.length > 0 && chunk.length <= 512)).toBe(true);
    }),
    // The search for a smaller counterexample would take minutes, without a benefit.
    { seed: 4355, numRuns: 30, endOnFailure: true },
  );
});

test('a state does not change when others are derived from it', () => {
  const before = withObject(withObject(noObjects, makeStored('a', 2)), makeStored('b', 3));
  const after = withoutKey(withObject(before, makeStored('a', 4)), 'b');
  expect(listObjects(before).map((stored) => stored.revision)).toEqual([2, 3]);
  expect(listObjects(after).map((stored) => stored.revision)).toEqual([4]);
});

test('removing a missing object changes nothing, and removing the last leaves nothing', () => {
  const objects = withObject(noObjects, makeStored('a', 2));
  expect(withoutKey(objects, 'a')).toEqual(noObjects);
  expect(withoutKey(objects, 'b')).toBe(objects);
  expect(withoutKey(noObjects, 'b')).toBe(noObjects);
});
