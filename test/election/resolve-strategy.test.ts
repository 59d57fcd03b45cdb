import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideOutcome } from '../../src/election/outcome.ts';
import { resolveStrategy } from '../../src/election/resolve-strategy.ts';
import { strategies } from '../../src/election/strategies.ts';
import { type CandidateBuilder, makeCandidate, OLDEST } from '../support/election-builders.ts';
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

describe('the strategy of candidates that name one (rule 4, v1beta1 and v1alpha2)', () => {
  test.each([
    { name: 'is nobody’s without candidates', candidates: [], want: { kind: 'none' } },
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
      name: 'is not in conflict over what lower versions name',
      candidates: named(['1.36.0', OLDEST], ['1.35.0', OTHER], ['1.35.0', 'example.com/third']),
      want: resolved(OLDEST),
    },
    {
      name: 'leaves out a candidate whose binaryVersion cannot be read',
      candidates: named(['v2.0.0', OTHER], ['1.36.0', OLDEST]),
      want: resolved(OLDEST),
    },
    {
      name: 'leaves out a candidate that names none',
      candidates: named(['2.0.0', ''], ['1.36.0', OLDEST]),
      want: resolved(OLDEST),
    },
    {
      name: 'is nobody’s when nobody can be read',
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
      name: 'a cycle below a single first element conflicts all the same',
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
  test('is resolved for every set of candidates, whatever their order', () => {
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

describe('OldestEmulationVersion (rule 5)', () => {
  const strategy = strategies.get(OLDEST);
  if (!strategy) throw new Error('the one strategy is missing');

  const early = (candidate: CandidateBuilder) => candidate.createdAt(-3_600_000);

  test.each([
    {
      name: 'prefers the lower emulationVersion, even at a higher binaryVersion',
      better: makeCandidate('z').versions('1.37.0', '1.35.0'),
      worse: early(makeCandidate('a').versions('1.36.0', '1.36.0')),
      wantWhy: 'HigherEmulationVersion',
    },
    {
      name: 'then the lower binaryVersion, even when it is younger',
      better: makeCandidate('z').versions('1.35.0', '1.35.0'),
      worse: early(makeCandidate('a').versions('1.36.0', '1.35.0')),
      wantWhy: 'HigherBinaryVersion',
    },
    {
      name: 'then the older',
      better: early(makeCandidate('z')),
      worse: makeCandidate('a'),
      wantWhy: 'CreatedLater',
    },
    { name: 'then the name', better: makeCandidate('a'), worse: makeCandidate('b'), wantWhy: 'LaterName' },
    {
      name: 'names compare by code unit, the same in every locale',
      better: makeCandidate('B'),
      worse: makeCandidate('a'),
      wantWhy: 'LaterName',
    },
    {
      name: 'tells creations apart that are a microsecond apart',
      better: makeCandidate('z').with({ creationTimestamp: 1_000_000n }),
      worse: makeCandidate('a').with({ creationTimestamp: 1_000_001n }),
      wantWhy: 'CreatedLater',
    },
    {
      name: 'a candidate that says when it was created is older than one that does not',
      better: makeCandidate('z'),
      worse: makeCandidate('a').with({ creationTimestamp: undefined }),
      wantWhy: 'CreatedLater',
    },
    {
      name: 'versions compare as numbers',
      better: makeCandidate('z').versions('1.36.0', '1.9.0'),
      worse: makeCandidate('a').versions('1.36.0', '1.10.0'),
      wantWhy: 'HigherEmulationVersion',
    },
    {
      name: 'a pre-release is lower than its release',
      better: makeCandidate('z').versions('1.36.0', '1.36.0-alpha.1'),
      worse: makeCandidate('a').versions('1.36.0', '1.36.0'),
      wantWhy: 'HigherEmulationVersion',
    },
    {
      name: 'alpha.2 is lower than alpha.10',
      better: makeCandidate('z').versions('1.36.0', '1.36.0-alpha.2'),
      worse: makeCandidate('a').versions('1.36.0', '1.36.0-alpha.10'),
      wantWhy: 'HigherEmulationVersion',
    },
    {
      name: 'alpha is lower than beta, beta than rc',
      better: makeCandidate('z').versions('1.36.0-beta.1', '1.35.0'),
      worse: makeCandidate('a').versions('1.36.0-rc.0', '1.35.0'),
      wantWhy: 'HigherBinaryVersion',
    },
    {
      name: 'build metadata is ignored',
      better: makeCandidate('a').versions('1.36.0+zzz', '1.36.0+zzz'),
      worse: makeCandidate('b').versions('1.36.0+aaa', '1.36.0+aaa'),
      wantWhy: 'LaterName',
    },
  ])('$name', ({ better, worse, wantWhy }) => {
    const [winner, loser] = [better.build(), worse.build()];
    expect(strategy.compare(winner, loser)).toBeLessThan(0);
    expect(strategy.compare(loser, winner)).toBeGreaterThan(0);
    expect(strategy.explain(winner, loser)).toBe(wantWhy);
    for (const candidates of [
      [winner, loser],
      [loser, winner],
    ]) {
      expect(decideOutcome(candidates)).toMatchObject({ kind: 'leader', leader: { name: winner.name } });
    }
  });

  test.each([
    { name: 'two versions', binary: '1.36.0', emulation: '1.35.0', want: true },
    {
      name: 'pre-releases and build metadata',
      binary: '1.36.0-rc.1+b',
      emulation: '1.36.0-alpha.1',
      want: true,
    },
    { name: 'no emulationVersion', binary: '1.36.0', emulation: undefined, want: false },
    { name: 'no binaryVersion', binary: undefined, emulation: '1.36.0', want: false },
    { name: 'a leading v', binary: 'v1.36.0', emulation: '1.36.0', want: false },
    { name: 'a leading =', binary: '1.36.0', emulation: '=1.36.0', want: false },
    { name: 'a leading space', binary: ' 1.36.0', emulation: '1.36.0', want: false },
    { name: 'a trailing newline', binary: '1.36.0', emulation: '1.36.0\n', want: false },
    { name: 'two numbers only', binary: '1.36', emulation: '1.36.0', want: false },
    { name: 'four numbers', binary: '1.36.0.1', emulation: '1.36.0', want: false },
    { name: 'a leading zero', binary: '1.036.0', emulation: '1.36.0', want: false },
    { name: 'a word', binary: 'latest', emulation: '1.36.0', want: false },
    { name: 'the empty string', binary: '1.36.0', emulation: '', want: false },
  ])('with $name a candidate is electable: $want', ({ binary, emulation, want }) => {
    const candidate = makeCandidate('a').with({ binaryVersion: binary, emulationVersion: emulation }).build();
    expect(strategy.isElectable(candidate)).toBe(want);
  });

  test('is a total order', () => {
    const electable = someCandidates.map((candidates) =>
      candidates.filter((candidate) => strategy.isElectable(candidate)),
    );
    fc.assert(
      fc.property(electable, (candidates) => {
        for (const a of candidates) {
          expect(strategy.compare(a, a)).toBe(0);
          for (const b of candidates) {
            const order = Math.sign(strategy.compare(a, b));
            expect(Math.sign(strategy.compare(b, a))).toBe(-order + 0);
            if (a.name !== b.name) expect(order).not.toBe(0);
            for (const c of candidates) {
              if (order < 0 && strategy.compare(b, c) < 0) expect(strategy.compare(a, c)).toBeLessThan(0);
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
