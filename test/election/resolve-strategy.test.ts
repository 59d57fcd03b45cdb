import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideOutcome, resolveStrategy } from '../../src/election/outcome.ts';
import { makeCandidate, OLDEST } from '../support/election-builders.ts';
import { someCandidates } from './arbitraries.ts';

const OTHER = 'example.com/other';

function resolved(strategy: string) {
  return { kind: 'resolved', strategy };
}

function conflict(...between: readonly string[]) {
  return { kind: 'conflict', strategies: between };
}

function named(...preferences: readonly (readonly [binaryVersion: string, strategy: string])[]) {
  return preferences.map(([binary, strategy], index) =>
    makeCandidate(`c${index}`).versions(binary).wants(strategy).build(),
  );
}

function listed(...lists: readonly (readonly string[])[]) {
  return lists.map((list, index) =>
    makeCandidate(`c${index}`)
      .wantsInOrder(...list)
      .build(),
  );
}

describe('the strategy of candidates with one (rule 4, v1beta1 and v1alpha2)', () => {
  test.each([
    { name: 'is undefined without candidates', candidates: [], want: { kind: 'none' } },
    { name: 'is the only candidate’s', candidates: named(['1.36.0', OLDEST]), want: resolved(OLDEST) },
    {
      name: 'is that of the highest binaryVersion',
      candidates: named(['1.35.0', OLDEST], ['1.36.0', OTHER], ['1.34.0', OLDEST]),
      want: resolved(OTHER),
    },
    {
      name: 'compares versions as numbers, not as text',
      candidates: named(['1.9.0', OLDEST], ['1.10.0', OTHER]),
      want: resolved(OTHER),
    },
    {
      name: 'counts a release as higher than its pre-release',
      candidates: named(['1.36.0', OLDEST], ['1.36.0-rc.1', OTHER]),
      want: resolved(OLDEST),
    },
    {
      name: 'is in conflict when two are named at the highest version',
      candidates: named(['1.36.0', OTHER], ['1.36.0', OLDEST]),
      want: conflict(OLDEST, OTHER),
    },
    {
      name: 'is in conflict when the highest versions differ in build metadata only',
      candidates: named(['1.36.0+a', OTHER], ['1.36.0+b', OLDEST]),
      want: conflict(OLDEST, OTHER),
    },
    {
      name: 'is not in conflict because of lower versions',
      candidates: named(['1.36.0', OLDEST], ['1.35.0', OTHER], ['1.35.0', 'example.com/third']),
      want: resolved(OLDEST),
    },
    {
      name: 'omits a candidate with an invalid binaryVersion',
      candidates: named(['v2.0.0', OTHER], ['1.36.0', OLDEST]),
      want: resolved(OLDEST),
    },
    {
      name: 'leaves out a candidate that names none',
      candidates: named(['2.0.0', ''], ['1.36.0', OLDEST]),
      want: resolved(OLDEST),
    },
    {
      name: 'is undefined if all are invalid',
      candidates: named(['latest', OTHER]),
      want: { kind: 'none' },
    },
  ])('$name', ({ candidates, want }) => {
    expect(resolveStrategy(candidates)).toEqual(want);
    expect(resolveStrategy(candidates.toReversed())).toEqual(want);
  });
});

describe('the strategy of candidates with ordered lists (rule 4, v1alpha1)', () => {
  test.each([
    { name: 'a list of one is its element', lists: [['X']], want: resolved('X') },
    {
      name: 'equal lists are their first element',
      lists: [
        ['X', 'Y'],
        ['X', 'Y'],
      ],
      want: resolved('X'),
    },
    {
      name: 'lists that all start with X are X',
      lists: [
        ['X', 'Y'],
        ['X', 'Z'],
      ],
      want: resolved('X'),
    },
    {
      name: 'lists that all start with X are X even when they disagree further down',
      lists: [
        ['X', 'Y', 'Z'],
        ['X', 'Z', 'Y'],
      ],
      want: resolved('X'),
    },
    { name: '[Y, X] puts Y above X', lists: [['X'], ['Y', 'X']], want: resolved('Y') },
    {
      name: 'a chain through several lists has one first element',
      lists: [['Z'], ['Y', 'Z'], ['X', 'Y']],
      want: resolved('X'),
    },
    { name: 'two lists of one that differ conflict', lists: [['X'], ['Y']], want: conflict('X', 'Y') },
    {
      name: '[X, Y] and [Y, X] are a cycle',
      lists: [
        ['X', 'Y'],
        ['Y', 'X'],
      ],
      want: conflict('X', 'Y'),
    },
    {
      name: 'a cycle of three is one too',
      lists: [
        ['X', 'Y'],
        ['Y', 'Z'],
        ['Z', 'X'],
      ],
      want: conflict('X', 'Y', 'Z'),
    },
    {
      name: 'a cycle below a single first element still conflicts',
      lists: [
        ['W', 'X', 'Y'],
        ['Y', 'X'],
      ],
      want: conflict('W', 'X', 'Y'),
    },
    {
      name: 'two first elements above a common one conflict',
      lists: [
        ['X', 'Z'],
        ['Y', 'Z'],
      ],
      want: conflict('X', 'Y', 'Z'),
    },
    { name: 'an empty list has no say', lists: [[], ['X']], want: resolved('X') },
    { name: 'only empty lists say nothing', lists: [[], []], want: { kind: 'none' } },
    { name: 'an element twice in the only list changes nothing', lists: [['X', 'X']], want: resolved('X') },
    {
      name: 'a diamond has one first element',
      lists: [['W', 'X', 'Z'], ['W', 'Y', 'Z'], ['Z']],
      want: resolved('W'),
    },
  ])('$name', ({ lists, want }) => {
    expect(resolveStrategy(listed(...lists))).toEqual(want);
    expect(resolveStrategy(listed(...lists).toReversed())).toEqual(want);
  });

  test('an election among them follows it', () => {
    const [older, newer] = [
      makeCandidate('older').emulating('1.35.0').wantsInOrder(OLDEST).build(),
      makeCandidate('newer').wantsInOrder(OLDEST, OTHER).build(),
    ];
    expect(decideOutcome([newer, older])).toMatchObject({ kind: 'leader', strategy: OLDEST, leader: older });
  });
});

describe('any strategy (rule 4)', () => {
  test('is resolved for every set of candidates, in any order', () => {
    fc.assert(
      fc.property(
        someCandidates.chain((candidates) =>
          fc.tuple(
            fc.constant(candidates),
            fc.shuffledSubarray([...candidates], { minLength: candidates.length }),
          ),
        ),
        ([candidates, shuffled]) => {
          const resolution = resolveStrategy(candidates);
          expect(resolveStrategy(shuffled)).toEqual(resolution);
          expect(decideOutcome(shuffled)).toEqual(decideOutcome(candidates));
          if (resolution.kind !== 'conflict') return;
          expect(new Set(resolution.strategies).size).toBe(resolution.strategies.length);
          expect(resolution.strategies.length).toBeGreaterThan(1);
        },
      ),
      { numRuns: 500 },
    );
  });
});
