import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstOf } from '../../src/election/strategies.ts';

test('firstOf returns the beginning of the sorted list', () => {
  const items = fc.array(fc.record({ rank: fc.nat(5), id: fc.nat() }));
  fc.assert(
    fc.property(items, fc.nat(12), (all, most) => {
      const compare = (a: { rank: number }, b: { rank: number }) => a.rank - b.rank;
      expect(firstOf(all, most, compare)).toEqual(all.toSorted(compare).slice(0, most));
    }),
  );
});
