import { describe, expect, test } from 'vitest';
import { candidateChange, isRenewalOnly, newlyUnreadable } from '../../src/controller/renewal-only.ts';
import type { Lease, LeaseCandidate } from '../../src/election/model.ts';
import { makeCandidate, makeLease, OLDEST, wallAt } from '../support/election-builders.ts';

describe('a change of a Lease', () => {
  const before = makeLease('a').build();

  test.each<{ name: string; after: Partial<Lease>; want: boolean }>([
    { name: 'its renewTime', after: { renewTime: wallAt(2000), resourceVersion: '2' }, want: true },
    { name: 'its number of transitions', after: { leaseTransitions: 7 }, want: true },
    { name: 'its holder', after: { holderIdentity: 'b', renewTime: wallAt(2000) }, want: false },
    { name: 'its duration', after: { leaseDurationSeconds: 15 }, want: false },
    { name: 'its strategy', after: { strategy: undefined }, want: false },
    { name: 'its preferredHolder', after: { preferredHolder: 'b' }, want: false },
    { name: 'the owner of that', after: { isPreferredHolderOurs: true }, want: false },
    { name: 'whether a note or a field has that', after: { isPreferredHolderNoted: true }, want: false },
    { name: 'the object behind its name', after: { uid: 'another' }, want: false },
    { name: 'its request for crash evidence', after: { asksForEvidence: true }, want: false },
    { name: 'the container that leads', after: { leadingContainer: 'app' }, want: false },
  ])('of $name is only a renewal: $want', ({ after, want }) => {
    expect(isRenewalOnly(before, { ...before, ...after })).toBe(want);
  });

  test('that is seen for the first time is not a renewal', () => {
    expect(isRenewalOnly(undefined, before)).toBe(false);
  });
});

describe('a change of a candidate', () => {
  const before = makeCandidate('a').build();
  const inOrder = (...strategies: readonly string[]): Partial<LeaseCandidate> => ({
    preference: { kind: 'preferredStrategies', strategies },
  });

  test.each<{
    name: string;
    before?: Partial<LeaseCandidate>;
    after: Partial<LeaseCandidate>;
    want: 'ping' | 'renewal' | 'other';
  }>([
    { name: 'nothing', after: { resourceVersion: '2' }, want: 'ping' },
    { name: 'its pingTime', after: { pingTime: wallAt(0), resourceVersion: '2' }, want: 'ping' },
    { name: 'its renewTime', after: { renewTime: wallAt(0) }, want: 'renewal' },
    { name: 'both times', after: { pingTime: wallAt(0), renewTime: wallAt(1) }, want: 'renewal' },
    { name: 'its renewTime, to none', after: { renewTime: undefined }, want: 'renewal' },
    { name: 'its binaryVersion', after: { binaryVersion: '1.37.0' }, want: 'other' },
    { name: 'its emulationVersion', after: { emulationVersion: undefined }, want: 'other' },
    {
      name: 'its strategy',
      after: { preference: { kind: 'strategy', strategy: 'x.io/other' } },
      want: 'other',
    },
    {
      name: 'its priority',
      after: { priority: makeCandidate('a').priority(1).build().priority },
      want: 'other',
    },
    {
      name: 'the end of its priority',
      before: { priority: makeCandidate('a').priority(1, 0).build().priority },
      after: { priority: makeCandidate('a').priority(1, 1).build().priority },
      want: 'other',
    },
    {
      name: 'the priority behind it',
      before: { priority: makeCandidate('a').priority(1, 0).build().priority },
      after: { priority: makeCandidate('a').priority(1, 0, 2).build().priority },
      want: 'other',
    },
    {
      name: 'the invalid part of its priority',
      before: { priority: { ...makeCandidate('a').build().priority, unreadable: 'priority: "x"' } },
      after: { priority: { ...makeCandidate('a').build().priority, unreadable: 'priority: "y"' } },
      want: 'other',
    },
    {
      name: 'only the object that holds its priority',
      before: { priority: makeCandidate('a').priority(1, 0).build().priority },
      after: { priority: makeCandidate('a').priority(1, 0).build().priority },
      want: 'ping',
    },
    {
      name: 'the order of its strategies',
      before: inOrder('x', OLDEST),
      after: inOrder(OLDEST, 'x'),
      want: 'other',
    },
    {
      name: 'only the object that holds its strategies',
      before: inOrder('x', OLDEST),
      after: inOrder('x', OLDEST),
      want: 'ping',
    },
    { name: 'that it is being deleted', after: { isDeleting: true }, want: 'other' },
    { name: 'its Pod', after: { pod: { name: 'a', uid: 'u' } }, want: 'other' },
    {
      name: 'only the object that holds its Pod',
      before: { pod: { name: 'a', uid: 'u' } },
      after: { pod: { name: 'a', uid: 'u' } },
      want: 'ping',
    },
    { name: 'the container that leads', after: { leadingContainer: 'app' }, want: 'other' },
    { name: 'the Lease that it is for', after: { leaseName: 'another' }, want: 'other' },
    { name: 'the object behind its name', after: { uid: 'another', renewTime: wallAt(0) }, want: 'other' },
  ])('of $name counts as $want', ({ before: earlier = {}, after, want }) => {
    expect(candidateChange({ ...before, ...earlier }, { ...before, ...earlier, ...after })).toBe(want);
  });

  test('that is seen for the first time may be anything', () => {
    expect(candidateChange(undefined, before)).toBe('other');
  });
});

describe('an invalid priority (rule 16)', () => {
  const withUnreadable = (unreadable: string | undefined): LeaseCandidate => {
    const candidate = makeCandidate('a').build();
    return { ...candidate, priority: { ...candidate.priority, unreadable } };
  };

  test.each<{ before: string | undefined; after: string | undefined; want: string | undefined }>([
    { before: undefined, after: 'priority: "x"', want: 'priority: "x"' },
    { before: 'priority: "x"', after: 'priority: "x"', want: undefined },
    { before: 'priority: "x"', after: 'priority: "y"', want: 'priority: "y"' },
    { before: 'priority: "x"', after: undefined, want: undefined },
  ])('is reported once: $after, after $before', ({ before, after, want }) => {
    expect(newlyUnreadable(withUnreadable(before), withUnreadable(after))).toBe(want);
  });

  test('is reported at first sight', () => {
    expect(newlyUnreadable(undefined, withUnreadable('priority: "x"'))).toBe('priority: "x"');
  });
});
