import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import type { ElectionInput } from '../../src/election/election-input.ts';
import { crowds, makeCrowd } from '../support/crowds.ts';

/** So often a decision may look at something about each candidate, for each time that their number can be halved. */
const READS = 20;

/** The same input, which counts how often anything about a candidate is looked at. */
function counting(input: ElectionInput) {
  const counter = { reads: 0 };
  const counted = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (target, field) => {
        counter.reads++;
        return Reflect.get(target, field);
      },
    });
  const candidates = input.candidates.map(({ candidate, observation }) =>
    counted({ candidate: counted(candidate), observation: counted(observation) }),
  );
  return { counter, input: { ...input, candidates } };
}

describe('a decision on a crowd of candidates', () => {
  test.each(Object.entries(crowds))('that is %s takes n log n steps at most (rule 9)', (_name, crowd) => {
    for (const count of [1000, 8000]) {
      const { counter, input } = counting(makeCrowd(crowd, count));
      decideElection(input, crowd.now);
      expect(counter.reads / (count * Math.log2(count))).toBeLessThan(READS);
    }
  });
});
