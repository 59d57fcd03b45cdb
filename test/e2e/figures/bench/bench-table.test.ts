import { describe, expect, test } from 'vitest';
import { benchTable, describeRatio, describe as describeValue } from './bench-table.ts';
import type { Sample } from './measures.ts';

const base = { leases: 300, measure: 'releaseWrites' } as const;

describe('the table of a run', () => {
  test('has the least, the median and the greatest of rounds, and of their ratios', () => {
    const samples: readonly Sample[] = [
      ...[2, 4, 3].map(
        (value, round): Sample => ({ ...base, contestant: 'this controller', round, values: [value] }),
      ),
      ...[2, 2, 2].map(
        (value, round): Sample => ({ ...base, contestant: 'the limit', round, values: [value] }),
      ),
    ];
    expect(benchTable(samples).split('\n')).toEqual([
      '| what | built-in | this controller | the limit | ours / limit | built-in / ours |',
      '| --- | --- | --- | --- | --- | --- |',
      '| ... writes per election, 300 x 5 |  | 2 / 3 / 4 | 2 | 1.00 / 1.50 / 2.00 |  |',
    ]);
  });

  test('has a row for each statistic of a wait, from the smallest size to the largest', () => {
    const samples: readonly Sample[] = [1000, 20].map((leases) => ({
      leases,
      measure: 'death',
      contestant: 'the limit',
      round: 0,
      values: [5, 7],
    }));
    const titles = benchTable(samples)
      .split('\n')
      .slice(2)
      .map((line) => line.split(' | ')[0]);
    expect(titles).toEqual(
      ['20 x 5: p50', '20 x 5: p99', '1000 x 5: p50', '1000 x 5: p99'].map(
        (end) => `| from a dead holder’s expiry to the new holder, ${end}`,
      ),
    );
  });
});

test.each([
  { measure: 'death', value: 7.25, want: '7.3 ms' },
  { measure: 'death', value: 31.2, want: '31 ms' },
  { measure: 'death', value: Number.POSITIVE_INFINITY, want: 'never' },
  { measure: 'rss', value: 199_900_000, want: '200 MB' },
  { measure: 'steadyCpus', value: 0.0312, want: '3.1 %' },
  { measure: 'firstWrites', value: 1.8, want: '1.80' },
  { measure: 'firstWrites', value: 2, want: '2' },
] as const)('$value of $measure is written as $want', ({ measure, value, want }) => {
  expect(describeValue(measure, value)).toBe(want);
});

test.each([
  { ratio: 1.234, want: '1.23' },
  { ratio: 312.4, want: '312' },
  { ratio: Number.POSITIVE_INFINITY, want: '∞' },
])('a ratio of $ratio is written as $want', ({ ratio, want }) => {
  expect(describeRatio(ratio)).toBe(want);
});
