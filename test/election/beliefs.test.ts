import { describe, expect, test } from 'vitest';
import { beliefOf, UNKNOWN_HOLDER } from '../../src/election/beliefs.ts';
import { decideElection } from '../../src/election/decide.ts';
import { grantOf } from '../../src/election/decision.ts';
import { observeBeginning, observeNewcomer } from '../../src/election/former-holders.ts';
import {
  allBeliefs,
  type Grant,
  noMemory,
  recordGrant,
  recordGrantAnswered,
} from '../../src/election/lease-memory.ts';
import { observeUnseen } from '../../src/election/observe-lease.ts';
import {
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from '../../src/election/record-action.ts';
import { type ElectionInput, surveyTenure } from '../../src/election/view.ts';
import {
  type CandidateBuilder,
  InputBuilder,
  type LeaseBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  NEWEST,
  type ObservedBuilder,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions } from '../support/sim-election.ts';

const NEVER = Number.NEGATIVE_INFINITY;

const candidateOf = (name: string) => makeCandidate(name).seenAt(0);
const both = (input: InputBuilder) => input.candidates(candidateOf('a'), candidateOf('b'));

/** As client-go's elector leaves the Lease when it renews it. */
const renewedBy = (holder: string, at: number, transitions = 0) =>
  makeLease(holder)
    .lasting(15)
    .renewedAt(at)
    .with({ resourceVersion: `${holder}-${at}`, leaseTransitions: transitions });

/** As a coordinator of this program writes it, according to field ownership. */
const grantedTo = (holder: string, at: number, transitions = 1) =>
  makeLease(holder)
    .renewedAt(at)
    .with({
      acquireTime: wallAt(at),
      resourceVersion: `grant-${at}`,
      leaseTransitions: transitions,
      isUnrenewedGrant: true,
    });

const grantTo = (holder: string, at: number): Grant => ({
  holder,
  renewTime: wallAt(at),
  leaseDurationSeconds: 10,
  former: 'a',
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
});

/** The server has confirmed our grant to `holder` at `at`, and the watch has not shown it yet. */
const confirmedTo = (holder: string, at: number, input: InputBuilder) =>
  new InputBuilder(() => {
    const built = input.build();
    const grant = grantTo(holder, at);
    const memory = recordGrantAnswered({ ...built.memory, grantOnItsWay: grant }, grant, `grant-${at}`, at);
    return { ...built, memory };
  });

/** The holder for which a vacant Lease is reserved at `at`, and until when. */
function keptAt(input: InputBuilder, at: number) {
  const tenure = surveyTenure(input.build(), at);
  return tenure.kind === 'vacant' ? tenure.reservation : tenure.kind;
}

/** Whether the coordinator trusts the release of b's Lease right after its renewal at `at`. */
function isBelieved(input: InputBuilder, at: number, transitions: number): boolean {
  const released = makeLease().releasedAt(at).with({ leaseTransitions: transitions });
  const renewed = input.sees(renewedBy('b', at - 1, transitions), at - 1);
  return keptAt(renewed.sees(released, at), at) === undefined;
}

describe('a holder whose renewals were not seen while the watch was broken (rule 8)', () => {
  const led = makeInput().sees(renewedBy('a', 0), 0);
  const stranger = makeLease('stranger').lasting(1).renewedAt(16_000).with({ acquireTime: undefined });

  test.each<{ name: string; input: InputBuilder }>([
    { name: 'its Lease was deleted', input: led.sees(undefined, 16_000) },
    {
      name: 'its Lease was deleted and made again without a holder',
      input: led.sees(makeLease('').with({ uid: 'other', renewTime: undefined }), 16_000),
    },
    {
      name: 'its Lease was emptied by somebody else',
      input: led.sees(makeLease('').lasting(15).renewedAt(14_000), 16_000),
    },
    {
      name: 'its Lease was emptied by one client that kept the duration, so this is no release',
      input: led.sees(makeLease('').lasting(15).renewedAt(14_000).with({ isDurationHolders: true }), 16_000),
    },
    {
      name: 'its Lease was stolen, and let go by the thief',
      input: led
        .sees(stranger, 16_000)
        .sees(makeLease('').releasedAt(16_500).with({ isReleasedByParticipant: true }), 16_500),
    },
  ])('may lead for its whole duration after that is seen: $name', ({ input }) => {
    expect(keptAt(input, 16_500)).toMatchObject({ holder: 'a', until: 31_000 });
    expect(keptAt(input, 31_000)).toBeUndefined();
  });

  test('may have lost its Lease, unseen, to a candidate of another coordinator, if a list shows that it is gone', () => {
    const long = makeInput().sees(renewedBy('a', 0).lasting(60), 0);
    const nobody = { othersUntil: Number.NEGATIVE_INFINITY };
    expect(keptAt(long.sees(undefined, 20_000), 20_000)).toMatchObject({ holder: 'a', ...nobody });
    expect(keptAt(long.sees(undefined, 20_000, true, -1), 20_000)).toMatchObject({ holder: 'a', ...nobody });
    expect(keptAt(long.sees(undefined, 20_000, true, 19_000), 20_000)).toMatchObject({ othersUntil: 80_000 });
  });

  test.each<{ name: string; lease: ReturnType<typeof makeLease>; want: number | undefined }>([
    { name: 'emptied by somebody else', lease: makeLease('').lasting(15).renewedAt(14_000), want: 31_000 },
    { name: 'released', lease: makeLease('').releasedAt(15_000), want: undefined },
    {
      name: 'deleted and made anew',
      lease: makeLease('').with({ uid: 'other' }).renewedAt(14_000),
      want: 31_000,
    },
    {
      name: 'deleted and made anew without renewTime, for another controller to grant',
      lease: makeLease('').with({ uid: 'other', renewTime: undefined }),
      want: undefined,
    },
    {
      name: 'emptied, together with its renewTime',
      lease: makeLease('').lasting(15).with({ renewTime: undefined }),
      want: 31_000,
    },
  ])('may have held a Lease that was empty before and is empty again: $name', ({ lease, want }) => {
    const empty = makeInput().sees(makeLease('').releasedAt(-60_000).with({ leaseTransitions: 1 }), -60_000);
    const again = lease.with({ leaseTransitions: 2 });
    expect(keptAt(empty.sees(again, 16_000, true), 16_000)).toEqual(
      want === undefined ? undefined : expect.objectContaining({ until: want }),
    );
  });

  test.each<{ name: string; lease: ReturnType<typeof makeLease>; want: number | undefined }>([
    { name: 'with another holder', lease: renewedBy('b', 15_500), want: 31_000 },
    { name: 'emptied', lease: makeLease('').lasting(15).renewedAt(14_000), want: 31_000 },
    { name: 'released', lease: makeLease('').releasedAt(14_000), want: 31_000 },
    {
      name: 'released by a participant',
      lease: makeLease('').releasedAt(14_000).with({ isReleasedByParticipant: true }),
      want: undefined,
    },
    {
      name: 'made for others to grant',
      lease: makeLease('').with({ renewTime: undefined }),
      want: undefined,
    },
    { name: 'as another replica has just granted it', lease: grantedTo('b', 15_500), want: undefined },
  ])(
    'may have held a Lease before it is seen, if the Lease was missing before and is $name',
    ({ lease, want }) => {
      const { beliefs } = observeNewcomer(noMemory, lease.build(), 16_000);
      expect(beliefs).toMatchObject(
        want === undefined ? [] : [{ holder: UNKNOWN_HOLDER, renewedAt: 16_000 }],
      );
      const ours = { ...noMemory, unrenewedGrant: makeUnrenewedGrant('b', 15_000) };
      expect(observeNewcomer(ours, lease.build(), 16_000).beliefs).toEqual([]);
    },
  );

  test('may have held a Lease before it comes back with another uid, although its new holder has released it', () => {
    const empty = makeInput().sees(makeLease('').releasedAt(-60_000), -60_000);
    const anew = renewedBy('b', 15_500).with({ uid: 'other' });
    const released = makeLease().releasedAt(16_500).with({ uid: 'other', isReleasedByParticipant: true });
    expect(keptAt(empty.sees(anew, 16_000, true).sees(released, 16_500), 16_500)).toMatchObject({
      holder: undefined,
      until: 31_000,
    });
  });

  // `a` lost the Lease at 5 s, and may lead until 15 s. It may release the Lease of the next holder until 30 s.
  const emptiedAt5 = led.sees(renewedBy('a', 0).heldBy(''), 5000);
  const release = (at: number) => makeLease().releasedAt(at);

  test.each<{ name: string; lease: LeaseBuilder; at: number; isListed?: boolean; want: boolean }>([
    {
      name: 'may have held it, if it is released while a former holder may disturb',
      lease: release(29_900),
      at: 29_999,
      want: true,
    },
    {
      name: 'can no longer lead, if it is released after that',
      lease: release(30_000),
      at: 30_001,
      want: false,
    },
    {
      name: 'may have held it, if a list shows its release, perhaps from before that',
      lease: release(39_000),
      at: 40_000,
      isListed: true,
      want: true,
    },
    {
      name: 'has not held it, if only its duration changes',
      lease: renewedBy('a', 0).heldBy('').lasting(20),
      at: 40_000,
      want: false,
    },
  ])('of a Lease that was empty before $name', ({ lease, at, isListed, want }) => {
    const seen = emptiedAt5.sees(lease, at, isListed);
    expect(keptAt(seen, at)).toEqual(want ? expect.objectContaining({ until: at + 15_000 }) : undefined);
  });

  test('renews with its own duration, although only its grant was seen', () => {
    const granted = makeInput()
      .remembers({ grantOnItsWay: grantTo('a', 0) })
      .sees(grantedTo('a', 0), 0);
    expect(keptAt(granted.sees(undefined, 4000), 4000)).toMatchObject({ holder: 'a', until: 19_000 });
  });

  test('leads on for its own duration although another client has shortened the record to a second', () => {
    const shortened = led.sees(renewedBy('a', 14_000).lasting(1), 16_000);
    expect(surveyTenure(shortened.build(), 17_000)).toMatchObject({ kind: 'held', expiresAt: 31_000 });
    const again = shortened.sees(renewedBy('a', 16_500).lasting(1), 17_000);
    expect(surveyTenure(again.build(), 17_500)).toMatchObject({ kind: 'held', expiresAt: 32_000 });
  });

  test('leads on for a shorter duration that it has written itself, from the second such renewal on', () => {
    const own = (at: number) => renewedBy('a', at).lasting(1).with({ isDurationHolders: true });
    const shorter = led.sees(own(14_000), 16_000);
    expect(surveyTenure(shorter.build(), 17_000)).toMatchObject({ kind: 'held', expiresAt: 31_000 });
    const again = shorter.sees(own(16_500), 17_000);
    expect(surveyTenure(again.build(), 17_500)).toMatchObject({ kind: 'held', expiresAt: 31_000 });
    const later = again.sees(own(30_000), 30_500);
    expect(surveyTenure(later.build(), 30_600)).toMatchObject({ kind: 'held', expiresAt: 31_500 });
  });

  test('leads on for its own duration although two clients have changed its record one after the other', () => {
    const shortened = led.sees(makeLease('a').lasting(1).renewedAt(0).with({ resourceVersion: '2' }), 1000);
    const edited = shortened.sees(
      makeLease('a').lasting(1).renewedAt(4000).with({ resourceVersion: '3' }),
      4000,
    );
    expect(surveyTenure(edited.build(), 14_999)).toMatchObject({ kind: 'held' });
  });

  test('leads on for its own duration after a renewal that a list shows shortened, as an earlier one was', () => {
    const shortened = led.sees(makeLease('a').lasting(1).renewedAt(0).with({ resourceVersion: '2' }), 1000);
    const listed = shortened.sees(renewedBy('a', 14_000).lasting(1), 20_000, true);
    expect(surveyTenure(listed.build(), 34_999)).toMatchObject({ kind: 'held', expiresAt: 35_000 });
    const own = shortened.sees(
      renewedBy('a', 14_000).lasting(1).with({ isDurationHolders: true }),
      20_000,
      true,
    );
    expect(surveyTenure(own.build(), 20_500)).toMatchObject({ kind: 'held', expiresAt: 21_000 });
  });

  test('leads for the usual duration when grant and first renewal were shortened, and a list shows the renewal', () => {
    const granted = makeInput().sees(grantedTo('b', 0).lasting(1).with({ resourceVersion: '2' }), 0);
    const listed = granted.sees(renewedBy('b', 500).lasting(1), 2000, true);
    expect(surveyTenure(listed.build(), 16_999)).toMatchObject({ kind: 'held', expiresAt: 17_000 });
  });

  test('may lead on when its Lease looks released, but another client had shortened it before', () => {
    const shortened = led.sees(makeLease('').lasting(1).renewedAt(14_000), 15_000, true);
    expect(keptAt(shortened, 15_000)).toMatchObject({ holder: 'a', until: 30_000 });
  });

  test('leads for the shorter duration of its first renewal, where field ownership says that it is its own', () => {
    const granted = makeInput()
      .sees(grantedTo('b', 0), 0)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('b', 0, 'grant-0') });
    const renewed = renewedBy('b', 500, 1).lasting(4);
    expect(surveyTenure(granted.sees(renewed, 500).build(), 600)).toMatchObject({ expiresAt: 15_500 });
    const own = granted.sees(renewed.with({ isDurationHolders: true }), 500).build();
    expect(surveyTenure(own, 600)).toMatchObject({ expiresAt: 4500 });
  });

  test('still leads for its own duration when a client edits the grant that returns the Lease for the rest of it', () => {
    const returned = makeInput()
      .sees(renewedBy('a', 0), 0)
      .sees(undefined, 1000)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a', 9000, 'return') })
      .sees(grantedTo('a', 9000, 0).lasting(7).with({ resourceVersion: 'return' }), 9000)
      .sees(renewedBy('a', 9500).lasting(7).with({ isDurationHolders: true }), 9500);
    expect(beliefOf(returned.build().memory.beliefs, 'a')).toMatchObject({ durationMs: 15_000 });
  });

  test('renews with its own duration, although its first renewal is seen after a client has shortened it', () => {
    const granted = makeInput().remembers({ unrenewedGrant: makeUnrenewedGrant('b') });
    const shortened = renewedBy('b', 500, 1).lasting(1);
    const kindAt = (input: InputBuilder, at: number) => surveyTenure(input.build(), at).kind;
    expect(kindAt(granted.sees(shortened, 2000, true), 16_999)).toBe('held');
    expect(kindAt(granted.sees(shortened.with({ isDurationHolders: true }), 2000, true), 3000)).toBe(
      'vacant',
    );
    expect(kindAt(granted.sees(shortened, 2000), 16_999)).toBe('held');
  });

  test('renews with the duration of the last holder with a known one, although that one has released the Lease', () => {
    const known = makeInput()
      .sees(renewedBy('a', 0).lasting(60), 0)
      .sees(renewedBy('a', 2000).lasting(60), 2000)
      .sees(makeLease('').releasedAt(3000), 3000)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('b', 4000, 'grant-4000') })
      .sees(grantedTo('b', 4000), 4000);
    const shortened = known.sees(renewedBy('b', 4500, 1).lasting(1), 5000);
    expect(surveyTenure(shortened.build(), 64_999)).toMatchObject({ kind: 'held', expiresAt: 65_000 });
    expect(keptAt(known.sees(undefined, 5000), 5000)).toMatchObject({ holder: 'b', until: 65_000 });
    // After a renewal for a shorter duration, the coordinator expects that duration next time.
    const own = (at: number) => renewedBy('b', at, 1).with({ isDurationHolders: true });
    const shorter = known
      .sees(own(4500), 5000)
      .sees(own(64_000), 64_000)
      .sees(own(66_000), 66_000)
      .sees(undefined, 70_000);
    expect(keptAt(shorter, 70_000)).toMatchObject({ holder: 'b', until: 85_000 });
  });

  test('gets its Lease back for as long as it may lead, with a mark that this is not a first grant', () => {
    const input = led.sees(undefined, 1000).candidates(candidateOf('a').pingedAt(1100).renewedAt(1200));
    const grant = grantOf(decideElection(input.build(), makeNow(1300)));
    expect(grant).toMatchObject({ holder: 'a', leaseDurationSeconds: 15, isReturn: true });
  });

  test('does not lead for the duration of the grant that returns the Lease, if that is longer: it renews with its own', () => {
    const gone = led.sees(undefined, 1000);
    const grant: Grant = { ...grantTo('a', 1500), leaseDurationSeconds: 60, isReturn: true };
    const returned = recordGrant(gone.build().memory, grant, 'return', 1500);
    expect(keptAt(gone.remembers(returned).sees(undefined, 2000), 2000)).toMatchObject({
      ...{ holder: 'a', until: 17_000 },
    });
  });
});

