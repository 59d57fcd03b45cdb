import { describe, expect, test } from 'vitest';
import { beliefOf, leadsUntil, reservationFor, UNKNOWN_HOLDER } from '../../src/election/beliefs.ts';
import {
  allBeliefs,
  expiryOf,
  type Grant,
  isGrantUnrenewed,
  isProvisional,
  recordGrantAnswered,
} from '../../src/election/lease-memory.ts';
import { FENCE } from '../../src/election/model.ts';
import {
  type InputBuilder,
  type LeaseBuilder,
  makeInput,
  makeLease,
  makeUnrenewedGrant,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';

const NEVER = Number.NEGATIVE_INFINITY;

const grant: Grant = {
  holder: 'b',
  renewTime: wallAt(1000),
  leaseDurationSeconds: 10,
  former: 'a',
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
};

/** A Lease after a coordinator's grant at `at`. */
const grantedTo = (holder: string, at: number) =>
  makeLease(holder)
    .renewedAt(at)
    .with({ acquireTime: wallAt(at), resourceVersion: String(at) });

/** A Lease after its holder's renewal at `at`. */
const renewedBy = (holder: string, at: number) =>
  makeLease(holder)
    .renewedAt(at)
    .with({ resourceVersion: String(at) });

/** Whether the holder has not renewed the Lease since its grant. */
function isUntaken(input: InputBuilder, at: number): boolean {
  const { memory, lease } = input.build();
  return lease !== undefined && isProvisional(memory, lease, at);
}

/** The holder for which the Lease is reserved after it disappears at `at`, and until when. */
function keptAt(input: InputBuilder, at: number) {
  return reservationFor(allBeliefs(input.build().memory), at);
}

describe('a sent grant of ours', () => {
  const sent = makeInput().sees(makeLease('a').lasting(1), 0).remembers({ grantOnItsWay: grant });

  test.each<{ name: string; lease: LeaseBuilder; want: boolean; wantOnItsWay?: boolean }>([
    { name: 'is known by its holder and its renewTime', lease: grantedTo('b', 1000), want: true },
    { name: 'is not another coordinator’s grant at that time', lease: grantedTo('x', 1000), want: false },
    {
      name: 'is not another coordinator’s grant to that holder',
      lease: grantedTo('b', 1001),
      want: false,
      wantOnItsWay: true,
    },
    {
      name: 'is not a renewal by the former holder',
      lease: renewedBy('a', 1500),
      want: false,
      wantOnItsWay: true,
    },
  ])('$name', ({ lease, want, wantOnItsWay = false }) => {
    const seen = sent.sees(lease, 2000);
    const { memory } = seen.build();
    expect(isUntaken(seen, 2000)).toBe(want);
    expect(memory.decidedAt).toBe(want ? 2000 : NEVER);
    expect(memory.grantOnItsWay).toBe(wantOnItsWay ? grant : undefined);
  });

  test('may have been renewed before another coordinator granted the Lease: its holder leads for 15 s, unless it is refused', () => {
    const { memory } = sent.sees(grantedTo('x', 1000), 2000).build();
    expect(memory.supposedGrant?.grant).toBe(grant);
    expect(beliefOf(allBeliefs(memory), 'b')).toMatchObject({
      renewedAt: 2000,
      durationMs: 15_000,
      lostAt: 2000,
    });
  });
});

describe('an unrenewed grant is distinguished', () => {
  const granted = makeInput().remembers({ grantOnItsWay: grant }).sees(grantedTo('b', 1000), 1000);

  test('from another coordinator’s write under its resourceVersion, after a restore of the storage', () => {
    expect(isUntaken(granted, 2000)).toBe(true);
    const restored = granted.sees(renewedBy('b', 900).with({ resourceVersion: '1000' }), 2000);
    expect(isUntaken(restored, 2000)).toBe(false);
    expect(keptAt(restored, 2000)).toMatchObject({ holder: 'b' });
  });

  test('from the record that it replaces, after the answer and before it is seen', () => {
    const lease = makeLease('b').build();
    const { memory } = makeInput().sees(makeLease('b'), 0).remembers({ grantOnItsWay: grant }).build();
    const answered = recordGrantAnswered(memory, grant, '1000', 1000);
    expect(isGrantUnrenewed(answered, lease)).toBe(false);
    expect(isProvisional(answered, lease, 1000)).toBe(false);
  });
});

describe('a release that may be by a former leader is doubted (rule 8)', () => {
  const leading = (holder: string, at: number, seconds = 15) =>
    renewedBy(holder, at)
      .lasting(seconds)
      .with({ acquireTime: wallAt(-60_000) });
  const led = makeInput().sees(leading('a', 0), 0);
  const replica = (holder: string, at: number) => grantedTo(holder, at).with({ isUnrenewedGrant: true });

  /** Until when a release of the Lease is doubted, if its holder continues to renew until then. */
  const doubtedUntil = (input: InputBuilder, holder: string) => {
    const isDoubted = (at: number) => {
      const renewed = input.sees(leading(holder, at - 50), at - 50);
      return keptAt(renewed.sees(makeLease().releasedAt(at), at), at)?.holder === holder;
    };
    for (let at = 60_000; at > 5000; at -= 100) if (isDoubted(at - 100)) return at;
    return NEVER;
  };

  test.each<{ name: string; input: InputBuilder; holder: string; want: number }>([
    {
      name: 'for two of its durations after its last renewal, once another coordinator has given its Lease away',
      // It may have renewed right before that.
      input: led.sees(grantedTo('x', 1000), 1000),
      holder: 'x',
      want: 31_000,
    },
    {
      name: 'for one duration, once another replica has: that has seen all its time pass',
      input: led.sees(replica('x', 20_000), 20_000),
      holder: 'x',
      want: 35_000,
    },
    {
      name: 'and not after a renewal by that leader',
      input: led.sees(leading('a', 1000), 1000),
      holder: 'a',
      want: NEVER,
    },
    {
      name: 'nor when the Lease was given to that leader again',
      input: led.sees(grantedTo('a', 1000), 1000),
      holder: 'a',
      want: NEVER,
    },
    {
      name: 'also when a plain elector has taken an expired Lease, whose acquireTime may not be from a grant',
      input: led.sees(renewedBy('x', 1000).with({ acquireTime: undefined }), 1000),
      holder: 'x',
      want: 31_000,
    },
    {
      name: 'also when a client has written a name into it by hand, without times',
      input: led.sees(renewedBy('x', 1000).with({ acquireTime: undefined, renewTime: undefined }), 1000),
      holder: 'x',
      want: 31_000,
    },
    {
      name: 'not when that leader was a participant, which empties nothing that is another’s (rule 15)',
      input: makeInput()
        .sees(leading('a', 0).with({ isRenewedByParticipant: true }), 0)
        .sees(grantedTo('x', 1000), 1000),
      holder: 'x',
      want: NEVER,
    },
    {
      name: 'nor when there was no leader before',
      input: makeInput().sees(grantedTo('x', 1000), 1000),
      holder: 'x',
      want: NEVER,
    },
    {
      name: 'for no longer when another replica also gives away what it had granted to that leader',
      input: makeInput().sees(replica('a', 1000), 1000).sees(replica('x', 3000), 3000),
      holder: 'x',
      want: 18_000,
    },
    {
      name: 'for two durations when another client gives away what may have been renewed, unseen',
      input: makeInput()
        .remembers({ grantOnItsWay: { ...grant, holder: 'a' } })
        .sees(grantedTo('a', 1000), 1000)
        .sees(grantedTo('x', 3000), 3000),
      holder: 'x',
      want: 33_000,
    },
  ])('$name', ({ input, holder, want }) => {
    expect(doubtedUntil(input, holder)).toBe(want);
  });
});

describe('leaseTransitions counts holders that this process has not seen (rule 8)', () => {
  const before = makeInput()
    .sees(renewedBy('a', 0).lasting(15), 0)
    .sees(renewedBy('a', 1000).lasting(15), 1000);
  const granted = before.remembers({ unrenewedGrant: makeUnrenewedGrant('b', 20_000, 'granted') });
  const byParticipant = { isRenewedByParticipant: true } as const;
  const at = 20_500;

  test.each<{ name: string; input: InputBuilder; lease: LeaseBuilder; want: number; until?: number }>([
    { name: 'A renewal', input: before, lease: renewedBy('a', at), want: 0 },
    // A participant that begins a term writes a new number (rule 15).
    {
      name: 'A renewal by a participant',
      input: before,
      lease: renewedBy('a', at).with(byParticipant),
      want: 1,
    },
    {
      name: 'A grant of another replica',
      input: before,
      lease: grantedTo('b', at).with({ isUnrenewedGrant: true }),
      want: 1,
      // That replica has waited until no former holder could lead.
      until: at,
    },
    { name: 'A fence', input: before, lease: grantedTo(FENCE, at), want: 1 },
    { name: 'Our grant, seen with its first renewal,', input: granted, lease: renewedBy('b', at), want: 1 },
    {
      name: 'Our grant, seen with its first renewal by a participant,',
      input: granted,
      lease: renewedBy('b', at).with(byParticipant),
      want: 2,
    },
  ])('$name increases it by up to $want', ({ input, lease, want, until = at + 15_000 }) => {
    const unseenAfter = (leaseTransitions: number) => {
      const { memory } = input.sees(lease.with({ leaseTransitions }), at).build();
      const unseen = beliefOf(memory.beliefs, UNKNOWN_HOLDER);
      return unseen && leadsUntil(unseen);
    };
    expect(unseenAfter(want)).toBeUndefined();
    expect(unseenAfter(want + 1)).toBe(until);
  });
});

describe('a fence (rule 14)', () => {
  const fence = (seconds: number, at = 0) => grantedTo(FENCE, at).lasting(seconds);

  test('that has expired neither disturbs the next holder, nor tells how long holders lead', () => {
    const granted = makeInput()
      .sees(fence(60), 0)
      .remembers({ grantOnItsWay: { ...grant, renewTime: wallAt(60_000) } })
      .sees(grantedTo('b', 60_000).with({ leaseTransitions: 1 }), 60_000);
    expect(keptAt(granted.sees(undefined, 61_000), 61_000)).toMatchObject({ holder: 'b', until: 76_000 });
    const renewed = granted.sees(renewedBy('b', 62_000).with({ leaseTransitions: 1 }), 62_000);
    const released = renewed.sees(makeLease().releasedAt(63_000).with({ leaseTransitions: 1 }), 63_000);
    expect(keptAt(released, 63_000)).toBeUndefined();
    expect([...released.build().memory.withdrawals.keys()]).toEqual(['b']);
  });

  test('lasts for its whole duration although another client shortens it', () => {
    const shortened = makeInput()
      .sees(fence(60), 0)
      .sees(fence(1).with({ resourceVersion: '2' }), 5000);
    expect(expiryOf(shortened.build().memory)).toBeGreaterThanOrEqual(60_000);
  });
});

describe('a reservation (rule 8)', () => {
  const deleted = makeInput()
    .sees(makeLease('a').lasting(30), 0)
    .sees(renewedBy('a', 500).lasting(30), 500)
    .sees(undefined, 1000);
  const returned = deleted
    .sees(grantedTo('a', 2000).lasting(30), 2000)
    .sees(renewedBy('a', 3000).lasting(30), 3000);

  test('lasts a full duration from a deletion, and outlives a shorter grant to the same holder', () => {
    expect(keptAt(deleted, 1000)).toMatchObject({ holder: 'a', from: 1000, until: 31_000 });
    const again = deleted.sees(grantedTo('a', 2000), 2000);
    expect(expiryOf(again.build().memory)).toBeGreaterThanOrEqual(31_000);
  });

  test('expires as after shorter renewals by that holder, from the second on', () => {
    const own = (at: number) => renewedBy('a', at).with({ isDurationHolders: true });
    const shorter = returned.sees(own(5000), 5000);
    expect(expiryOf(shorter.build().memory)).toBe(35_000);
    const again = shorter.sees(own(7000), 7000);
    expect(expiryOf(again.build().memory)).toBe(35_000);
    expect(expiryOf(again.sees(own(30_000), 30_000).build().memory)).toBe(40_000);
  });

  test('is not for a holder that has not renewed a grant of another replica, after that is given away', () => {
    const replica = (holder: string, at: number) => grantedTo(holder, at).with({ isUnrenewedGrant: true });
    const revised = makeInput().sees(replica('a', 1000), 1000).sees(replica('x', 3000), 3000);
    expect(keptAt(revised, 3000)).toBeUndefined();
    expect(isUntaken(revised, 3000)).toBe(true);
  });

  test.each([
    {
      name: 'of the leader before, if that believes for longer',
      seconds: 10,
      // Taken at 4 s, emptied at 5 s with another renewTime: its holder may have renewed it right before.
      want: { holder: 'a', until: 34_000, othersUntil: 15_000 },
    },
    {
      // The former leader may have renewed it, too, for the 60 s in the Lease.
      name: 'of the last leader, if that believes for longer',
      seconds: 60,
      want: { holder: 'x', until: 65_000, othersUntil: 64_000 },
    },
  ])('is that $name', ({ seconds, want }) => {
    const emptied = returned
      .sees(renewedBy('x', 4000).lasting(seconds), 4000)
      .sees(makeLease('').renewedAt(4500), 5000);
    expect(keptAt(emptied, 5000)).toMatchObject(want);
  });

  test('is not for a holder that cannot believe in the Lease any more when it is emptied', () => {
    const expired = makeInput().sees(makeLease('a'), 0).sees(makeLease(''), 10_000);
    expect(keptAt(expired, 10_000)).toBeUndefined();
  });

  test('is for a holder whose record another client has shortened', () => {
    const led = makeInput().sees(makeLease('a').lasting(30), 0).sees(renewedBy('a', 1000).lasting(30), 1000);
    const shortened = led.sees(renewedBy('a', 1000).lasting(3), 2000);
    expect(keptAt(shortened, 5000)).toMatchObject({ holder: 'a', until: 31_000 });
  });

  test('ends with the release by that holder', () => {
    const released = returned.sees(makeLease().releasedAt(4000), 4000);
    expect(keptAt(released, 4000)).toBeUndefined();
    expect([...released.build().memory.withdrawals.keys()]).toEqual(['a']);
  });

  test('does not end with a release by another, which may also be its own', () => {
    const taken = returned.sees(renewedBy('x', 4000), 4000);
    const released = makeLease().releasedAt(5000);
    expect(keptAt(taken.sees(released.with({ isReleasedByParticipant: true }), 5000), 5000)).toMatchObject({
      holder: 'a',
      until: 34_000,
      othersUntil: NEVER,
    });
    expect(keptAt(taken.sees(released, 5000), 5000)).toMatchObject({
      holder: 'a',
      until: 34_000,
      othersUntil: 15_000,
    });
  });
});

test('a holder that releases the Lease has yielded to its last preferredHolder', () => {
  const asked = makeInput()
    .sees(makeLease('a').preferring('c'), 0)
    .sees(makeLease('a').preferring('b'), 1000);
  const released = asked.sees(makeLease().releasedAt(2000).with({ isReleasedByParticipant: true }), 2000);
  expect(released.build().memory.yieldedTo).toBe('b');
});

test('a Lease without a holder is released by none', () => {
  const { memory } = makeInput().sees(makeLease(''), 0).sees(makeLease().releasedAt(1000), 1000).build();
  expect(memory.withdrawals.size).toBe(0);
  expect(memory.beliefs).toEqual([]);
});

describe('a candidate that lets its grants expire is no longer held back (rule 7)', () => {
  const lapsed = makeInput()
    .sees(makeLease('a'), 0)
    .remembers({ lapses: new Map([['a', { count: 2, lastAt: 0 }]]) });

  test.each<{ name: string; lease: LeaseBuilder; want: boolean }>([
    { name: 'with its first renewal', lease: renewedBy('a', 1000), want: true },
    { name: 'not with a grant by another coordinator', lease: grantedTo('a', 1000), want: false },
    { name: 'not with a change by another client', lease: makeLease('a').lasting(20), want: false },
    {
      name: 'not when another client removes its renewTime',
      lease: makeLease('a').with({ renewTime: undefined }),
      want: false,
    },
    { name: 'not with a renewal by another holder', lease: renewedBy('b', 1000), want: false },
  ])('$name', ({ lease, want }) => {
    expect(lapsed.sees(lease, 1000).build().memory.lapses.has('a')).toBe(!want);
  });

  test('and other candidates stay held back then', () => {
    const lapse = { count: 2, lastAt: 0 };
    const both = lapsed.remembers({
      lapses: new Map([
        ['a', lapse],
        ['b', lapse],
      ]),
    });
    expect([...both.sees(renewedBy('a', 1000), 1000).build().memory.lapses.keys()]).toEqual(['b']);
  });
});

describe('our fields beside a holder (rule 7)', () => {
  const written = makeInput()
    .sees(makeLease('a').preferring('b'), 0)
    .remembers({ written: { preferredHolder: 'b', strategy: OLDEST } });
  const renewed = renewedBy('a', 1000);

  test.each<{ name: string; lease: LeaseBuilder; want: number }>([
    { name: 'exists after a renewal that keeps it', lease: renewed.preferring('b'), want: 0 },
    { name: 'was wiped by one without preferredHolder', lease: renewed, want: 1 },
    {
      name: 'was wiped by one without strategy',
      lease: renewed.preferring('b').strategy(undefined),
      want: 1,
    },
    { name: 'is not removed by a new holder', lease: renewedBy('x', 1000), want: 0 },
    { name: 'is not removed by a release', lease: makeLease().releasedAt(1000), want: 0 },
  ])('$name', ({ lease, want }) => {
    expect(written.sees(lease, 1000).build().memory.ignoredWrites.count).toBe(want);
  });

  test('are not removed if none were written', () => {
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

  test('are forgotten, with rounds and conflicts, when another holds the Lease', () => {
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
    // The holder that removed the fields has lost the Lease.
    for (const lease of [makeLease().releasedAt(1000), makeLease('').renewedAt(1000), undefined])
      expect(of(before.sees(lease, 1000)).ignoredWrites).toBe(0);
    const kept = before.sees(makeLease(''), 1000).remembers({ ignoredWrites: tried });
    expect(of(kept.sees(makeLease('').renewedAt(2000), 2000)).ignoredWrites).toBe(3);
  });
});

describe('a holder that a note asks to yield (rule 14)', () => {
  const noting = (holder: string, preferredHolder: string, at: number) =>
    renewedBy(holder, at).noting({ preferredHolder });
  const first = makeInput().sees(noting('a', 'b', 1000), 1000);

  test.each([
    { name: 'is timed from when that was first seen', next: noting('a', 'b', 5000), want: 1000 },
    { name: 'has a new time for another candidate', next: noting('a', 'c', 5000), want: 5000 },
    { name: 'is another one, with a new time', next: noting('x', 'b', 5000), want: 5000 },
    {
      name: 'lost the Lease and got it back unseen, with a new time',
      next: noting('a', 'b', 5000).with({ leaseTransitions: 3 }),
      want: 5000,
    },
    { name: 'ends, when the note is removed', next: renewedBy('a', 5000), want: undefined },
    {
      name: 'is replaced by the field, when that exists',
      next: renewedBy('a', 5000).preferring('b'),
      want: undefined,
    },
  ])('$name', ({ next, want }) => {
    expect(first.sees(next, 5000).build().memory.noted?.since).toBe(want);
  });
});
