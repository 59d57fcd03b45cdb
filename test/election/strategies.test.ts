import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideOutcome } from '../../src/election/outcome.ts';
import { type Strategy, strategies } from '../../src/election/strategies.ts';
import { type CandidateBuilder, makeCandidate, NEWEST, OLDEST } from '../support/election-builders.ts';
import { someCandidates } from './arbitraries.ts';

function strategyNamed(name: string): Strategy {
  const strategy = strategies.get(name);
  if (!strategy) throw new Error(`${name} is missing`);
  return strategy;
}

describe('OldestEmulationVersion (rule 5)', () => {
  const strategy = strategyNamed(OLDEST);

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
      name: 'distinguishes creations that are a microsecond apart',
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
});

describe('NewestVersion (rule 5)', () => {
  const strategy = strategyNamed(NEWEST);
  const make = (name: string) => makeCandidate(name).wants(NEWEST);

  test.each([
    {
      name: 'prefers the higher binaryVersion, even at a lower emulationVersion',
      better: make('z').versions('1.37.0', '1.35.0'),
      worse: make('a').versions('1.36.0', '1.36.0'),
      wantWhy: 'LowerBinaryVersion',
    },
    {
      name: 'then the higher emulationVersion, even when it is younger',
      better: make('z').versions('1.37.0', '1.37.0'),
      worse: make('a').versions('1.37.0', '1.36.0').createdAt(-3_600_000),
      wantWhy: 'LowerEmulationVersion',
    },
    {
      name: 'takes no emulationVersion for the binaryVersion',
      better: make('z').versions('1.37.0').emulating(undefined),
      worse: make('a').versions('1.37.0', '1.36.0'),
      wantWhy: 'LowerEmulationVersion',
    },
    {
      name: 'then the older',
      better: make('z').emulating(undefined).createdAt(-3_600_000),
      worse: make('a'),
      wantWhy: 'CreatedLater',
    },
    { name: 'then the name', better: make('a'), worse: make('b'), wantWhy: 'LaterName' },
    {
      name: 'a higher priority before any version',
      better: make('z').versions('1.30.0').priority(1),
      worse: make('a').versions('1.37.0'),
      wantWhy: 'LowerPriority',
    },
  ])('$name', ({ better, worse, wantWhy }) => {
    const [winner, loser] = [better.build(), worse.build()];
    expect(strategy.compare(winner, loser)).toBeLessThan(0);
    expect(strategy.compare(loser, winner)).toBeGreaterThan(0);
    expect(strategy.explain(winner, loser)).toBe(wantWhy);
    expect(decideOutcome([winner, loser])).toMatchObject({ kind: 'leader', leader: { name: winner.name } });
  });

  test('replaces no leader because of a version, but waits for one when the Lease is free', () => {
    const [newer, older] = [make('newer').versions('1.37.0').build(), make('older').build()];
    expect(strategy.comparePreemption(newer, older)).toBe(0);
    expect(strategy.compareMerit(newer, older)).toBeLessThan(0);
    expect(strategy.comparePreemption(make('a').priority(1).build(), newer)).toBeLessThan(0);
  });

  test.each([
    { binary: '1.36.0', emulation: undefined, want: true },
    { binary: '1.36.0', emulation: '1.35.0', want: true },
    { binary: '1.36.0', emulation: 'v1.35.0', want: false },
    { binary: undefined, emulation: '1.35.0', want: false },
    { binary: '1.36', emulation: undefined, want: false },
  ])('with $binary and $emulation a candidate is electable: $want', ({ binary, emulation, want }) => {
    const candidate = make('a').with({ binaryVersion: binary, emulationVersion: emulation }).build();
    expect(strategy.isElectable(candidate)).toBe(want);
  });
});

describe.each([...strategies])('%s', (_name, strategy) => {
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
            // The criteria for a wait and for a new leader are prefixes of the same order.
            for (const coarser of [strategy.compareMerit(a, b), strategy.comparePreemption(a, b)])
              expect([order, 0]).toContain(Math.sign(coarser));
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