describe('a confirmed grant of ours (rule 8)', () => {
  const led = makeInput().sees(renewedBy('a', 0), 0);
  const empty = makeInput().sees(makeLease('').releasedAt(-60_000), 0);
  const stolen = makeLease('thief').renewedAt(16_000).with({ leaseTransitions: 1, acquireTime: undefined });
  const emptied = makeLease('').lasting(15).renewedAt(16_000).with({ leaseTransitions: 1 });

  test.each<{ name: string; input: InputBuilder; lease: LeaseBuilder | undefined; others?: number }>([
    // The grant has replaced the record of `a`, so `a` cannot have renewed later.
    {
      name: 'is gone, which does not prolong the time of its last seen holder',
      input: led,
      lease: undefined,
      others: NEVER,
    },
    { name: 'has another holder', input: led, lease: stolen },
    { name: 'has no holder', input: led, lease: emptied },
    { name: 'has no holder, as before the grant', input: empty, lease: emptied, others: NEVER },
  ])('may have been renewed if the watch shows next that the Lease $name', ({ input, lease, others }) => {
    const seen = confirmedTo('b', 15_000, input).sees(lease, 16_500);
    const { memory } = seen.build();
    expect(beliefOf(allBeliefs(memory), 'b')).toMatchObject({ renewedAt: 16_500, durationMs: 15_000 });
    if (others !== undefined) {
      expect(keptAt(seen, 16_500)).toEqual({ holder: 'b', from: 16_500, until: 31_500, othersUntil: others });
    }
  });

  test.each<{ name: string; input: InputBuilder; want: number }>([
    {
      // Only the grant to `a` was seen, so its 60 s are not the known duration of a holder.
      name: 'the usual duration, and not that of the grant before',
      input: confirmedTo('b', 70_000, makeInput().sees(grantedTo('a', 0, 0).lasting(60), 0)),
      want: 15_000,
    },
    {
      name: 'the duration of the grant, if that is longer than the usual one',
      input: makeInput()
        .remembers({ grantOnItsWay: { ...grantTo('b', 70_000), leaseDurationSeconds: 30 } })
        .sees(grantedTo('b', 70_000).lasting(30), 70_000),
      want: 30_000,
    },
  ])('lasts from its first renewal, which another client has shortened, for $name', ({ input, want }) => {
    const renewed = input.sees(renewedBy('b', 71_000, 1).lasting(1), 71_000);
    expect(surveyTenure(renewed.build(), 72_000)).toMatchObject({ kind: 'held', expiresAt: 71_000 + want });
  });
});

