import fc from 'fast-check';
import type { LeaseCandidate, StrategyPreference } from '../../src/election/model.ts';
import { makeCandidate, NEWEST, OLDEST, wallAt } from '../support/election-builders.ts';

// Few values each, so that ties, conflicts and cycles are common.
const versions = [
  '1.34.0',
  '1.35.0',
  '1.36.0-alpha.1',
  '1.36.0-alpha.10',
  '1.36.0',
  '1.36.0+build',
  'v1.36.0',
  undefined,
];
const names = ['X', 'Y', OLDEST, NEWEST];

const oneStrategy: fc.Arbitrary<StrategyPreference> = fc.record({
  kind: fc.constant('strategy' as const),
  strategy: fc.oneof(
    { weight: 3, arbitrary: fc.constant(OLDEST) },
    { weight: 3, arbitrary: fc.constant(NEWEST) },
    { arbitrary: fc.constantFrom('X', '', 'Y'), weight: 1 },
  ),
});

const orderedList: fc.Arbitrary<StrategyPreference> = fc.record({
  kind: fc.constant('preferredStrategies' as const),
  strategies: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }),
});

function candidatesThatPrefer(
  preference: fc.Arbitrary<StrategyPreference>,
  maxLength = 5,
): fc.Arbitrary<readonly LeaseCandidate[]> {
  const fields = fc.record({
    binaryVersion: fc.constantFrom(...versions),
    emulationVersion: fc.constantFrom(...versions),
    createdAt: fc.constantFrom(-3000, -2000, undefined),
    priority: fc.constantFrom(0, 0, 0, 7, -7),
    preference,
  });
  return fc.array(fields, { maxLength }).map((all) =>
    all.map(({ createdAt, priority, ...rest }, index) =>
      makeCandidate(`c${index}`)
        .priority(priority)
        .with({ ...rest, creationTimestamp: createdAt === undefined ? undefined : wallAt(createdAt) })
        .build(),
    ),
  );
}

/** Candidates of one Lease with one strategy each. */
export const candidatesWithStrategy = candidatesThatPrefer(oneStrategy);

/** Candidates of one Lease with ordered lists. */
export const candidatesWithLists = candidatesThatPrefer(orderedList);

/** Candidates of one Lease, of one API version or of several, which is allowed. */
export const someCandidates = fc.oneof(
  candidatesWithStrategy,
  candidatesWithLists,
  candidatesThatPrefer(fc.oneof(oneStrategy, orderedList)),
);

/** More candidates of one Lease than there are kinds of candidates. */
export const manyCandidates = fc.oneof(
  candidatesThatPrefer(oneStrategy, 30),
  candidatesThatPrefer(orderedList, 30),
  candidatesThatPrefer(fc.oneof(oneStrategy, orderedList), 30),
);

/** Candidates of one Lease that agree on a supported strategy. */
export function agreedCandidates(strategy: typeof OLDEST | typeof NEWEST) {
  return candidatesThatPrefer(fc.constant({ kind: 'strategy', strategy } as const));
}
