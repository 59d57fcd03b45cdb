import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { countedSteps, tooFastGrowth } from '../support/counted-steps.ts';
import { crowds, makeCrowd } from '../support/crowds.ts';

/** So many steps a decision may take for each candidate, for each time that their number can be halved. */
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