describe('a grant of ours with an unknown result (rule 8)', () => {
  const led = makeInput().sees(renewedBy('a', 0), 0);
  const sent = led.remembers({ grantOnItsWay: grantTo('b', 15_000) });

  test('may have been renewed when the Lease is seen to be gone', () => {
    const gone = sent.sees(undefined, 16_000);
    expect(keptAt(gone, 16_000)).toMatchObject({ until: 31_000, othersUntil: 31_000 });
  });

  test('that created the Lease may have been renewed as well', () => {
    const created = makeInput()
      .remembers({ grantOnItsWay: grantTo('b', 0) })
      .sees(undefined, 2000);
    expect(keptAt(created, 2000)).toMatchObject({ holder: 'b', until: 17_000 });
  });

  test('that was to create the Lease and has failed may go to no other, until its refusal is certain', () => {
    const create = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const sent = recordSending(makeInput().build(), create, 0);
    const failed = recordFailure(sent, create, 0, 3500);
    expect(allBeliefs(failed.memory).map(({ holder }) => holder)).toEqual(['b']);
    expect(allBeliefs(recordRefusal(failed, create).memory)).toEqual([]);
  });

  test('that was answered may have been renewed until the Lease is first seen to be gone, and not after that', () => {
    const answered = led.remembers({ unrenewedGrant: makeUnrenewedGrant('b', 15_000) });
    const gone = answered.sees(undefined, 16_000);
    expect(keptAt(gone, 16_000)).toMatchObject({ holder: 'b', until: 31_000 });
    expect(keptAt(gone.sees(undefined, 26_000, true), 26_000)).toMatchObject({ holder: 'b', until: 31_000 });
  });

  test.each([
    { seconds: 10, until: 17_000 },
    { seconds: 60, until: 62_000 },
  ])(
    'of $seconds s may last for that time after the Lease is seen to be gone, but at least for the usual duration',
    ({ seconds, until }) => {
      const grant = { ...grantTo('b', 0), leaseDurationSeconds: seconds };
      const gone = makeInput().remembers({ grantOnItsWay: grant }).sees(undefined, 2000);
      expect(keptAt(gone, 2000)).toMatchObject({ holder: 'b', until });
    },
  );

  test('was not renewed if the server has refused it', () => {
    const gone = sent.sees(undefined, 16_000).build();
    const refused = {
      kind: 'CreateLease',
      strategy: OLDEST,
      grant: gone.memory.supposedGrant?.grant,
    } as const;
    const { memory } = recordRefusal(gone, refused);
    expect(allBeliefs(memory).map(({ holder }) => holder)).toEqual(['a']);
  });

  test('may have been renewed although the server has refused another grant', () => {
    const gone = sent.sees(undefined, 16_000).build();
    const other = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 15_900) } as const;
    expect(beliefOf(allBeliefs(recordRefusal(gone, other).memory), 'b')).toMatchObject({ renewedAt: 16_000 });
  });

  test('may have been renewed although the next attempt is refused', () => {
    const first = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 15_000) } as const;
    const second = { ...first, grant: grantTo('b', 15_100) };
    const input = led.build();
    const tried = recordRefusal(recordSending(recordSending(input, first, 15_000), second, 15_100), second);
    const gone = led.remembers(tried.memory).sees(undefined, 16_000);
    expect(beliefOf(allBeliefs(gone.build().memory), 'b')).toMatchObject({ renewedAt: 16_000 });
  });

  test('does not prevent another attempt while the Lease is unchanged: the server refuses it if an earlier one was applied', () => {
    let input = led.candidates(candidateOf('b').renewedAt(15_000)).build();
    for (const at of [15_100, 15_200, 15_300]) {
      const [action] = decideElection(input, makeNow(at)).actions;
      expect(action).toMatchObject({
        kind: 'UpdateLease',
        change: { kind: 'grant', grant: { holder: 'b' } },
      });
      if (!action) return;
      input = recordFailure(recordSending(input, action, at), action, at, at + 50);
    }
  });

  test('that was to create the Lease may have created it although the next attempt is refused', () => {
    const first = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const second = { ...first, grant: grantTo('b', 3600) };
    const lost = recordFailure(recordSending(makeInput().build(), first, 0), first, 0, 3500);
    const failed = recordFailure(recordSending(lost, second, 3600), second, 3600, 3700);
    const { memory } = recordRefusal(failed, second);
    expect(beliefOf(allBeliefs(memory), 'b')).toMatchObject({ renewedAt: 13_500, durationMs: 15_000 });
  });

  test('that was to create the Lease may be renewed unseen if the next attempt is refused, as the Lease exists', () => {
    const first = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const second = { ...first, grant: grantTo('b', 3600) };
    const lost = recordFailure(recordSending(makeInput().build(), first, 0), first, 0, 3500);
    const failed = recordFailure(recordSending(lost, second, 3600), second, 3600, 3700);
    const { memory } = recordRefusal(failed, second);
    // Its holder may renew for 10 s more, until a list shows the Lease. But another client may have created the Lease.
    const unseen = makeInput().remembers(observeUnseen(memory, makeNow(13_700)));
    expect(beliefOf(allBeliefs(unseen.build().memory), 'b')).toMatchObject({ renewedAt: 23_700 });
    expect(keptAt(unseen, 13_700)).toMatchObject({ until: 38_700, othersUntil: 38_700 });
  });

  test('counts although a later grant to the same holder is refused after we have stopped waiting for its answer', () => {
    const grants = [grantTo('b', 0), grantTo('b', 3600), grantTo('c', 3700)];
    const [first, second, third] = grants.map(
      (grant) => ({ kind: 'CreateLease', strategy: OLDEST, grant }) as const,
    );
    if (!first || !second || !third) throw new Error('three actions are missing');
    const lost = recordFailure(recordSending(makeInput().build(), first, 0), first, 0, 3500);
    const sent = recordSending(recordSending(lost, second, 3600), third, 3700);
    const { memory } = recordRefusal(recordFailure(sent, second, 3600, 3800), second);
    expect(beliefOf(allBeliefs(memory), 'b')).toBeDefined();
  });

  test('is forgotten when its holder has released the Lease: a later unseen holder is another one', () => {
    const grant = grantTo('b', 0);
    const released = makeInput()
      .remembers({ grantOnItsWay: grant })
      .sees(grantedTo('b', 0), 0)
      .sees(makeLease().releasedAt(3000).with({ leaseTransitions: 1 }), 5000, true);
    expect(released.build().memory.unrenewedGrant).toBeUndefined();
    const emptied = released.sees(
      makeLease('').lasting(15).renewedAt(60_000).with({ leaseTransitions: 2 }),
      60_000,
    );
    expect(emptied.build().memory.beliefs.map(({ holder }) => holder)).toEqual([UNKNOWN_HOLDER]);
  });

  test('stays known as unrenewed when the late answer to an earlier grant arrives', () => {
    const unrenewedGrant = makeUnrenewedGrant('c', 5000, '9');
    const memory = { ...noMemory, unrenewedGrant };
    expect(recordGrantAnswered(memory, grantTo('b', 0), '7', 6000).unrenewedGrant).toBe(unrenewedGrant);
    expect(recordGrantAnswered(memory, grantTo('c', 0), '7', 6000).unrenewedGrant).toBe(unrenewedGrant);
  });

  test('may have been renewed although the holder that the Lease got instead has released it', () => {
    const heldByX = makeLease('x').renewedAt(2000).with({ isRenewedByParticipant: true });
    const released = makeInput()
      .sees(makeLease('').releasedAt(-60_000), 0)
      .remembers({ grantOnItsWay: grantTo('b', 1000) })
      .sees(heldByX, 2000)
      .sees(makeLease().releasedAt(3000).with({ isReleasedByParticipant: true }), 3000);
    expect([...released.build().memory.withdrawals.keys()]).toEqual(['x']);
    expect(keptAt(released, 3000)).toMatchObject({ holder: 'b', until: 17_000 });
  });

  test('may have been renewed before the Lease was deleted, and made anew for its former holder', () => {
    const grant = { ...grantTo('b', 15_000), leaseDurationSeconds: 30 };
    const create = { kind: 'CreateLease', strategy: OLDEST, grant } as const;
    const { memory } = recordFailure(recordSending(led.build(), create, 15_000), create, 15_000, 15_100);
    const anew = led
      .remembers(memory)
      .sees(renewedBy('a', 16_000).with({ uid: 'other' }), 16_500)
      .sees(renewedBy('a', 17_000).with({ uid: 'other' }), 17_000);
    expect(beliefOf(allBeliefs(anew.build().memory), 'b')).toMatchObject({
      renewedAt: 16_500,
      durationMs: 30_000,
    });
  });

  test('that is repeated again and again reserves the Lease for no longer than one', () => {
    let input = makeInput().candidates(candidateOf('b')).build();
    for (let at = 0; at < 60_000; at += 5000) {
      input = makeInput()
        .remembers(input.memory)
        .candidates(
          candidateOf('b')
            .pingedAt(at - 20)
            .renewedAt(at),
        )
        .build();
      const [action] = decideElection(input, makeNow(at)).actions;
      if (action?.kind !== 'CreateLease') throw new Error('the Lease is not created');
      input = recordFailure(recordSending(input, action, at), action, at, at + 50);
      const belief = beliefOf(allBeliefs(input.memory), 'b');
      expect(belief).toMatchObject({ durationMs: 15_000, renewedAt: at + 10_050 });
    }
  });

  test('that is repeated stays possible while the next attempt is in flight, and needs only one answer of its holder', () => {
    const first = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const failed = recordFailure(recordSending(makeInput().build(), first, 0), first, 0, 50);
    let input = makeInput()
      .remembers(failed.memory)
      .candidates(candidateOf('b').pingedAt(60).renewedAt(70))
      .build();
    for (let at = 100; at <= 500; at += 100) {
      const [action] = decideElection(input, makeNow(at)).actions;
      expect(action).toMatchObject({ kind: 'CreateLease', grant: { holder: 'b' } });
      if (!action) return;
      const sending = recordSending(input, action, at);
      expect(beliefOf(allBeliefs(sending.memory), 'b')).toMatchObject({ lostAt: 50, renewedAt: at + 9950 });
      input = recordFailure(sending, action, at, at + 50);
    }
  });

  test('does not change what the holder of another such grant may believe', () => {
    const grantLostAt = (input: ElectionInput, holder: string, at: number) => {
      const create = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo(holder, at) } as const;
      return recordFailure(recordSending(input, create, at), create, at, at + 50);
    };
    const lost = grantLostAt(grantLostAt(makeInput().build(), 'c', 0), 'b', 26_000);
    expect(beliefOf(allBeliefs(lost.memory), 'c')).toMatchObject({ renewedAt: 10_050, lostAt: 50 });
    expect(beliefOf(allBeliefs(lost.memory), 'b')).toMatchObject({ renewedAt: 36_050, lostAt: 26_050 });
  });

  test('that is refused does not change an earlier one that was answered', () => {
    const answered = makeInput()
      .sees(renewedBy('a', 0), 0)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('b', 15_000), grantOnItsWay: grantTo('b', 25_000) });
    const gone = answered.sees(undefined, 26_000).build();
    const refused = {
      kind: 'CreateLease',
      strategy: OLDEST,
      grant: gone.memory.supposedGrant?.grant,
    } as const;
    const { memory } = recordRefusal(gone, refused);
    expect(beliefOf(allBeliefs(memory), 'b')).toMatchObject({ renewedAt: 26_000 });
  });

  test('that is seen unchanged, by field ownership, was not renewed', () => {
    const create = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const failed = recordFailure(recordSending(makeInput().build(), create, 0), create, 0, 3500);
    const seen = makeInput()
      .remembers(failed.memory)
      .sees(grantedTo('b', 0, 0), 4000);
    expect(seen.build().memory).toMatchObject({ beliefs: [], supposedGrant: undefined });
  });

  test('by other coordinators that is never seen may have any holder', () => {
    expect(observeUnseen(noMemory, makeNow(1000)).beliefs).toMatchObject([
      { holder: UNKNOWN_HOLDER, renewedAt: 11_000, durationMs: 15_000 },
    ]);
  });

  test('that was answered and is never seen may be renewed until a list shows that the Lease is gone', () => {
    const create = { kind: 'CreateLease', strategy: OLDEST, grant: grantTo('b', 0) } as const;
    const input = recordSending(makeInput().build(), create, 0);
    const answer = grantedTo('b', 0, 0).build();
    const { memory } = recordSuccess(input, create, 0, 100, answer);
    expect(beliefOf(observeUnseen(memory, makeNow(10_000)).beliefs, 'b')).toMatchObject({
      renewedAt: 20_000,
      durationMs: 15_000,
    });
  });

  test('does not change a renewal by the former holder', () => {
    const renewed = sent.sees(renewedBy('a', 14_900), 15_100);
    expect(renewed.build().memory.beliefs.map(({ holder }) => holder)).toEqual(['a']);
  });
});

