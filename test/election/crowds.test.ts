import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { countedSteps, tooFastGrowth } from '../support/counted-steps.ts';
import { crowds, makeCrowd } from '../support/crowds.ts';

/** Maximum steps of a decision per candidate and per halving of their number (n log n). */
const STEPS = 50;

describe('a decision on a crowd of candidates', () => {
  test.each(Object.entries(crowds))('that is %s takes n log n steps at most (rule 9)', (_name, crowd) => {
    const decide = (count: number) => {
      const input = makeCrowd(crowd, count);
      return () => decideElection(input, crowd.now);
    };
    expect(tooFastGrowth(decide)).toEqual([]);
    expect(countedSteps(decide(1000)) / (1000 * Math.log2(1000))).toBeLessThan(STEPS);
  });
});
