import { describe, expect, test } from 'vitest';
import {
  leaderOf,
  obstacleAbove,
  obstacleTo,
  priorityAbove,
  reasonToStay,
} from '../../src/moving/prospects.ts';
import {
  type CandidateBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
} from '../support/election-builders.ts';

const NOW = makeNow(1000);
const a = makeCandidate('a').versions('1.35.0');
const b = makeCandidate('b');
const unreadable = makeCandidate('b').versions('1');

function inputOf(...candidates: readonly CandidateBuilder[]) {
  return makeInput()
    .sees(makeLease('a').renewedAt(-1), 0)
    .candidates(...candidates.map((candidate) => candidate.seenAt(0)))
    .build();
}

describe('a priority above all others of a Lease', () => {
  test.each([
    { name: 'is 1 if there are no priorities', candidates: [a, b], want: 1 },
    { name: 'is above the highest of the others', candidates: [a.priority(5), b.priority(9)], want: 6 },
    { name: 'is not below 1, as the others may be drained', candidates: [a.priority(-1000), b], want: 1 },
    {
      name: 'is above the next priority after one ends',
      candidates: [a.priority(-1000, 9000, 4), b],
      want: 5,
    },
    { name: 'exists if the others have none', candidates: [b], want: 1 },
    { name: 'cannot be had above the highest', candidates: [a.priority(2 ** 31 - 1), b], want: undefined },
  ])('$name', ({ candidates, want }) => {
    expect(priorityAbove(inputOf(...candidates), 'b')).toBe(want);
  });
});

describe('a candidate that a Lease is to be transferred to', () => {
  test.each<{ name: string; candidates: readonly CandidateBuilder[]; want: string | undefined }>([
    { name: 'may lead', candidates: [a, b], want: undefined },
    {
      name: 'is none of it',
      candidates: [a],
      want: 'it is not a candidate of kube-system/scheduler; there are a',
    },
    {
      name: 'is none, if there is none',
      candidates: [],
      want: 'it is not a candidate of kube-system/scheduler, which has none',
    },
    { name: 'is going', candidates: [a, b.deleting()], want: 'it is being deleted' },
    {
      name: 'has versions that cannot be read',
      candidates: [a, unreadable],
      want: 'a version is missing or cannot be read',
    },
    {
      name: 'has a lower priority than another, for example by another transfer',
      candidates: [a.priority(2), b],
      want: 'a comes before it',
    },
    {
      name: 'is in a conflict',
      candidates: [a.versions('1.36.0'), b.wants('x.io/y')],
      want: 'the candidates disagree on the strategy, OldestEmulationVersion and x.io/y',
    },
    {
      name: 'is another controller’s decision',
      candidates: [a.wants('x.io/y'), b.wants('x.io/y')],
      want: 'another controller decides under the strategy x.io/y',
    },
  ])('$name', ({ candidates, want }) => {
    expect(obstacleTo(inputOf(...candidates), 'b', 1, NOW)).toBe(want);
  });

  test('has not answered', () => {
    const silent = makeInput()
      .sees(makeLease('a'), 0)
      .candidates(a.seenAt(0), b.seenAt(0).pingedAt(0))
      .build();
    expect(obstacleTo(silent, 'b', 1, makeNow(6000))).toMatch(/^it did not answer its ping/);
  });

  test('leads already', () => {
    expect(obstacleTo(inputOf(a, b), 'a', 1, NOW)).toBeUndefined();
  });
});

describe('a drained leader', () => {
  const drained = new Set(['a', 'c']);
  const c = makeCandidate('c');

  test.each<{ name: string; candidates: readonly CandidateBuilder[]; want: string | undefined }>([
    { name: 'may be followed', candidates: [a, b, c], want: undefined },
    {
      name: 'stays if all others are drained, too',
      candidates: [a, c],
      want: 'there is no other candidate',
    },
    {
      name: 'stays if the other cannot lead',
      candidates: [a, unreadable],
      want: 'no other candidate can lead; b is Idle',
    },
    {
      name: 'stays if the other is being deleted',
      candidates: [a, b.deleting()],
      want: 'no other candidate can lead; b is Deleting',
    },
    {
      name: 'stays in a conflict',
      candidates: [a.versions('1.36.0'), b.wants('x.io/y')],
      want: 'the candidates disagree on the strategy, OldestEmulationVersion and x.io/y',
    },
  ])('$name', ({ candidates, want }) => {
    expect(reasonToStay(inputOf(...candidates), drained, NOW)).toBe(want);
  });
});

describe('the leader of a Lease', () => {
  const lease = makeLease('a');

  test.each([
    { name: 'is its holder, once that has renewed it', lease: lease.renewedAt(500), at: 1000, want: 'a' },
    { name: 'is none before that', lease, at: 1000, want: undefined },
    {
      name: 'is its holder if it does not say when it was granted',
      lease: lease.with({ acquireTime: undefined }),
      at: 1000,
      want: 'a',
    },
    { name: 'is none after its expiry', lease: lease.renewedAt(500), at: 20_000, want: undefined },
  ])('$name', ({ lease: seen, at, want }) => {
    expect(leaderOf(makeInput().sees(seen, 500).build(), makeNow(at))).toBe(want);
  });
});

test('priorities have no effect without a coordinator, or with the built-in one', () => {
  expect(obstacleAbove({ kind: 'none', formerHolder: '' })).toMatch(/^no coordinator is running/);
  expect(obstacleAbove({ kind: 'builtIn', holder: 'x', renewedSecondsAgo: 1 })).toMatch(
    /does not know priorities$/,
  );
  expect(obstacleAbove({ kind: 'ours', holder: 'x', renewedSecondsAgo: 1 })).toBeUndefined();
  expect(obstacleAbove({ kind: 'unknown' })).toBeUndefined();
});