describe('a release by a former holder that did not notice its loss (rule 8)', () => {
  const led = makeInput().sees(renewedBy('a', 0), 0);
  const stolen = makeLease('thief').lasting(5).renewedAt(3000).with({ acquireTime: undefined });
  const participant = makeInput().sees(renewedBy('a', 0).with({ isRenewedByParticipant: true }), 0);

  test('is not by a former holder if a participant wrote it that was not seen to lead', () => {
    const granted = makeInput()
      .sees(renewedBy('a', 0), 0)
      .remembers({ unrenewedGrant: makeUnrenewedGrant('b', 15_000) })
      .sees(
        makeLease().releasedAt(16_000).with({ leaseTransitions: 1, isReleasedByParticipant: true }),
        16_500,
        true,
        0,
      );
    const { memory } = granted.build();
    expect(beliefOf(memory.beliefs, 'a')).toMatchObject({ lostAt: 16_500 });
    expect(memory.withdrawals).toEqual(new Map());
  });

  test.each<{ name: string; input: InputBuilder; doubtedUntil: number }>([
    {
      name: 'after a grant of ours',
      input: led
        .remembers({ grantOnItsWay: grantTo('b', 15_000) })
        .sees(grantedTo('b', 15_000), 15_000)
        .sees(renewedBy('b', 16_000, 1), 16_000),
      doubtedUntil: 30_000,
    },
    {
      name: 'after a grant of ours that was seen only together with its first renewal, as its answer was lost',
      input: led.remembers({ grantOnItsWay: grantTo('b', 15_000) }).sees(renewedBy('b', 16_000, 1), 16_000),
      doubtedUntil: 46_000,
    },
    {
      name: 'after a confirmed grant of ours that was seen only together with its first renewal',
      input: confirmedTo('b', 15_000, led).sees(renewedBy('b', 16_000, 1), 16_000),
      doubtedUntil: 30_000,
    },
    {
      name: 'after a grant of the built-in, which sets no acquireTime and counts no transition',
      input: led.sees(renewedBy('b', 15_000).lasting(5).with({ acquireTime: undefined }), 15_000),
      doubtedUntil: 45_000,
    },
    {
      name: 'after a grant of ours that came late, as no coordinator was there',
      input: led
        .remembers({ grantOnItsWay: grantTo('b', 80_000) })
        .sees(grantedTo('b', 80_000), 80_000)
        .sees(renewedBy('b', 81_000, 1), 81_000),
      doubtedUntil: 95_000,
    },
    {
      name: 'after the grant of another replica',
      input: led.sees(grantedTo('b', 15_000), 15_000).sees(renewedBy('b', 16_000, 1), 16_000),
      doubtedUntil: 30_000,
    },
    {
      name: 'after the grant of another replica, which knew of its end earlier than this process',
      input: led
        .sees(renewedBy('a', 10_000), 10_000)
        .sees(grantedTo('b', 20_000), 20_000)
        .sees(renewedBy('b', 21_000, 1), 21_000),
      doubtedUntil: 40_000,
    },
    {
      name: 'after a grant of ours to another that was never seen, and that it may have taken up',
      input: makeInput()
        .remembers({ unrenewedGrant: makeUnrenewedGrant('c') })
        .sees(undefined, 1000)
        .sees(grantedTo('b', 16_000), 16_000)
        .sees(renewedBy('b', 17_000, 1), 17_000),
      doubtedUntil: 31_000,
    },
    {
      name: 'after a theft, and our grant to a third',
      input: led
        .sees(stolen, 3000)
        .remembers({ grantOnItsWay: grantTo('b', 18_000) })
        .sees(grantedTo('b', 18_000), 18_000)
        .sees(renewedBy('b', 19_000, 1), 19_000),
      doubtedUntil: 33_000,
    },
    {
      name: 'after a holder of which only a grant was seen: it goes by a duration of its own',
      input: makeInput()
        .sees(makeLease('a').lasting(10).renewedAt(0).with({ acquireTime: undefined }), 0)
        .remembers({ grantOnItsWay: grantTo('b', 10_000) })
        .sees(grantedTo('b', 10_000), 10_000)
        .sees(renewedBy('b', 11_000, 1), 11_000),
      doubtedUntil: 25_000,
    },
    {
      name: 'after a fence that has run out',
      input: led
        .sees(makeLease('fence.coordinated-leader-election.dev').lasting(15).renewedAt(2000), 2000)
        .remembers({ grantOnItsWay: grantTo('b', 17_000) })
        .sees(grantedTo('b', 17_000, 2), 17_000)
        .sees(renewedBy('b', 18_000, 2), 18_000),
      doubtedUntil: 32_000,
    },
  ])('$name', ({ input, doubtedUntil }) => {
    const { leaseTransitions = 0 } = input.build().lease ?? {};
    expect(isBelieved(input, doubtedUntil - 1, leaseTransitions)).toBe(false);
    expect(isBelieved(input, doubtedUntil, leaseTransitions)).toBe(true);
  });

  test('but not of a participant, which only empties its own Lease', () => {
    const granted = participant
      .remembers({ grantOnItsWay: grantTo('b', 15_000) })
      .sees(grantedTo('b', 15_000), 15_000)
      .sees(renewedBy('b', 16_000, 1), 16_000);
    expect(isBelieved(granted, 17_000, 1)).toBe(true);
  });

  test('and not if the holder had renewed for a minute since another held the Lease', () => {
    expect(isBelieved(makeInput().sees(renewedBy('b', 60_000), 60_000), 61_000, 0)).toBe(true);
  });

  describe('is written by a participant, and a list shows it', () => {
    const released = makeLease().releasedAt(15_500).with({ isReleasedByParticipant: true });
    const elector = makeInput().sees(renewedBy('a', 100), 100);

    test.each<{ name: string; input: InputBuilder; coordinatingSince: number; want: boolean }>([
      { name: 'a participant', input: participant, coordinatingSince: 10_000, want: true },
      { name: 'no participant', input: elector, coordinatingSince: 10_000, want: false },
      {
        name: 'no participant, but we have coordinated since then',
        input: elector,
        coordinatingSince: -1,
        want: true,
      },
      {
        name: 'no participant, and renewed its grant with the same renewTime',
        input: makeInput()
          .remembers({ grantOnItsWay: grantTo('a', 0) })
          .sees(grantedTo('a', 0, 0), 0)
          .sees(makeLease('a').with({ resourceVersion: 'renewed' }), 0),
        coordinatingSince: 10_000,
        want: false,
      },
    ])(
      'it may be by a holder of another coordinator, unless the last seen holder was $name',
      ({ input, coordinatingSince, want }) => {
        const seen = input.sees(released, 16_000, true, coordinatingSince);
        expect(seen.build().memory.withdrawals.has('a')).toBe(want);
        expect(keptAt(seen, 16_000)).toEqual(
          want ? undefined : { holder: 'a', from: 16_000, until: 31_000, othersUntil: 31_000 },
        );
      },
    );
  });

  test.each<{ name: string; grown: number; isParticipants: boolean; othersUntil: number | undefined }>([
    {
      name: 'is that of a participant, if the number is that of the grant',
      ...{ grown: 0, isParticipants: true, othersUntil: undefined },
    },
    {
      name: 'is that of a participant, if its first renewal has increased the number',
      ...{ grown: 1, isParticipants: true, othersUntil: undefined },
    },
    {
      name: 'is that of an unseen participant, if the number has grown further: that one leads no longer',
      ...{ grown: 2, isParticipants: true, othersUntil: NEVER },
    },
    {
      name: 'is that of an unseen participant, and another unseen holder may lead, if the number has grown by 3',
      ...{ grown: 3, isParticipants: true, othersUntil: 31_000 },
    },
    {
      name: 'is that of another elector, if the number is that of the grant',
      ...{ grown: 0, isParticipants: false, othersUntil: undefined },
    },
    {
      name: 'is not that of another elector, and an unseen holder may lead, if the number has grown',
      ...{ grown: 1, isParticipants: false, othersUntil: 31_000 },
    },
  ])('after a grant of ours $name', ({ grown, isParticipants, othersUntil }) => {
    const released = makeLease()
      .releasedAt(15_900)
      .with({ leaseTransitions: 1 + grown, ...(isParticipants && { isReleasedByParticipant: true }) });
    const seen = makeInput()
      .remembers({ grantOnItsWay: grantTo('b', 15_000) })
      .sees(grantedTo('b', 15_000), 15_000)
      .sees(released, 16_000);
    expect(seen.build().memory.withdrawals.has('b')).toBe(othersUntil === undefined);
    expect(keptAt(seen, 16_000)).toEqual(
      othersUntil === undefined ? undefined : { holder: 'b', from: 16_000, until: 31_000, othersUntil },
    );
  });

  test('in a list after a gap was written at any time since the last seen renewal', () => {
    const granted = led
      .remembers({ grantOnItsWay: grantTo('b', 15_000) })
      .sees(grantedTo('b', 15_000), 15_000)
      .sees(renewedBy('b', 29_000, 1), 29_000);
    const released = makeLease().releasedAt(31_000).with({ leaseTransitions: 1 });
    expect(keptAt(granted.sees(released, 44_000, true), 44_000)).toMatchObject({ holder: 'b' });
    expect(keptAt(granted.sees(released, 44_000), 44_000)).toBeUndefined();
  });

  test('in a list may be by a holder of the built-in controller’s, unless we have coordinated since then', () => {
    const held = makeInput().sees(renewedBy('a', 0).lasting(60), 0);
    const released = makeLease().releasedAt(61_000);
    const keptIf = (coordinatingSince: number) =>
      keptAt(held.sees(released, 62_000, true, coordinatingSince), 62_000);
    expect(keptIf(-1)).toBeUndefined();
    expect(keptIf(50_000)).toMatchObject({ until: 122_000, othersUntil: 122_000 });
    expect(keptIf(Number.POSITIVE_INFINITY)).toMatchObject({ until: 122_000 });
  });

  test('is not by a former holder if a participant wrote it, and the last holder may be that participant', () => {
    const granted = makeInput()
      .remembers({ unrenewedGrant: makeUnrenewedGrant('b') })
      .sees(undefined, 2000)
      .sees(grantedTo('b', 18_000), 18_000);
    const released = makeLease()
      .releasedAt(29_000)
      .with({ leaseTransitions: 1, isReleasedByParticipant: true });
    expect(keptAt(granted.sees(released, 30_000, true, 25_000), 30_000)).toBeUndefined();
  });

  test('that moves or keeps another number of transitions is not the last holder’s own', () => {
    expect(keptAt(led.sees(makeLease().releasedAt(1000), 1000), 1000)).toBeUndefined();
    const isUnseen = led.sees(makeLease().releasedAt(16_000).with({ leaseTransitions: 1 }), 16_000);
    expect(keptAt(isUnseen, 16_000)).toMatchObject({ until: 31_000 });
    expect(isUnseen.build().memory.withdrawals.size).toBe(0);
  });
});

