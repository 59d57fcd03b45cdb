import { describe, expect, test } from 'vitest';
import type { DemoState } from '../../src/demo/demo-state.ts';
import {
  cutLine,
  type FrameSize,
  harmless,
  renderFrame,
  span,
  textOf,
  wrapText,
} from '../../src/demo/frame.ts';
import { makeHappening, makeLease, makeRow, makeState } from './make-state.ts';

const surroundings = {
  address: 'http://127.0.0.1:41234/',
  hints: [
    'kubectl --kubeconfig /tmp/cle-demo-Ab12Cd/kubeconfig get leases,leasecandidates',
    'On a cluster of yours: npm start -- run --kubeconfig FILE --dry-run',
  ],
};

const beginning = makeState({ lease: undefined, candidates: [], reason: undefined, happenings: [] });

const preemption = makeState({
  lease: makeLease({ holder: 'sample-2', preferredHolder: 'sample-4', transitions: 1, remainingMs: 800 }),
  reason: 'PreemptionPending',
  candidates: [
    makeRow({
      name: 'sample-4',
      binaryVersion: '1.34.0',
      emulationVersion: '1.34.0',
      condition: 'preferred',
      isPreferred: true,
    }),
    makeRow({ name: 'sample-3', condition: 'crashed' }),
    makeRow({ name: 'sample-2', condition: 'yielding', isHolder: true }),
    makeRow({ condition: 'paused' }),
  ],
});

const conflict = makeState({
  lease: makeLease({ remainingMs: 0 }),
  reason: 'StrategyConflict',
  candidates: [
    makeRow({ name: 'sample-3', condition: 'crashed', isHolder: true }),
    makeRow({ name: 'sample-5', strategy: 'example.com/NewestFirst', condition: 'fresh' }),
  ],
  happenings: [
    makeHappening(9000, {
      who: 'coordinator',
      reason: 'StrategyConflict',
      text: 'some want OldestEmulationVersion, others example.com/NewestFirst',
      isTrouble: true,
    }),
  ],
});

const crowd = makeState({
  candidates: Array.from({ length: 30 }, (_, index) => makeRow({ name: `sample-${index + 1}` })),
});

function draw(state: DemoState, size: FrameSize): string {
  return renderFrame(state, surroundings, size)
    .map((line) => `|${textOf(line).padEnd(size.columns)}|`)
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
  ])('is drawn as it should be $name', async ({ state, columns, rows, file }) => {
    await expect(`${draw(state, { columns, rows })}\n`).toMatchFileSnapshot(`frames/${file}.txt`);
  });
});

describe('a line', () => {
  const line = [span('holder ', 'dim'), span('sample-3', 'strong'), span(' leads')];

  test.each([
    { columns: 21, want: 'holder sample-3 leads' },
    { columns: 20, want: 'holder sample-3 lea~' },
    { columns: 16, want: 'holder sample-3~' },
    { columns: 8, want: 'holder ~' },
    { columns: 1, want: '~' },
    { columns: 0, want: '' },
  ])('is cut to $columns columns', ({ columns, want }) => {
    expect(textOf(cutLine(line, columns))).toBe(want);
  });

  test('keeps its styles where it is cut', () => {
    expect(cutLine(line, 10)).toEqual([
      { text: 'holder ', style: 'dim' },
      { text: 'sa', style: 'strong' },
      { text: '~', style: 'dim' },
    ]);
  });
});

describe('text', () => {
  test.each([
    { text: 'one two three', columns: 7, want: ['one two', 'three'] },
    { text: 'one two three', columns: 13, want: ['one two three'] },
    { text: 'one two three', columns: 4, want: ['one', 'two', 'thre', 'e'] },
    { text: 'one', columns: 0, want: ['o', 'n', 'e'] },
    { text: '', columns: 5, want: [''] },
  ])('"$text" is wrapped at $columns columns', ({ text, columns, want }) => {
    expect(wrapText(text, columns)).toEqual(want);
  });

  test.each([
    { name: 'an escape sequence', text: '\x1b[2Jgone', want: '?[2Jgone' },
    { name: 'a new line', text: 'a\nb', want: 'a?b' },
    { name: 'what is wider than one column', text: 'a界b', want: 'a?b' },
    { name: 'nothing of the usual', text: 'sample-3 (~!)', want: 'sample-3 (~!)' },
  ])('cannot do harm with $name', ({ text, want }) => {
    expect(harmless(text)).toBe(want);
  });
});
