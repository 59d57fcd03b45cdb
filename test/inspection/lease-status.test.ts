import { describe, expect, test } from 'vitest';
import { FENCE } from '../../src/election/model.ts';
import { statusOf } from '../../src/inspection/lease-status.ts';
import { listed } from '../../src/inspection/wording.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
} from '../support/election-builders.ts';

const NOW = makeNow(1000);
const a = makeCandidate('a').versions('1.36.0', '1.35.0');
const b = makeCandidate('b');

describe('the text of what a Lease waits for', () => {
  test.each([
    { name: 'its best candidate leads', lease: makeLease('a'), candidates: [a, b], want: undefined },
    { name: 'a better one must answer', lease: makeLease('b'), candidates: [a, b], want: 'a to answer' },
    { name: 'all must answer', lease: makeLease(''), candidates: [a, b], want: 'a and b to answer' },
    {
      name: 'one is fresh',
      lease: makeLease(''),
      candidates: [a.renewedAt(0)],
      want: 'the coordinator to give it to a',
    },
    {
      name: 'it has to be created',
      lease: undefined,
      candidates: [a.renewedAt(0)],
      want: 'the coordinator to give it to a',
    },
    { name: 'it has no candidate', lease: makeLease(''), candidates: [], want: 'candidates' },
    {
      name: 'its holder yields',
      lease: makeLease('b').preferring('a'),
      candidates: [a, b],
      want: 'b to let it expire, in 9s',
    },
    {
      name: 'a note asks its holder to yield',
      lease: makeLease('b').noting({ preferredHolder: 'a' }),
      candidates: [a, b],
      want: 'b to yield, or to be fenced',
    },
    {
      name: 'it is fenced',
      lease: makeLease(FENCE).lasting(15),
      candidates: [a, b],
      want: 'the end of a fence in 14s',
    },
    {
      name: 'strategies conflict',
      lease: makeLease(''),
      candidates: [a.renewedAt(0), b.wants('x.io/y').renewedAt(0)],
      want: 'agreement on one of OldestEmulationVersion and x.io/y',
    },
    {
      name: 'its holder leads, and strategies conflict if the others live',
      lease: makeLease('a'),
      candidates: [a, b.versions('1.36.0').wants('x.io/y')],
      want: 'b to answer, and agreement on one of OldestEmulationVersion and x.io/y',
    },
    {
      name: 'a third party decides',
      lease: makeLease('').strategy('x.io/y'),
      candidates: [a.wants('x.io/y')],
      want: "another controller, which applies the Lease's strategy",
    },
  ])('is "$want" when $name', ({ lease, candidates, want }) => {
    const input = makeInput()
      .sees(lease, 0)
      .candidates(...candidates.map((candidate) => candidate.seenAt(0)));
    expect(statusOf({ input: input.build(), rawLease: undefined }, NOW).waitingFor).toBe(want);
  });
});

describe('the note on the holder', () => {
  test.each([
    { name: 'is absent if the Lease is held', lease: makeLease('a'), want: undefined },
    { name: 'is absent if there is no holder', lease: makeLease(''), want: undefined },
    { name: 'says that the Lease has expired', lease: makeLease('a').lasting(1), want: 'expired' },
    { name: 'says that the holder is a fence', lease: makeLease(FENCE).lasting(15), want: 'fenced' },
    { name: 'says that a fence has expired', lease: makeLease(FENCE).lasting(1), want: 'expired' },
  ])('$name', ({ lease, want }) => {
    const input = makeInput().sees(lease, 0).candidates(a.seenAt(0), b.seenAt(0)).build();
    expect(statusOf({ input, rawLease: undefined }, NOW).holderNote).toBe(want);
  });

  test('says that the holder has not taken its grant up and is gone', () => {
    const input = makeInput()
      .sees(makeLease('a'), 0)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a'), beliefs: [] })
      .candidates(b.seenAt(0));
    expect(statusOf({ input: input.build(), rawLease: undefined }, NOW).holderNote).toBe(
      'has not taken it up',
    );
  });
});

test.each([
  { names: ['a'], want: 'a' },
  { names: ['a', 'b'], want: 'a and b' },
  { names: ['a', 'b', 'c'], want: 'a, b and c' },
  { names: ['a', 'b', 'c', 'd'], want: 'a, b and 2 more' },
])('$names are listed as "$want"', ({ names, want }) => {
  expect(listed(names)).toBe(want);
});