describe('a holder that gets its expired Lease again (rule 7)', () => {
  const seen = (...records: readonly (readonly [holder: string, at: number, transitions: number])[]) =>
    records.reduce((input, record) => input.sees(renewedBy(...record), record[1]), makeInput());

  test.each([
    {
      name: 'its own number, if it took the Lease with a transition',
      input: seen(['b', 0, 2], ['a', 1000, 3]),
      want: 3,
    },
    { name: 'its own number after a renewal', input: seen(['a', 0, 2], ['a', 1000, 2]), want: 2 },
    {
      name: 'a new number, if it was written without a transition',
      input: seen(['b', 0, 2], ['a', 1000, 2]),
      want: 3,
    },
    {
      name: 'a new number, if it was written without a transition, and has renewed since',
      input: seen(['b', 0, 2], ['a', 1000, 2], ['a', 2000, 2], ['a', 3000, 2]),
      want: 3,
    },
  ])('gets $name', ({ input, want }) => {
    const awake = input.candidates(candidateOf('a').pingedAt(19_500).renewedAt(19_600));
    expect(decideElection(awake.build(), makeNow(20_000)).actions).toMatchObject([
      { change: { kind: 'grant', leaseTransitions: want, grant: { holder: 'a' } } },
    ]);
  });
});

