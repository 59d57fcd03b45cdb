import { expect, test } from 'vitest';
import { LineBatches } from '../../../src/apiserver/watch/watch-rounds.ts';

const [a, b, c] = [Buffer.from('a\n'), Buffer.from('b\n'), Buffer.from('c\n')];

test('equal lines are joined once', () => {
  const batches = new LineBatches();
  const joined = batches.join([a, b]);
  expect(joined.toString()).toBe('a\nb\n');
  expect(batches.join([a, b])).toBe(joined);
  expect(batches.join([a])).toBe(a);
});

test.each([
  { name: 'more lines', lines: [a, b, c], want: 'a\nb\nc\n' },
  { name: 'another end', lines: [a, Buffer.from('B\n')], want: 'a\nB\n' },
  { name: 'another beginning', lines: [b, b], want: 'b\nb\n' },
] satisfies { name: string; lines: [Buffer, ...Buffer[]]; want: string }[])(
  'other lines are not taken for them: $name',
  ({ lines: [first, ...others], want }) => {
    const batches = new LineBatches();
    batches.join([a, b]);
    expect(batches.join([first, ...others]).toString()).toBe(want);
  },
);

test('forgotten lines are joined again', () => {
  const batches = new LineBatches();
  const joined = batches.join([a, b]);
  batches.forget();
  expect(batches.join([a, b])).not.toBe(joined);
  expect(batches.join([a, b])).toEqual(joined);
});
