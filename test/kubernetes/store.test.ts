import { expect, test } from 'vitest';
import { ObjectStore } from '../../src/kubernetes/store.ts';

const make = (uid: string, resourceVersion: string) => ({
  metadata: { namespace: 'default', name: 'one', uid, resourceVersion },
});

test.each([
  { name: 'in its last state', deleted: make('a', '2'), want: 'a 2' },
  { name: 'as stored, if only the deletion of its successor arrives', deleted: make('b', '4'), want: 'a 1' },
])('a deleted object is reported $name', ({ deleted, want }) => {
  const store = new ObjectStore(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
  store.put(make('a', '1'));
  expect(store.remove(deleted)).toEqual([{ type: 'deleted', object: want, previous: 'a 1' }]);
  expect([...store.values()]).toEqual([]);
});