describe('a process that begins to watch does not know what happened before (rule 8)', () => {
  const begin = (input: InputBuilder, beginning: 'firstList' | 'takeOver' = 'firstList') => {
    const built = both(input).build();
    return input.remembers(observeBeginning(built, makeNow(0), beginning));
  };

  test.each<{ name: string; input: InputBuilder; want: number | undefined }>([
    { name: 'is missing', input: makeInput(), want: 15_000 },
    { name: 'was emptied', input: makeInput().sees(makeLease(''), 0), want: 15_000 },
    { name: 'was released', input: makeInput().sees(makeLease().releasedAt(-500), 0), want: 15_000 },
    {
      name: 'was released by a participant',
      input: makeInput().sees(makeLease().releasedAt(-500).with({ isReleasedByParticipant: true }), 0),
      want: undefined,
    },
    {
      name: 'was made for somebody else to grant',
      input: makeInput().sees(makeLease('').with({ renewTime: undefined }), 0),
      want: undefined,
    },
  ])(
    'a Lease with candidates that $name waits one duration, if it may have had a holder',
    ({ input, want }) => {
      const kept = keptAt(begin(input), 100);
      expect(kept).toEqual(
        want === undefined ? undefined : expect.objectContaining({ holder: undefined, until: want }),
      );
    },
  );

  test('a Lease with brand-new candidates has had no holder if no coordinator existed before', () => {
    const input = makeInput().candidates(makeCandidate('a').createdAt(-1500).seenAt(0)).build();
    expect(observeBeginning(input, makeNow(0), 'firstEver').beliefs).toEqual([]);
    expect(beliefOf(observeBeginning(input, makeNow(0), 'firstList').beliefs, UNKNOWN_HOLDER)).toBeDefined();
  });

  test('candidates of unknown age, by a clock that is ahead of ours, count as old', () => {
    const input = makeInput().candidates(makeCandidate('a').createdAt(60_000).seenAt(0));
    const { beliefs } = observeBeginning(input.build(), makeNow(0), 'firstEver');
    expect(beliefOf(beliefs, UNKNOWN_HOLDER)).toBeDefined();
  });

  test('a release is doubted for as long, unless the holder has had the Lease for minutes', () => {
    const held = begin(makeInput().sees(renewedBy('b', 0).with({ isAcquireTimeHolders: true }), 0));
    expect(isBelieved(held, 14_999, 0)).toBe(false);
    expect(isBelieved(held, 15_000, 0)).toBe(true);
    const longHeld = renewedBy('b', 0).with({ acquireTime: wallAt(-5 * 60_000), isAcquireTimeHolders: true });
    expect(isBelieved(begin(makeInput().sees(longHeld, 0)), 1000, 0)).toBe(true);
    // A coordinator wrote acquireTime 1 s ago, and the holder's clock is ten minutes ahead.
    const isAhead = renewedBy('b', 600_000).with({ acquireTime: wallAt(-1000), isAcquireTimeHolders: true });
    expect(isBelieved(begin(makeInput().sees(isAhead, 0)), 1000, 0)).toBe(false);
    // The holder had the Lease for 4 min when it last renewed, 2 min ago.
    const isLate = renewedBy('b', -120_000).with({
      acquireTime: wallAt(-360_000),
      isAcquireTimeHolders: true,
    });
    expect(isBelieved(begin(makeInput().sees(isLate, 0)), 1000, 0)).toBe(false);
  });

  test('quick successive hand-overs happen at once, if this coordinator has watched for long enough', () => {
    let input = begin(makeInput().sees(renewedBy('a', 0).with({ isAcquireTimeHolders: true }), 0));
    input = input.sees(renewedBy('a', 59_000), 59_000).sees(makeLease().releasedAt(60_000), 60_000);
    for (let round = 1; round <= 5; round++) {
      const at = 60_000 + round * 2000;
      expect(keptAt(input, at)).toBeUndefined();
      input = input
        .remembers({ grantOnItsWay: grantTo(`b-${round}`, at) })
        .sees(grantedTo(`b-${round}`, at, round), at)
        .sees(renewedBy(`b-${round}`, at + 500, round), at + 500)
        .sees(
          makeLease()
            .releasedAt(at + 1000)
            .with({ leaseTransitions: round }),
          at + 1000,
        );
    }
  });

  test('a release is doubted for twice as long if the found holder is not a candidate', () => {
    const fenced = begin(makeInput().sees(renewedBy('fence.coordinated-leader-election.dev', 0), 0));
    const led = fenced
      .remembers({ grantOnItsWay: grantTo('b', 15_000) })
      .sees(grantedTo('b', 15_000), 15_000)
      .sees(renewedBy('b', 16_000, 1), 16_000);
    expect(isBelieved(led, 29_999, 1)).toBe(false);
    expect(isBelieved(led, 30_000, 1)).toBe(true);
  });

  test('a coordinator that takes over creates no Lease that its watch may show, renewed and deleted, up to 10 s late', () => {
    expect(keptAt(begin(makeInput(), 'takeOver'), 100)).toMatchObject({ until: 25_000 });
    expect(
      keptAt(begin(makeInput().sees(makeLease('').releasedAt(-500), 0), 'takeOver'), 100),
    ).toBeUndefined();
  });
});

