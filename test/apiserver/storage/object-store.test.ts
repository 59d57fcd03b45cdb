import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Journal, JournalError } from '../../../src/apiserver/storage/journal.ts';
import { ObjectStore } from '../../../src/apiserver/storage/object-store.ts';
import type { StoredObject } from '../../../src/apiserver/storage/stored-objects.ts';
import { makeObject } from './make-object.ts';

function keys(list: readonly StoredObject[] | undefined): readonly string[] | undefined {
  return list?.map(({ key }) => key);
}

test('the first write has revision 2, and an object carries its own as resourceVersion', () => {
  const store = new ObjectStore();
  expect(store.revision).toBe(1);
  const stored = store.put('leases', makeObject('a', { namespace: 'n' }));
  expect(stored).toMatchObject({ key: 'n/a', revision: 2 });
  expect(stored.object.metadata).toEqual({ name: 'a', namespace: 'n', resourceVersion: '2' });
  expect(store.get('leases', 'n/a')).toBe(stored);
  expect(store.revision).toBe(2);
});

test('an object without a namespace differs from one in the namespace with its name', () => {
  const store = new ObjectStore();
  store.put('things', makeObject('a'));
  store.put('things', makeObject('b', { namespace: 'a' }));
  expect(keys(store.list('things'))).toEqual(['a', 'a/b']);
  expect(keys(store.list('things', 'a'))).toEqual(['a/b']);
});

test('a removal returns the last state, with the resourceVersion of the deletion', () => {
  const store = new ObjectStore();
  const last = store.put('leases', makeObject('a', { value: 1 }));
  const removed = store.remove('leases', 'a');
  expect(removed.revision).toBe(3);
  expect(removed.object).toEqual({ ...last.object, metadata: { name: 'a', resourceVersion: '3' } });
  expect(store.history('leases').at(1)).toEqual({ type: 'DELETED', stored: removed, previous: last });
  expect(() => store.remove('leases', 'a')).toThrow('there is no a in leases');
});

test('the history contains each write', () => {
  const store = new ObjectStore();
  const added = store.put('leases', makeObject('a', { value: 1 }));
  const modified = store.put('leases', makeObject('a', { value: 2 }));
  expect(store.history('leases').at(0)).toEqual({ type: 'ADDED', stored: added });
  expect(store.history('leases').at(1)).toEqual({ type: 'MODIFIED', stored: modified, previous: added });
  expect(store.history('namespaces').at(0)).toBeUndefined();
});

test('listeners get each write of their kind of object until they unsubscribe', () => {
  const store = new ObjectStore();
  const heard: number[] = [];
  const unsubscribe = store.onChange('leases', () => heard.push(store.revision));
  store.put('leases', makeObject('a'));
  store.put('namespaces', makeObject('a'));
  store.remove('leases', 'a');
  unsubscribe();
  store.put('leases', makeObject('a'));
  expect(heard).toEqual([2, 4]);
});

test('a snapshot does not change', () => {
  const store = new ObjectStore();
  store.put('leases', makeObject('a'));
  const before = store.snapshot('leases');
  store.remove('leases', 'a');
  expect(before.chunks.flat().map(({ key }) => key)).toEqual(['a']);
});

/** Stores nothing, and fails on request. */
class FailingJournal implements Journal {
  isFailing = false;
  isClosed = false;

  load() {
    return { revision: undefined, objects: [] };
  }

  write(): void {
    if (this.isFailing) throw new JournalError('the disk is full');
  }

  remove(): void {
    this.write();
  }

  close(): void {
    this.isClosed = true;
  }
}

test('a write that cannot be stored changes nothing', () => {
  const journal = new FailingJournal();
  const store = new ObjectStore({ journal });
  const kept = store.put('leases', makeObject('a', { value: 1 }));
  let heard = 0;
  store.onChange('leases', () => heard++);
  journal.isFailing = true;
  expect(() => store.put('leases', makeObject('a', { value: 2 }))).toThrow(JournalError);
  expect(() => store.put('leases', makeObject('b'))).toThrow('the disk is full');
  expect(() => store.remove('leases', 'a')).toThrow('the disk is full');
  expect(store.list('leases')).toEqual([kept]);
  expect({ revision: store.revision, events: store.history('leases').end, heard }).toEqual({
    revision: 2,
    events: 1,
    heard: 0,
  });
  journal.isFailing = false;
  expect(store.put('leases', makeObject('b')).revision).toBe(3);
  store.close();
  expect(journal.isClosed).toBe(true);
});

test('a loaded store continues from the last revision, without a history', () => {
  const stored = { key: 'n/a', revision: 7, object: makeObject('a', { namespace: 'n' }), characters: 100 };
  const journal: Journal = {
    load: () => ({ revision: 9, objects: [{ storage: 'leases', stored }] }),
    write: () => {},
    remove: () => {},
    close: () => {},
  };
  const store = new ObjectStore({ journal });
  expect(store.get('leases', 'n/a')).toBe(stored);
  expect(store.revision).toBe(9);
  expect(store.listAt('leases', 9)).toEqual([stored]);
  expect(store.listAt('leases', 8)).toBeUndefined();
  expect(store.history('leases').since).toBe(9);
  expect(store.put('leases', makeObject('a', { namespace: 'n' })).revision).toBe(10);
});

const storage = fc.constantFrom('leases', 'namespaces');
const write = fc.record({
  isRemoval: fc.integer({ min: 0, max: 2 }).map((n) => n === 0),
  storage,
  namespace: fc.constantFrom('a', 'a-b', 'b'),
  name: fc.constantFrom('x', 'y', 'z'),
});

test('a list at a revision is the list of that time, as long as the history reaches back', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 60 }), fc.integer({ min: 1, max: 12 }), (writes, limit) => {
      const store = new ObjectStore({ historyLimit: limit });
      const lists = new Map([[1, { leases: store.list('leases'), namespaces: store.list('namespaces') }]]);
      for (const [index, { isRemoval, storage, namespace, name }] of writes.entries()) {
        if (!isRemoval) store.put(storage, makeObject(name, { namespace, value: index }));
        else if (store.get(storage, `${namespace}/${name}`)) store.remove(storage, `${namespace}/${name}`);
        lists.set(store.revision, { leases: store.list('leases'), namespaces: store.list('namespaces') });
      }
      for (const [revision, then] of lists) {
        for (const each of ['leases', 'namespaces'] as const) {
          const isKnown = revision >= store.history(each).since;
          expect(store.listAt(each, revision)).toEqual(isKnown ? then[each] : undefined);
          const inNamespace = then[each].filter(({ key }) => key.startsWith('a/'));
          expect(store.listAt(each, revision, 'a')).toEqual(isKnown ? inNamespace : undefined);
        }
      }
      expect(store.listAt('leases', store.revision)).toEqual(store.list('leases'));
      expect(store.listAt('leases', store.revision + 1)).toBeUndefined();
    }),
    { seed: 4355, numRuns: 200 },
  );
});
