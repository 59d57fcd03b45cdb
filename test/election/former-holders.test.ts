import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Belief,
  disturbsUntil,
  lastLoser,
  leadsUntil,
  reservationFor,
  UNKNOWN_HOLDER,
  withBelief,
} from '../../src/election/beliefs.ts';
import {
  type Beginning,
  loseGrant,
  observeBeginning,
  observeNewcomer,
  observeWatchEnd,
  settleLostGrants,
  withUnknown,
} from '../../src/election/former-holders.ts';
import { allBeliefs, type Grant, type LeaseMemory, noMemory } from '../../src/election/lease-memory.ts';
import { FENCE } from '../../src/election/model.ts';
import { observeAbandoned, observeUnseen } from '../../src/election/observe-lease.ts';
import { recordSending, recordSuccess } from '../../src/election/record-action.ts';
import { surveyTenure } from '../../src/election/view.ts';
import {
  type InputBuilder,
  type LeaseBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';

/** A holder that renewed for 15 s at 0 s, and lost the Lease then: it may disturb until 30 s. */
const beliefOf = (holder: string, fields: Partial<Belief> = {}): Belief => ({
  ...{ holder, renewedAt: 0, durationMs: 15_000, isOwnDuration: true, isParticipant: false, lostAt: 0 },
  ...fields,
});

/** The end of the reservation for the former holders that are known at `at`. */
const keptUntil = (memory: LeaseMemory, at: number) => reservationFor(allBeliefs(memory), at)?.until;

const beganAt0 = (input: InputBuilder, beginning: Beginning) =>
  observeBeginning(input.build(), makeNow(0), beginning);

describe('a holder that may have led is remembered (rule 8)', () => {
  test.each([
    { name: 'while it holds the Lease, even if it was silent for an hour', lostAt: undefined, at: 3_600_000 },
    { name: 'for 5 min after it can no longer disturb', lostAt: 0, at: 329_999 },
    { name: 'and not for longer', lostAt: 0, at: 330_000, isForgotten: true },
  ])('$name', ({ lostAt, at, isForgotten = false }) => {
    const beliefs = withBelief([beliefOf('a', { lostAt })], beliefOf('b', { renewedAt: at }), at);
    expect(beliefs.map(({ holder }) => holder)).toEqual(isForgotten ? ['b'] : ['a', 'b']);
  });

  test('with at most 99 others: those that may lead for the longest time', () => {
    const ends = Array.from({ length: 100 }, (_, index) => (index * 37 + 50) % 100);
    const beliefs = ends.map((end) => beliefOf(`holder-${end}`, { renewedAt: end }));
    const kept = withBelief(beliefs, beliefOf('new'), 1000).map(({ holder }) => holder);
    expect(kept).toHaveLength(100);
    expect(kept).toContain('new');
    expect(kept).not.toContain('holder-0');
  });
});

describe('the holder that last lost a Lease', () => {
  const early = beliefOf('early', { lostAt: 1000 });
  const late = beliefOf('late', { lostAt: 2000 });

  test.each([
    { name: 'is the holder that lost it last', beliefs: [early, late], want: 'late' },
    { name: 'is that holder in any order', beliefs: [late, early], want: 'late' },
    {
      name: 'is not the holder that still has it',
      beliefs: [early, beliefOf('a', { lostAt: undefined })],
      want: 'early',
    },
    {
      name: 'is not an unknown holder',
      beliefs: [early, beliefOf(UNKNOWN_HOLDER, { lostAt: 2000 })],
      want: 'early',
    },
    { name: 'is not a fence', beliefs: [early, beliefOf(FENCE, { lostAt: 2000 })], want: 'early' },
    {
      name: 'is undefined if only an unknown holder lost it',
      beliefs: [beliefOf(UNKNOWN_HOLDER)],
      want: undefined,
    },
  ])('$name', ({ beliefs, want }) => {
    expect(lastLoser(beliefs)).toBe(want);
  });
});

describe('a creation without an answer (rule 8)', () => {
  const grant: Grant = {
    ...{ holder: 'a', renewTime: wallAt(0), former: undefined, leaseDurationSeconds: 10 },
    ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
  };
  const lost = loseGrant({ ...noMemory, grantOnItsWay: grant }, 0);

  test('may reach the server late: the Lease stays reserved for 25 s after the last end of the watch', () => {
    expect(keptUntil(lost, 0)).toBe(25_000);
    const first = observeWatchEnd(lost, makeNow(2000));
    expect(keptUntil(first, 2000)).toBe(27_000);
    expect(keptUntil(observeWatchEnd(first, makeNow(40_000)), 40_000)).toBe(65_000);
  });

  test('may be unseen although it was answered, if all candidates had gone before: 25 s count from the answer', () => {
    const action = { kind: 'CreateLease', strategy: OLDEST, grant } as const;
    const sent = recordSending(makeInput().build(), action, 0);
    const gone = { ...sent, memory: observeAbandoned(sent.memory, makeNow(50)) };
    expect(keptUntil(gone.memory, 100)).toBe(25_050);
    const { memory } = recordSuccess(gone, action, 0, 100, makeLease('a').build());
    expect(keptUntil(memory, 100)).toBe(25_100);
    expect(keptUntil(observeWatchEnd(memory, makeNow(2000)), 2000)).toBe(27_000);
  });

  test('was not written if the server then wrote to the known Lease; if no Lease was known, its holder may still lead', () => {
    const { record } = makeInput().sees(makeLease('b'), 0).build().memory;
    expect(settleLostGrants({ ...lost, record }, 2000)).toMatchObject({ lostGrants: [], beliefs: [] });
    const settled = settleLostGrants(lost, 2000);
    expect(settled.lostGrants).toEqual([]);
    expect(keptUntil(settled, 2000)).toBe(17_000);
    expect(settleLostGrants(noMemory, 2000)).toBe(noMemory);
  });

  test('matters no more at the end of the watch if a Lease is known, or without such a creation', () => {
    const known = { ...lost, record: makeInput().sees(makeLease('b'), 1000).build().memory.record };
    expect(observeWatchEnd(known, makeNow(2000))).toBe(known);
    expect(observeWatchEnd(noMemory, makeNow(2000))).toBe(noMemory);
  });
});

describe('an unknown holder (rule 8)', () => {
  test('has a name with which no client can hold the Lease', () => {
    const input = makeInput().sees(makeLease(UNKNOWN_HOLDER), 0).build();
    expect(surveyTenure(input, 1)).toMatchObject({ kind: 'vacant', need: 'LeaseReleased' });
  });

  // A creation conflicted with a Lease that this process did not see: an unknown holder may lead until 25 s.
  test.each([
    { seenAt: 5000, until: 25_000 },
    { seenAt: 20_000, until: 35_000 },
  ])(
    'may lead until $until ms if another may have led at $seenAt ms: the later end counts',
    ({ seenAt, until }) => {
      const unseen = observeUnseen(noMemory, makeNow(0));
      expect(keptUntil(unseen, 0)).toBe(25_000);
      const found = observeNewcomer(unseen, makeLease('b').renewedAt(seenAt).build(), seenAt);
      expect(keptUntil(found, seenAt)).toBe(until);
    },
  );

  test.each([{ holderIdentity: '' }, { holderIdentity: undefined }])(
    'may lead if a Lease that this process did not know has been renewed, and has no holder ($holderIdentity)',
    ({ holderIdentity }) => {
      const lease = makeLease().heldBy(holderIdentity).renewedAt(4000).build();
      expect(keptUntil(observeNewcomer(noMemory, lease, 5000), 5000)).toBe(20_000);
    },
  );

  test('may lead for the duration in a Lease that this process did not know, if that is longer than usual', () => {
    const lease = makeLease('').lasting(60).renewedAt(4000).build();
    expect(keptUntil(observeNewcomer(noMemory, lease, 5000), 5000)).toBe(65_000);
    const grown = makeInput()
      .sees(makeLease('a'), 0)
      .sees(makeLease('b').lasting(60).with({ leaseTransitions: 9 }).renewedAt(5000), 5000)
      .build();
    expect(grown.memory.beliefs).toContainEqual(
      expect.objectContaining({ holder: UNKNOWN_HOLDER, durationMs: 60_000 }),
    );
  });

  test('stands for several: it may lead and disturb as long as the one that does so for the longest time', () => {
    const time = fc.nat(10_000);
    const unseen = fc.record({
      renewedAt: fc.oneof(time, fc.constant('before' as const)),
      leastMs: fc.nat(60_000),
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5000), unseen), { minLength: 2, maxLength: 4 }), (steps) => {
        let memory = noMemory;
        let at = 0;
        let ends = { leads: 0, disturbs: 0 };
        for (const [delayMs, { renewedAt, leastMs }] of steps) {
          at += delayMs;
          const until = renewedAt === 'before' ? renewedAt : at + renewedAt;
          const alone = withUnknown(noMemory, at, until, leastMs).beliefs[0] as Belief;
          memory = withUnknown(memory, at, until, leastMs);
          ends = {
            leads: Math.max(ends.leads, leadsUntil(alone)),
            disturbs: Math.max(ends.disturbs, disturbsUntil(alone)),
          };
          const [together] = memory.beliefs as [Belief];
          expect(leadsUntil(together)).toBeGreaterThanOrEqual(ends.leads);
          expect(disturbsUntil(together)).toBeGreaterThanOrEqual(ends.disturbs);
        }
      }),
    );
  });

  test('did not hold a found Lease that this process is just creating', () => {
    const grant = {
      ...{ holder: 'b', former: undefined, renewTime: wallAt(0), leaseDurationSeconds: 10 },
      ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
    };
    const sent = { ...noMemory, grantOnItsWay: grant };
    expect(observeNewcomer(sent, makeLease('b').renewedAt(500).build(), 1000).beliefs).toEqual([]);
    expect(observeNewcomer(sent, makeLease('c').renewedAt(500).build(), 1000).beliefs).toHaveLength(1);
  });

  test('may hold a found Lease that looks released, unless a participant wrote the release', () => {
    const released = makeLease().releasedAt(16_000);
    expect(keptUntil(observeNewcomer(noMemory, released.build(), 40_000), 40_000)).toBe(55_000);
    const own = released.with({ isReleasedByParticipant: true }).build();
    expect(keptUntil(observeNewcomer(noMemory, own, 40_000), 40_000)).toBeUndefined();
  });
});

