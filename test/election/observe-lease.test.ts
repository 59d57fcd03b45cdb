import { describe, expect, test } from 'vitest';
import { type Grant, isProvisional, type LeaseMemory } from '../../src/election/lease-memory.ts';
import { recordGrantAnswered } from '../../src/election/record-writes.ts';
import { type LeaseBuilder, makeInput, makeLease, OLDEST, wallAt } from '../support/election-builders.ts';

const NEVER = Number.NEGATIVE_INFINITY;

const grant: Grant = {
  holder: 'b',
  renewTime: wallAt(1000),
  former: 'a',
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
};

/** As a coordinator leaves a Lease that it grants at `at`. */
const grantedTo = (holder: string, at: number) =>
  makeLease(holder)
    .renewedAt(at)
    .with({ acquireTime: wallAt(at), resourceVersion: String(at) });

/** As its holder leaves it when it renews it at `at`. */
const renewedBy = (holder: string, at: number) =>
  makeLease(holder)
    .renewedAt(at)
    .with({ resourceVersion: String(at) });

describe('a grant of ours that was sent', () => {
  const sent = makeInput().sees(makeLease('a'), 0).remembers({ grantOnItsWay: grant });

  test.each<{ name: string; lease: LeaseBuilder; want: boolean }>([
    { name: 'is known by its holder and its renewTime', lease: grantedTo('b', 1000), want: true },
    { name: 'is not what another coordinator grants at that time', lease: grantedTo('x', 1000), want: false },
    {
      name: 'is not what another coordinator grants to that holder',
      lease: grantedTo('b', 1001),
      want: false,
    },
    { name: 'is not a renewal by the former holder', lease: renewedBy('a', 1500), want: false },
  ])('$name', ({ lease, want }) => {
    const { memory } = sent.sees(lease, 2000).build();
    expect(isProvisional(memory, 2000)).toBe(want);
    expect(memory.decidedAt).toBe(want ? 2000 : NEVER);
    expect(memory.grantOnItsWay).toBe(want ? undefined : grant);
  });
});

describe('a grant that nobody has taken up is told', () => {
  const granted = makeInput().remembers({ grantOnItsWay: grant }).sees(grantedTo('b', 1000), 1000);

  test('from what another coordinator wrote under its resourceVersion, after storage was restored', () => {
    expect(isProvisional(granted.build().memory, 2000)).toBe(true);
    const restored = granted.sees(renewedBy('b', 900).with({ resourceVersion: '1000' }), 2000);
    expect(isProvisional(restored.build().memory, 2000)).toBe(false);
    expect(restored.build().memory.leader?.holder).toBe('b');
  });

  test('from the record that it replaces, once it is answered and before it is seen', () => {
    const { memory } = makeInput().sees(makeLease('b'), 0).remembers({ grantOnItsWay: grant }).build();
    expect(isProvisional(recordGrantAnswered(memory, grant, '1000', 1000), 1000)).toBe(false);
  });
});

describe('a release that may be the work of a former leader is doubted (rule 8)', () => {
  const led = makeInput().sees(makeLease('a').lasting(15), 0);
  test.each<{ name: string; memory: () => LeaseMemory; want: number }>([
    {
      name: 'for as long as that leader believed, once another coordinator has given its Lease away',
      memory: () => led.sees(grantedTo('x', 1000), 1000).build().memory,
      want: 16_000,
    },
    {
      name: 'and not after a renewal by that leader',
      memory: () => led.sees(renewedBy('a', 1000).lasting(15), 1000).build().memory,
      want: NEVER,
    },
    {
      name: 'nor when the Lease was given to that leader again',
      memory: () => led.sees(grantedTo('a', 1000), 1000).build().memory,
      want: NEVER,
    },
    {
      name: 'nor when a plain elector has taken what had expired, whose acquireTime is not known to be a grant',
      memory: () => led.sees(renewedBy('x', 1000).with({ acquireTime: undefined }), 1000).build().memory,
      want: NEVER,
    },
    {
      name: 'nor when somebody has written a name into it by hand, without any time',
      memory: () =>
        led.sees(renewedBy('x', 1000).with({ acquireTime: undefined, renewTime: undefined }), 1000).build()
          .memory,
      want: NEVER,
    },
    {
      name: 'nor when there was no leader before',
      memory: () => makeInput().sees(grantedTo('x', 1000), 1000).build().memory,
      want: NEVER,
    },
    {
      name: 'nor when nobody had taken up what was given away',
      memory: () =>
        makeInput()
          .remembers({ grantOnItsWay: { ...grant, holder: 'a' } })
          .sees(grantedTo('a', 1000), 1000)
          .sees(grantedTo('x', 3000), 3000)
          .build().memory,
      want: NEVER,
    },
  ])('$name', ({ memory, want }) => {
    expect(memory().releaseDoubtedUntil).toBe(want);
  });
});