describe('a Lease without a holder whose next release only a list shows', () => {
  const again = makeLease().releasedAt(30_000).with({ leaseTransitions: 2, resourceVersion: 'again' });
  const released = makeInput().sees(makeLease().releasedAt(0), 0);

  test.each([
    {
      name: 'is reserved if this process was a standby',
      coordinatingSince: Number.POSITIVE_INFINITY,
      want: 46_000,
    },
    { name: 'is reserved if it became the coordinator since', coordinatingSince: 20_000, want: 46_000 },
    { name: 'is free if this process was the coordinator', coordinatingSince: NEVER, want: undefined },
  ])('$name', ({ coordinatingSince, want }) => {
    const input = released.sees(again, 31_000, true, coordinatingSince).build();
    const tenure = surveyTenure(input, 31_100);
    expect(tenure.kind === 'vacant' ? tenure.reservation?.until : tenure).toBe(want);
  });

  test('is free if a participant wrote the release: it empties only its own Lease (rule 15)', () => {
    const own = again.with({ isReleasedByParticipant: true });
    expect(keptAt(released.sees(own, 31_000, true, Number.POSITIVE_INFINITY), 31_100)).toBeUndefined();
  });

  test('is reserved although this process had granted it before: another coordinator may have granted it since', () => {
    const answered = released.remembers({ unrenewedGrant: makeUnrenewedGrant('b', 1000) });
    expect(keptAt(answered.sees(again, 31_000, true, 20_000), 31_100)).toMatchObject({ othersUntil: 46_000 });
  });
});