describe('a process that begins to watch (rule 8)', () => {
  const candidate = makeCandidate('b').seenAt(0);

  test('assumes no former holder of a Lease without candidates', () => {
    expect(beganAt0(makeInput(), 'firstList').beliefs).toEqual([]);
    expect(beganAt0(makeInput().candidates(candidate), 'firstList').beliefs).toHaveLength(1);
  });

  test('waits for the configured duration, if that is longer than 15 s', () => {
    const input = makeInput().settings({ leaseDurationSeconds: 60 }).candidates(candidate);
    expect(keptUntil(beganAt0(input, 'firstList'), 0)).toBe(60_000);
    const longer = input
      .settings({ leaseDurationSeconds: 10 })
      .sees(makeLease('').lasting(90).renewedAt(-1000), 0);
    expect(keptUntil(beganAt0(longer, 'firstList'), 0)).toBe(90_000);
  });

  test('assumes a former holder if one of several candidates is older than 2 s', () => {
    const young = makeCandidate('young').createdAt(-1500).seenAt(0);
    expect(keptUntil(beganAt0(makeInput().candidates(young), 'firstEver'), 0)).toBeUndefined();
    expect(keptUntil(beganAt0(makeInput().candidates(young, candidate), 'firstEver'), 0)).toBe(15_000);
  });

  /** A found Lease that one client acquired at `at`. */
  const heldSince = (holder: string, at: number) =>
    makeLease(holder).with({ acquireTime: wallAt(at), isAcquireTimeHolders: true });

  test.each<{ name: string; lease: LeaseBuilder; doubtedUntil: number }>([
    {
      name: 'the usual duration after a grant to a candidate',
      lease: heldSince('b', -1000),
      doubtedUntil: 15_000,
    },
    {
      name: 'the usual duration while its holder has had it for less than 5 min',
      lease: heldSince('b', -299_000),
      doubtedUntil: 15_000,
    },
    {
      name: 'no time if its holder has had it for 5 min',
      lease: heldSince('b', -300_000),
      doubtedUntil: 0,
    },
    {
      name: 'two durations if its holder is not a candidate',
      lease: heldSince('stranger', -1000),
      doubtedUntil: 30_000,
    },
    {
      name: 'two durations if its acquireTime may be that of a former holder',
      lease: makeLease('b').with({ acquireTime: wallAt(-1000) }),
      doubtedUntil: 30_000,
    },
  ])('doubts a release of a found Lease for $name', ({ lease, doubtedUntil }) => {
    const input = makeInput().sees(lease, 0).candidates(candidate, makeCandidate('c').seenAt(0));
    const began = input.remembers(beganAt0(input, 'firstList'));
    const isDoubted = (at: number) => {
      const released = began.sees(lease.renewedAt(at), at).sees(makeLease().releasedAt(at + 1), at + 1);
      return keptUntil(released.build().memory, at + 1) !== undefined;
    };
    if (doubtedUntil > 0) expect(isDoubted(doubtedUntil - 2)).toBe(true);
    expect(isDoubted(doubtedUntil - 1)).toBe(false);
  });
});
