import { describe, expect, test } from 'vitest';
import { REASONS } from '../../src/election/decision.ts';
import { accountFor } from '../../src/inspection/lease-account.ts';
import {
  type CandidateBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
} from '../support/election-builders.ts';

const NOW = makeNow(1000);
const UNSETTLED = `${REASONS.AwaitingAcks}`;

function account(lease: ReturnType<typeof makeLease> | undefined, ...candidates: CandidateBuilder[]) {
  const input = makeInput()
    .sees(lease, 0)
    .candidates(...candidates.map((candidate) => candidate.seenAt(0)));
  const lock = { kind: 'ours', holder: 'us', renewedSecondsAgo: 1 } as const;
  return accountFor({ input: input.build(), rawLease: undefined }, lock, NOW);
}

const a = makeCandidate('a').versions('1.36.0', '1.35.0');
const b = makeCandidate('b').versions('1.36.0', '1.36.0');

describe('the account of a Lease', () => {
  test.each([
    {
      name: 'the best leads',
      lease: makeLease('a'),
      candidates: [a, b],
      want: 'a leads, as it is the best candidate under OldestEmulationVersion.',
    },
    {
      name: 'a better one exists',
      lease: makeLease('b'),
      candidates: [a, b],
      want: `b leads, but a is better under OldestEmulationVersion. ${UNSETTLED}`,
    },
    {
      name: 'the holder is no candidate',
      lease: makeLease('x'),
      candidates: [a],
      want: `x leads and is not a candidate; a is the best candidate. ${UNSETTLED}`,
    },
    {
      name: 'an equally good and older one exists',
      lease: makeLease('a'),
      candidates: [a, makeCandidate('first').versions('1.36.0', '1.35.0').createdAt(-90_000)],
      want: 'a leads, as it is the best candidate under OldestEmulationVersion.',
    },
    {
      name: 'there is no leader',
      lease: makeLease(''),
      candidates: [a, b],
      want: `No candidate leads. ${UNSETTLED} a is the best candidate.`,
    },
    {
      name: 'there is no candidate',
      lease: makeLease(''),
      candidates: [],
      want: 'No candidate leads. There is no candidate for this Lease.',
    },
  ])('reports who leads, and why, when $name', ({ lease, candidates, want }) => {
    expect(account(lease, ...candidates).verdict).toBe(want);
  });

  test.each([
    { name: 'is about to be revised', revisions: 1, wantReason: 'GrantRevised' },
    { name: 'is to be revised in a moment', revisions: 2, wantReason: 'RevisionPending' },
  ])('reports that no candidate leads yet, when a grant $name', ({ revisions, wantReason }) => {
    const granted = makeLease('b');
    const input = makeInput()
      .remembers({
        unrenewedGrant: makeUnrenewedGrant('b'),
        grantSeries: { count: revisions, since: 0 },
        decidedAt: 0,
      })
      .sees(granted, 0)
      .candidates(b.seenAt(0), a.seenAt(0).renewedAt(900));
    const lock = { kind: 'ours', holder: 'us', renewedSecondsAgo: 1 } as const;
    const { verdict, reason, candidates } = accountFor(
      { input: input.build(), rawLease: undefined },
      lock,
      NOW,
    );
    expect(reason).toBe(wantReason);
    expect(verdict).toBe(
      'No candidate leads yet: b got the Lease and has not renewed it, and a is better under OldestEmulationVersion.',
    );
    expect(candidates.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('sorts the leader before one that is only older, and explains that', () => {
    const first = makeCandidate('first').versions('1.36.0', '1.35.0').createdAt(-90_000);
    const { candidates } = account(makeLease('a'), first, a);
    expect(candidates.map(({ name, why }) => `${name}: ${why}`)).toEqual([
      'a: the best candidate',
      'first: not better than the holder in priority or version',
    ]);
  });

  test('sorts the candidates in the order in which they would lead, with those that cannot at the end', () => {
    const broken = makeCandidate('0').versions('1.36.0', undefined).emulating(undefined);
    const { candidates, blockers } = account(
      makeLease('a'),
      broken,
      b,
      a.deleting().with({ name: 'gone' }),
      a,
    );
    expect(candidates.map(({ name, lostBy }) => `${name} ${lostBy}`)).toEqual([
      'a undefined',
      'b HigherEmulationVersion',
      '0 NotElectable',
      'gone Deleting',
    ]);
    expect(blockers).toMatchObject([{ what: '0: a version is missing or cannot be read.' }]);
  });

  test('says that no candidate has a vote on the strategy', () => {
    const { candidates } = account(
      makeLease('x'),
      a.wants('').renewedAt(900),
      b.versions('1').renewedAt(900),
    );
    const why = 'no candidate that takes part names a strategy and a valid binaryVersion';
    expect(candidates.map((candidate) => candidate.why)).toEqual([why, why]);
  });

  test('reports which candidates ask for the strategy, and which do not', () => {
    const other = makeCandidate('other').versions('1.35.0').wants('example.com/x');
    expect(account(makeLease('a'), a, b, other).strategy).toEqual({
      resolved: 'OldestEmulationVersion',
      askedBy: ['a', 'b'],
      others: [{ name: 'other', asksFor: ['example.com/x'] }],
      onLease: 'OldestEmulationVersion',
      writtenBy: [],
    });
  });

  test('reports the next leader, if there is a successor', () => {
    expect(account(makeLease('a'), a, b).ifLeaderDied?.holder).toBe('b');
    expect(account(makeLease('a'), a).ifLeaderDied?.holder).toBe('');
    expect(account(makeLease(''), a, b).ifLeaderDied).toBeUndefined();
  });
});
