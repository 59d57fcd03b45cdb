import fc from 'fast-check';
import { expect, test } from 'vitest';
import { History } from '../../../src/apiserver/storage/history.ts';
import type { StoreEvent } from '../../../src/apiserver/storage/stored-objects.ts';
import { makeObject } from './make-object.ts';

function makeEvent(revision: number, characters = 100): StoreEvent {
  return { type: 'ADDED', stored: { key: 'a', revision, object: makeObject('a'), characters } };
}

function makeHistory(limit: number, since: number, revisions: readonly number[]): History {
  const history = new History({ events: limit, characters: 10_000 }, since);
  for (const revision of revisions) history.append(makeEvent(revision));
  return history;
}

function revisionAt(history: History, position: number): number | undefined | 'expired' {
  const event = history.at(position);
  return typeof event === 'object' ? event.stored.revision : event;
}

test('events leave in order, and the history knows its start', () => {
  const history = makeHistory(2, 5, [6, 8]);
  expect(history.since).toBe(5);
  history.append(makeEvent(12));
  expect(history.since).toBe(7);
  expect([0, 1, 2, 3].map((position) => revisionAt(history, position))).toEqual([
    'expired',
    8,
    12,
    undefined,
  ]);
});

test('a reader from a position gets every later event, in order', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 30 }),
      fc.nat({ max: 60 }),
      (limit, steps, after) => {
        let revision = 10;
        const revisions = steps.map((step) => {
          revision += step;
          return revision;
        });
        const history = makeHistory(limit, 10, revisions);
        const position = history.positionAfter(after);
        expect(position === 'expired').toBe(after < history.since);
        if (position === 'expired') return;
        const read: (number | undefined | 'expired')[] = [];
        for (let next = position; next < history.end; next++) read.push(revisionAt(history, next));
        expect(read).toEqual(revisions.filter((each) => each > after));
      },
    ),
    { seed: 4355, numRuns: 300 },
  );
});

test('large events push out others, but never the last one', () => {
  const history = new History({ events: 5, characters: 1000 }, 5);
  const sizes = [400, 400, 100, 300, 5000, 10, 980];
  const kept = sizes.map((characters, index) => {
    history.append(makeEvent(6 + index, characters));
    const positions = Array.from({ length: history.end }, (_, position) => revisionAt(history, position));
    return positions.filter((revision) => revision !== 'expired');
  });
  expect(kept).toEqual([[6], [6, 7], [6, 7, 8], [7, 8, 9], [10], [11], [11, 12]]);
  expect(history.since).toBe(10);
  expect(history.positionAfter(9)).toBe('expired');
  expect(history.positionAfter(10)).toBe(5);
});

test('the replaced object of an event counts as well', () => {
  const history = new History({ events: 5, characters: 1000 }, 5);
  const { stored } = makeEvent(6, 600);
  history.append({ type: 'ADDED', stored });
  history.append({ type: 'MODIFIED', stored: { ...stored, revision: 7 }, previous: stored });
  expect(history.at(0)).toBe('expired');
});
