import { describe, expect, test } from 'vitest';
import { firstOf } from '../../src/election/strategies.ts';
import { countedSteps, tooFastGrowth } from './counted-steps.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const ascending = (a: number, b: number) => a - b;

describe('steps', () => {
  test('are the blocks that the program runs', () => {
    const few = countedSteps(() => firstOf(numbers(10), 1, ascending));
    expect(few).toBeGreaterThan(10);
    expect(countedSteps(() => firstOf(numbers(1000), 1, ascending))).toBeGreaterThan(50 * few);
  });

  test.each([
    ['copied', (all: readonly number[]) => all.slice()],
    ['spread', (all: readonly number[]) => [...all]],
    ['searched', (all: readonly number[]) => all.includes(-1)],
    ['put into a Set', (all: readonly number[]) => new Set(all)],
  ])('are the elements of what is %s', (_name, work) => {
    const all = numbers(1000);
    expect(countedSteps(() => void work(all))).toBeGreaterThanOrEqual(1000);
  });

  test('are none of arrays once they are counted', () => {
    const { slice } = Array.prototype;
    countedSteps(() => {});
    expect(Array.prototype.slice).toBe(slice);
  });
});

describe('growth', () => {
  test('that is quadratic is told, from where it shows', () => {
    const grown = tooFastGrowth((count) => {
      const all = numbers(count);
      return () => {
        for (const one of all) all.slice(one);
      };
    });
    expect(grown.at(-1)).toMatch(/^1000 to 10000: \d+ to \d+ steps$/);
  });

  test.each([
    ['linear', (all: readonly number[]) => void firstOf(all, 1, ascending)],
    ['n log n', (all: readonly number[]) => void firstOf(all.toReversed(), all.length, ascending)],
  ])('that is %s is not', (_name, work) => {
    expect(tooFastGrowth((count) => () => work(numbers(count)))).toEqual([]);
  });
});
