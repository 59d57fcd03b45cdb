import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { DemoState } from '../../src/demo/demo-state.ts';
import { type FrameSize, renderFrame, wrapText } from '../../src/demo/frame.ts';
import { makeHappening, makeLease, makeRow, makeState } from './make-state.ts';

const surroundings = {
  address: 'http://127.0.0.1:41234/',
  hints: [
    'kubectl --kubeconfig /tmp/cle-demo-Ab12Cd/kubeconfig get leases,leasecandidates',
    'On a cluster of yours: npm start -- run --kubeconfig FILE --dry-run',
  ],
};

const beginning = makeState({ lease: undefined, candidates: [], reason: 'NoCandidates', events: [] });

const preemption = makeState({
  lease: makeLease({ holder: 'sample-2', preferredHolder: 'sample-4', transitions: 1, remainingMs: 800 }),
  reason: 'PreemptionPending',
  candidates: [
    makeRow({
      name: 'sample-4',
      binaryVersion: '1.34.0',
      emulationVersion: '1.34.0',
      condition: 'preferred',
    }),
    makeRow({ name: 'sample-3', condition: 'crashed' }),
    makeRow({ name: 'sample-2', condition: 'yielding' }),
    makeRow({ condition: 'paused' }),
  ],
});

const conflict = makeState({
  lease: makeLease({ remainingMs: 0 }),
  reason: 'StrategyConflict',
  candidates: [
    makeRow({ name: 'sample-3', condition: 'crashed' }),
    makeRow({ name: 'sample-5', strategy: 'example.com/NewestFirst', condition: 'live' }),
  ],
  events: [
    makeHappening(9000, {
      who: 'coordinator',
      text: 'StrategyConflict: waits for agreement on OldestEmulationVersion or example.com/NewestFirst',
      isTrouble: true,
    }),
  ],
});

const crowd = makeState({
  candidates: Array.from({ length: 30 }, (_, index) => makeRow({ name: `sample-${index + 1}` })),
});

function draw(state: DemoState, size: FrameSize): string {
  return renderFrame(state, surroundings, size)
    .map((line) => `|${stripVTControlCharacters(line).slice(0, size.columns).padEnd(size.columns)}|`)
    .join('\n');
}

describe('a frame', () => {
  test.each([
    { name: 'at 80 columns by 24 rows', state: makeState(), columns: 80, rows: 24, file: 'usual' },
    { name: 'at 120 columns by 40 rows', state: makeState(), columns: 120, rows: 40, file: 'wide' },
    { name: 'at 50 columns by 24 rows', state: makeState(), columns: 50, rows: 24, file: 'narrow' },
    { name: 'at 30 columns by 12 rows', state: makeState(), columns: 30, rows: 12, file: 'small' },
    { name: 'before anything has happened', state: beginning, columns: 80, rows: 24, file: 'beginning' },
    { name: 'while a holder is to yield', state: preemption, columns: 80, rows: 24, file: 'preemption' },
    { name: 'in a conflict', state: conflict, columns: 80, rows: 24, file: 'conflict' },
    { name: 'of more candidates than it has rows', state: crowd, columns: 80, rows: 24, file: 'crowd' },
  ])('is drawn correctly $name', async ({ state, columns, rows, file }) => {
    await expect(`${draw(state, { columns, rows })}\n`).toMatchFileSnapshot(`frames/${file}.txt`);
  });
});

test('a name cannot disturb a frame', () => {
  const lines = renderFrame(
    makeState({ lease: makeLease({ holder: '\x1b[2Jgone' }), candidates: [makeRow({ name: 'a\nb' })] }),
    surroundings,
    { columns: 80, rows: 24 },
  ).map(stripVTControlCharacters);
  expect(lines).toContainEqual(expect.stringContaining('holder ^[[2Jgone'));
  expect(lines).toContainEqual(expect.stringContaining('  a^Jb'));
});

test.each([
  { text: 'one two three', columns: 7, want: ['one two', 'three'] },
  { text: 'one two three', columns: 13, want: ['one two three'] },
  { text: 'one two three', columns: 4, want: ['one', 'two', 'thre', 'e'] },
  { text: 'one', columns: 0, want: ['o', 'n', 'e'] },
  { text: '', columns: 5, want: [''] },
])('"$text" is wrapped at $columns columns', ({ text, columns, want }) => {
  expect(wrapText(text, columns)).toEqual(want);
});