describe('a holder that got its Lease back (rules 7 and 8)', () => {
  const better = makeCandidate('better').emulating('1.30.0').seenAt(0);
  const returned = makeInput()
    .sees(renewedBy('a', 0), 0)
    .sees(undefined, 1000)
    .remembers({ grantOnItsWay: grantTo('a', 2000) })
    .sees(
      makeLease('a')
        .renewedAt(2000)
        .with({ acquireTime: wallAt(2000) }),
      2000,
    );
  const decisionWith = (input: InputBuilder, own: CandidateBuilder, ...others: readonly ObservedBuilder[]) =>
    decideElection(input.candidates(own.seenAt(0), ...others).build(), makeNow(3000));

  test('is asked to yield only after it has renewed it', () => {
    const reasonOf = (input: InputBuilder) =>
      decisionWith(input, makeCandidate('a'), better.renewedAt(2500)).reason;
    expect(reasonOf(returned)).toBe('RevisionPending');
    expect(reasonOf(returned.sees(renewedBy('a', 2800), 2800))).toBe('AwaitingAcks');
  });

  test.each([
    { name: 'a better candidate', other: better },
    { name: 'an equal candidate', other: makeCandidate('equal').seenAt(0) },
  ])('may lose it to $name as soon as no former holder can lead, long before it expires', ({ other }) => {
    const lasting = makeInput()
      .sees(renewedBy('a', 0), 0)
      .sees(undefined, 1000)
      .remembers({ grantOnItsWay: { ...grantTo('a', 2000), leaseDurationSeconds: 60, isReturn: true } })
      .sees(
        makeLease('a')
          .renewedAt(2000)
          .lasting(60)
          .with({ acquireTime: wallAt(2000) }),
        2000,
      )
      .candidates(makeCandidate('a').seenAt(0), other.renewedAt(2500))
      .build();
    expect(decideElection(lasting, makeNow(15_999)).tenure).toMatchObject({ isProvisional: false });
    expect(decideElection(lasting, makeNow(8000)).requeue).toEqual({ kind: 'at', time: 16_000 });
    expect(decideElection(lasting, makeNow(16_000)).tenure).toMatchObject({ isProvisional: true });
  });

  test('is decided about as usual if no other candidate is better', () => {
    const odd = makeCandidate('odd').wants('example.com/x').seenAt(0).renewedAt(2500);
    expect(decisionWith(returned, makeCandidate('a'), odd)).toMatchObject({
      ...{ reason: 'StrategyConflict', actions: [] },
    });
    const { reason, actions } = decisionWith(returned, makeCandidate('a').wants(NEWEST));
    expect([reason, describeActions(actions)]).toEqual(['StrategyChanged', `name the strategy ${NEWEST}`]);
  });
});

describe('an unrenewed grant of another replica (rule 12)', () => {
  const candidates = [candidateOf('a').renewedAt(1000), candidateOf('b').renewedAt(1000)] as const;
  const first = makeInput().sees(grantedTo('b', 0), 500);

  test.each([
    { leaseDurationSeconds: 10, seconds: 5 },
    { leaseDurationSeconds: 60, seconds: 30 },
  ])(
    'of $leaseDurationSeconds s is replaced if its holder has not taken it up $seconds s after this process saw it',
    ({ leaseDurationSeconds, seconds }) => {
      const seen = makeInput().settings({ leaseDurationSeconds }).sees(grantedTo('b', 0).lasting(60), 500);
      const at = 500 + seconds * 1000;
      const late = seen.candidates(
        makeCandidate('a')
          .versions('1.37.0')
          .seenAt(0)
          .renewedAt(at - 100),
        candidates[1],
      );
      expect(decideElection(late.build(), makeNow(at - 1)).reason).toBe('LeaderOptimal');
      expect(grantOf(decideElection(late.build(), makeNow(at)))).toMatchObject({
        ...{ holder: 'a', revises: 'holderLate' },
      });
    },
  );

  test('is replaced at once when its holder is gone', () => {
    const decision = decideElection(first.candidates(candidates[0]).build(), makeNow(1000));
    expect(decision.reason).toBe('GrantRevised');
    expect(grantOf(decision)).toMatchObject({ holder: 'a', revises: 'holderLost' });
  });

  test('is not replaced after its holder has renewed it, or while it may lead by an earlier record', () => {
    const renewed = first.sees(renewedBy('b', 900, 1), 900).candidates(candidates[0]);
    expect(grantOf(decideElection(renewed.build(), makeNow(1000)))).toBeUndefined();
    const returned = makeInput()
      .sees(renewedBy('b', 0), 0)
      .sees(undefined, 100)
      .sees(grantedTo('b', 200, 0), 200)
      .candidates(candidates[0]);
    expect(grantOf(decideElection(returned.build(), makeNow(1000)))).toBeUndefined();
  });
});
