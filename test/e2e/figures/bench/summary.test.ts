import { describe, expect, test } from 'vitest';
import type { ContestantName } from './contestant.ts';
import type { Sample } from './measures.ts';
import { byRound, ratios, ratiosOfMeasures, spreadOf } from './summary.ts';

const sample = (contestant: ContestantName, round: number, ...values: number[]): Sample => ({
  contestant,
  leases: 300,
  round,
  measure: 'release',
  values,
});
const subject = { measure: 'release', leases: 300, statistic: 'p50' } as const;

describe('the spread of rounds', () => {
  test('is the least, the median and the greatest', () => {
    expect(spreadOf([30, 10, 20])).toEqual({ least: 10, median: 20, greatest: 30 });
  });

  test('does not exist where there were none', () => {
    expect(() => spreadOf([])).toThrow(RangeError);
  });
});

describe('the statistic of each round', () => {
  const samples = [
    sample('the limit', 0, 1, 2, 3),
    sample('the limit', 1, 5, 6, 9),
    sample('built-in', 0, 100),
  ];

  test('is of the contestant alone', () => {
    expect([...byRound(samples, 'the limit', subject)]).toEqual([
      [0, 2],
      [1, 6],
    ]);
  });

  test('is the greatest of few waits, where it is of one in a hundred', () => {
    expect(byRound(samples, 'the limit', { ...subject, statistic: 'p99' }).get(1)).toBe(9);
  });

  test('leaves out what was not played', () => {
    expect(byRound([sample('the limit', 0)], 'the limit', subject).size).toBe(0);
  });
});

describe('ratios', () => {
  test('are of contestants in the same round', () => {
    const samples = [
      sample('this controller', 0, 30),
      sample('this controller', 1, 40),
      sample('this controller', 2, 50),
      sample('the limit', 0, 10),
      sample('the limit', 1, 20),
    ];
    expect(ratios(samples, 'this controller', 'the limit', subject)).toEqual([3, 2]);
  });

  test('are infinite where a wait came to nothing', () => {
    const samples = [sample('built-in', 0, Number.POSITIVE_INFINITY), sample('this controller', 0, 10)];
    expect(ratios(samples, 'built-in', 'this controller', subject)).toEqual([Number.POSITIVE_INFINITY]);
  });

  test.each([0, -3, Number.POSITIVE_INFINITY])('do not exist beside a wait of %s', (wait) => {
    const samples = [sample('this controller', 0, 30), sample('the limit', 0, wait)];
    expect(ratios(samples, 'this controller', 'the limit', subject)).toEqual([]);
  });

  test('are of two measures of this controller', () => {
    const samples: readonly Sample[] = [
      { ...sample('this controller', 0, 30), measure: 'cold' },
      { ...sample('this controller', 0, 20), measure: 'warm' },
    ];
    expect(ratiosOfMeasures(samples, 300, 'cold', 'warm')).toEqual([1.5]);
  });
});