describe('a reservation (rule 8)', () => {
  const returned = makeInput()
    .sees(makeLease('a').lasting(30), 0)
    .sees(undefined, 1000)
    .sees(grantedTo('a', 2000), 2000)
    .sees(renewedBy('a', 3000), 3000);

  test('outlives a grant to the same holder, and its renewals', () => {
    expect(returned.build().memory.reservation).toMatchObject({ holder: 'a', from: 1000, until: 30_000 });
  });

  test.each([
    {
      name: 'of the leader before, if that believes for longer',
      seconds: 10,
      want: { holder: 'a', until: 30_000, othersUntil: 14_000 },
    },
    {
      name: 'of the last leader, if that believes for longer',
      seconds: 60,
      want: { holder: 'x', until: 64_000, othersUntil: 30_000 },
    },
  ])('is that $name', ({ seconds, want }) => {
    const taken = returned
      .sees(renewedBy('x', 4000).lasting(seconds), 4000)
      .sees(makeLease('').renewedAt(4000), 5000);
    expect(taken.build().memory.reservation).toMatchObject(want);
  });

  test('is not for one that cannot believe in the Lease any more when that is emptied', () => {
    const expired = makeInput().sees(makeLease('a'), 0).sees(makeLease(''), 10_000);
    expect(expired.build().memory.reservation).toBeUndefined();
  });

  test('is for one whose record somebody else has shortened', () => {
    const led = makeInput().sees(makeLease('a').lasting(30), 0).sees(renewedBy('a', 1000).lasting(30), 1000);
    const shortened = led.sees(renewedBy('a', 1000).lasting(3), 2000);
    expect(shortened.build().memory.reservation).toMatchObject({ holder: 'a', until: 31_000 });
  });

  test('ends with the release by that holder', () => {
    const { memory } = returned.sees(makeLease().releasedAt(4000), 4000).build();
    expect(memory.reservation).toBeUndefined();
    expect([...memory.withdrawals.keys()]).toEqual(['a']);
  });

  test('does not end with a release by somebody else', () => {
    const taken = returned.sees(renewedBy('x', 4000), 4000).sees(makeLease().releasedAt(5000), 5000);
    expect(taken.build().memory.reservation).toMatchObject({ holder: 'a', until: 30_000 });
  });
});

test('a Lease that nobody held is released by nobody', () => {
  const { memory } = makeInput().sees(makeLease(''), 0).sees(makeLease().releasedAt(1000), 1000).build();
  expect(memory.withdrawals.size).toBe(0);
  expect(memory.reservation).toBeUndefined();
});

