import { describe, expect, test } from 'vitest';
import { FairKeys } from '../../../src/controller/queue/fair-keys.ts';

/** Everything that is left, in the order in which it comes out. */
function drain(keys: FairKeys): readonly string[] {
  const order: string[] = [];
  for (let key = keys.shift(); key !== undefined; key = keys.shift()) order.push(key);
  return order;
}

interface Entry {
  readonly key: string;
  readonly namespace: string;
  readonly level?: number;
  readonly since?: number;
}

describe('keys come out', () => {
  test.each<{ name: string; entries: readonly Entry[]; want: readonly string[] }>([
    { name: 'not at all when there are none', entries: [], want: [] },
    {
      name: 'by since when they have waited, whenever they came',
      entries: [
        { key: 'late', namespace: 'a', since: 30 },
        { key: 'early', namespace: 'a', since: 10 },
        { key: 'middle', namespace: 'a', since: 20 },
      ],
      want: ['early', 'middle', 'late'],
    },
    {
      name: 'by their level before that, however long the others have waited',
      entries: [
        { key: 'busy', namespace: 'a', level: 1, since: -1e9 },
        { key: 'idle', namespace: 'a', level: 0, since: 1e9 },
      ],
      want: ['idle', 'busy'],
    },
    {
      name: 'of each namespace in turn',
      entries: [
        { key: 'a1', namespace: 'a' },
        { key: 'a2', namespace: 'a' },
        { key: 'a3', namespace: 'a' },
        { key: 'b1', namespace: 'b', level: 5, since: 99 },
        { key: 'c1', namespace: 'c' },
        { key: 'c2', namespace: 'c' },
      ],
      want: ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'],
    },
    {
      name: 'in the order in which they came, where nothing else tells them apart',
      entries: [
        { key: 'one', namespace: 'a' },
        { key: 'two', namespace: 'a' },
        { key: 'three', namespace: 'a' },
      ],
      want: ['one', 'two', 'three'],
    },
    {
      name: 'once, where they were put last',
      entries: [
        { key: 'moved', namespace: 'a', since: 10 },
        { key: 'other', namespace: 'a', since: 20 },
        { key: 'moved', namespace: 'a', since: 30 },
      ],
      want: ['other', 'moved'],
    },
  ])('$name', ({ entries, want }) => {
    const keys = new FairKeys();
    for (const { key, namespace, level = 0, since = 0 } of entries) keys.set(key, namespace, level, since);
    expect(drain(keys)).toEqual(want);
  });

  test('of a namespace that comes back after those that are there', () => {
    const keys = new FairKeys();
    keys.set('a1', 'a', 0, 0);
    keys.set('b1', 'b', 0, 0);
    expect(keys.shift()).toBe('a1');
    keys.set('a2', 'a', 0, 0);
    expect(drain(keys)).toEqual(['b1', 'a2']);
  });

  test('without those that were taken out', () => {
    const keys = new FairKeys();
    keys.set('a1', 'a', 0, 0);
    keys.set('b1', 'b', 0, 0);
    keys.set('b2', 'b', 0, 0);
    keys.delete('a1', 'a');
    keys.delete('b1', 'b');
    keys.delete('never', 'there');
    expect(drain(keys)).toEqual(['b2']);
    keys.set('a1', 'a', 0, 0);
    keys.clear();
    expect(drain(keys)).toEqual([]);
  });
});
