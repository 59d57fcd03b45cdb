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

const outcomes: readonly {
  readonly name: string;
  readonly limit: number;
  readonly revisions: readonly number[];
  readonly after: number;
  readonly want: number | 'expired';
}[] = [
  { name: 'nothing has happened', limit: 3, revisions: [], after: 5, want: 0 },
  { name: 'before the beginning', limit: 3, revisions: [], after: 4, want: 'expired' },
  { name: 'nothing is lost yet', limit: 3, revisions: [6, 8, 9], after: 5, want: 0 },
  { name: 'between two events', limit: 3, revisions: [6, 8, 9], after: 7, want: 1 },
  { name: 'at an event', limit: 3, revisions: [6, 8, 9], after: 8, want: 2 },
  { name: 'at the last event', limit: 3, revisions: [6, 8, 9], after: 9, want: 3 },
  { name: 'in the future', limit: 3, revisions: [6, 8, 9], after: 1000, want: 3 },
  { name: 'the event after it is the oldest', limit: 2, revisions: [6, 8, 9], after: 7, want: 1 },
  { name: 'the event after it is lost', limit: 2, revisions: [6, 8, 9], after: 5, want: 'expired' },
  { name: 'just before the oldest is another', limit: 2, revisions: [6, 8, 9], after: 6, want: 'expired' },
];

test.each(outcomes)('the position after a revision: $name', ({ limit, revisions, after, want }) => {
  expect(makeHistory(limit, 5, revisions).positionAfter(after)).toBe(want);
});

test('events leave in the order in which they came, and the history tells since when it is whole', () => {
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

test('whoever reads from a position gets every event after the revision it stands for, in order', () => {
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

test('what an event has replaced counts as well', () => {
  const history = new History({ events: 5, characters: 1000 }, 5);
  const { stored } = makeEvent(6, 600);
  history.append({ type: 'ADDED', stored });
  history.append({ type: 'MODIFIED', stored: { ...stored, revision: 7 }, previous: stored });
  expect(history.at(0)).toBe('expired');
});