describe('a candidate that lets its grants run out is forgiven (rule 7)', () => {
  const lapsed = makeInput()
    .sees(makeLease('a'), 0)
    .remembers({ lapses: new Map([['a', { count: 2, lastAt: 0 }]]) });

  test.each<{ name: string; lease: LeaseBuilder; want: boolean }>([
    { name: 'with its first renewal', lease: renewedBy('a', 1000), want: true },
    { name: 'not with a grant by another coordinator', lease: grantedTo('a', 1000), want: false },
    { name: 'not with a change by somebody else', lease: makeLease('a').lasting(20), want: false },
    { name: 'not with a renewal by another holder', lease: renewedBy('b', 1000), want: false },
  ])('$name', ({ lease, want }) => {
    expect(lapsed.sees(lease, 1000).build().memory.lapses.has('a')).toBe(!want);
  });
});

describe('what we wrote beside a holder (rule 7)', () => {
  const written = makeInput()
    .sees(makeLease('a').preferring('b'), 0)
    .remembers({ written: { preferredHolder: 'b', strategy: OLDEST } });
  const renewed = renewedBy('a', 1000);

  test.each<{ name: string; lease: LeaseBuilder; want: number }>([
    { name: 'is there after a renewal that keeps it', lease: renewed.preferring('b'), want: 0 },
    { name: 'was wiped by one without preferredHolder', lease: renewed, want: 1 },
    {
      name: 'was wiped by one without strategy',
      lease: renewed.preferring('b').strategy(undefined),
      want: 1,
    },
    { name: 'is not what a new holder wipes', lease: renewedBy('x', 1000), want: 0 },
    { name: 'is not what a release wipes', lease: makeLease().releasedAt(1000), want: 0 },
  ])('$name', ({ lease, want }) => {
    expect(written.sees(lease, 1000).build().memory.ignoredWrites.count).toBe(want);
  });

  test('is not wiped where nothing was written', () => {
    for (const lease of [renewed, renewed.preferring('b')]) {
      const { memory } = makeInput().sees(makeLease('a').preferring('b'), 0).sees(lease, 1000).build();
      expect(memory.ignoredWrites.count).toBe(0);
    }
    const empty = makeInput()
      .sees(makeLease(''), 0)
      .remembers({ written: { strategy: 'example.com/x' } })
      .sees(makeLease('').renewedAt(1000), 1000);
    expect(empty.build().memory.ignoredWrites.count).toBe(0);
  });

  test('is forgotten, with rounds and conflicts, when somebody else holds the Lease', () => {
    const tried = { count: 3, lastAt: 0 };
    const before = written.remembers({ rounds: tried, ignoredWrites: tried, conflict: 'c' });
    const of = (input: typeof before) => {
      const { rounds, ignoredWrites, conflict, written } = input.build().memory;
      return { rounds: rounds.count, ignoredWrites: ignoredWrites.count, conflict, written };
    };
    expect(of(before.sees(renewed.preferring('b'), 1000))).toEqual({
      ...{ rounds: 3, ignoredWrites: 3, conflict: 'c' },
      written: { preferredHolder: 'b', strategy: OLDEST },
    });
    expect(of(before.sees(renewedBy('x', 1000), 1000))).toEqual({
      ...{ rounds: 0, ignoredWrites: 0, conflict: undefined, written: {} },
    });
  });
});

describe('a holder that is asked to give way by a note (rule 14)', () => {
  const noting = (holder: string, preferredHolder: string, at: number) =>
    renewedBy(holder, at).noting({ preferredHolder });
  const first = makeInput().sees(noting('a', 'b', 1000), 1000);

  test.each([
    { name: 'is timed from when that was first seen', next: noting('a', 'b', 5000), want: 1000 },
    { name: 'is timed anew for another candidate', next: noting('a', 'c', 5000), want: 5000 },
    { name: 'is another one, and timed anew', next: noting('x', 'b', 5000), want: 5000 },
    { name: 'is not any more, once the note is gone', next: renewedBy('a', 5000), want: undefined },
    {
      name: 'is told otherwise, once the field is there',
      next: renewedBy('a', 5000).preferring('b'),
      want: undefined,
    },
  ])('$name', ({ next, want }) => {
    expect(first.sees(next, 5000).build().memory.noted?.since).toBe(want);
  });
});
