import { describe, expect, test } from 'vitest';
import { beliefOf } from '../../src/election/beliefs.ts';
import { decideElection } from '../../src/election/decide.ts';
import { type Grant, isProvisional } from '../../src/election/lease-memory.ts';
import { FENCE } from '../../src/election/model.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  type ObservedBuilder,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

/** Returns the first millisecond at which `other`, which is always alive, gets the Lease. */
function givenAwayAt(input: InputBuilder, untilMs = 80_000): number | undefined {
  for (let at = 0; at <= untilMs; at += 100) {
    const other = makeCandidate('other').seenAt(at).renewedAt(at);
    const { actions } = decideElection(input.candidates(other).build(), makeNow(at));
    if (/(?:to|for) other,/.test(describeActions(actions))) return at;
  }
  return undefined;
}

const renewed = makeLease('holder').lasting(15);

/**
 * After another holder, which may have renewed the Lease until it lost it at 0 s: that one leads until 15 s, and may
 * disturb until 30 s.
 */
const taken = makeInput()
  .sees(makeLease('former').lasting(15).renewedAt(-100), -100)
  .sees(renewed, 0)
  .sees(renewed.renewedAt(25_000), 25_000);

/** A grant of ours in flight. */
const grantTo = (holder: string, at: number, fields: Partial<Grant> = {}): Grant => ({
  holder,
  renewTime: wallAt(at),
  leaseDurationSeconds: 10,
  former: undefined,
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  ...fields,
});

describe('a Lease that two former holders may believe in, after it was taken from one after the other (rule 8)', () => {
  // Another coordinator granted it to "early" for 20 s, and then to "late", which has led since then, for 6 s at a
  // time.
  const early = makeLease('early').lasting(20).renewedAt(0);
  const late = makeLease('late')
    .lasting(6)
    .with({ acquireTime: wallAt(100) });
  const led = makeInput().sees(early, 0).sees(late.renewedAt(100), 100).sees(late.renewedAt(2000), 2000);
  const emptied = led.sees(late.heldBy('').with({ renewTime: undefined }), 3000);

  function givenTo(input: InputBuilder, at: number): string {
    const asked = makeCandidate('early').seenAt(0).pingedAt(3000).renewedAt(3010);
    const again = at < 4000 ? asked : asked.pingedAt(at - 20).renewedAt(at - 10);
    const { actions } = decideElection(input.candidates(again).build(), makeNow(at));
    return describeActions(actions);
  }

  test('goes back to neither after an answer, while the other one may lead', () => {
    expect(givenTo(emptied, 3100)).not.toMatch(/early,/);
    expect(givenTo(emptied, 8900)).not.toMatch(/early,/);
  });

  test('goes back to the one after an answer, when the time of the other is over', () => {
    expect(givenTo(emptied, 9000)).toMatch(/to early,/);
  });

  test('goes to any other candidate when the time of both is over', () => {
    // The first holder may have renewed it right before the other one took it, at 0.1 s.
    expect(givenAwayAt(emptied)).toBe(20_100);
  });

  test('stays reserved for the others after a release by one, or for all if the release may be by them', () => {
    const back = makeInput()
      .sees(makeLease('early').lasting(20).renewedAt(0), 0)
      .sees(makeLease('late').lasting(30).renewedAt(1000), 1000)
      .sees(makeLease('early').lasting(40).renewedAt(2000), 2000)
      .sees(makeLease('third').lasting(5).renewedAt(3000), 3000)
      .sees(makeLease('early').lasting(40).renewedAt(4000), 4000);
    const released = makeLease('early').releasedAt(5000);
    // "third" lost it at 4 s, and may have renewed it right before, with the 40 s that the Lease contains from then
    // on.
    expect(givenAwayAt(back.sees(released.with({ isReleasedByParticipant: true }), 5000))).toBe(44_000);
    // Otherwise "late" may have emptied it, and "early" may have led on since right before that.
    expect(givenAwayAt(back.sees(released, 5000))).toBe(45_000);
  });

  test('is decided again when the time of the other is over, and pings are sent in time for that', () => {
    const requeueAt = (at: number) =>
      decideElection(emptied.candidates(makeCandidate('early').seenAt(0)).build(), makeNow(at));
    expect(requeueAt(3100).requeue).toEqual({ kind: 'at', time: 4000 });
    expect(describeActions(requeueAt(3100).actions)).toBe('');
    expect(describeActions(requeueAt(4000).actions)).toMatch(/ping early/);
  });
});

describe('no other candidate gets a Lease before the time of its holder is over (rule 8)', () => {
  test.each([
    { name: 'seen once', input: makeInput().sees(renewed, 0), want: 15_000 },
    {
      name: 'seen first long after its renewTime',
      input: makeInput().sees(renewed.renewedAt(-3_600_000), 0),
      want: 15_000,
    },
    {
      name: 'renewed',
      input: makeInput().sees(renewed, 0).sees(renewed.renewedAt(4000), 4000),
      want: 19_000,
    },
    { name: 'prolonged', input: makeInput().sees(makeLease('holder'), 0).sees(renewed, 4000), want: 19_000 },
    {
      name: 'changed in fields that the holder does not renew',
      input: makeInput().sees(renewed, 0).sees(renewed.strategy('x'), 4000),
      want: 15_000,
    },
    {
      name: 'shortened by another hand',
      input: makeInput().sees(renewed, 0).sees(renewed.lasting(1), 4000),
      want: 15_000,
    },
    {
      name: 'deleted, perhaps right after an unseen renewal',
      input: makeInput().sees(renewed, 0).sees(undefined, 4000),
      want: 19_000,
    },
    {
      name: 'deleted when it was seen for less than any elector’s duration, as only the grant was seen',
      input: makeInput().sees(makeLease('holder').lasting(5), 0).sees(undefined, 4000),
      want: 19_000,
    },
    {
      name: 'deleted when its holder renews for less, as was seen',
      input: makeInput().sees(makeLease('holder').lasting(5).renewedAt(-1000), 0).sees(undefined, 4000),
      want: 9000,
    },
    {
      name: 'deleted when its holder has renewed a grant of the built-in, which sets no acquireTime, for less',
      input: makeInput()
        .sees(makeLease('holder').with({ acquireTime: undefined }), -1000)
        .sees(makeLease('holder').renewedAt(2000).with({ acquireTime: undefined }), 2000)
        .sees(undefined, 4000),
      want: 14_000,
    },
    {
      name: 'deleted after one grant of the built-in, for less and with the acquireTime of an earlier holder',
      input: makeInput()
        .sees(makeLease('holder').lasting(5).renewedAt(2000).with({ isRenewedByCoordinator: true }), 2000)
        .sees(undefined, 4000),
      want: 19_000,
    },
    {
      name: 'deleted after two grants of the built-in to the same holder, for less',
      input: [2000, 8000]
        .map((at) =>
          makeLease('holder')
            .lasting(5)
            .renewedAt(at)
            .with({ acquireTime: undefined, isRenewedByCoordinator: true }),
        )
        .reduce((input, lease, index) => input.sees(lease, 2000 + 6000 * index), makeInput())
        .sees(undefined, 10_000),
      want: 25_000,
    },
    {
      name: 'deleted when its holder is a participant that takes it up for less',
      input: makeInput()
        .sees(makeLease('holder').lasting(5).with({ isRenewedByParticipant: true }), 0)
        .sees(undefined, 4000),
      want: 9000,
    },
    {
      name: 'deleted and created again without a holder',
      input: makeInput()
        .sees(renewed, 0)
        .sees(undefined, 4000)
        .sees(makeLease('').with({ uid: 'another' }), 5000),
      want: 19_000,
    },
    {
      name: 'deleted and created again with another holder, both unseen',
      input: makeInput()
        .sees(makeLease('holder').lasting(30), 0)
        .sees(renewed.heldBy('other holder').lasting(1).with({ uid: 'another' }), 4000),
      want: 34_000,
    },
    {
      name: 'emptied without a release: the same renewTime',
      input: makeInput().sees(renewed, 0).sees(renewed.heldBy('').lasting(1), 4000),
      want: 15_000,
    },
    {
      name: 'emptied without a release: another renewTime, by which its holder may believe in it',
      input: makeInput().sees(renewed, 0).sees(renewed.heldBy('').renewedAt(4000), 4000),
      want: 19_000,
    },
    {
      name: 'emptied after its expiry, but renewed before that, unseen',
      input: makeInput().sees(renewed, 0).sees(renewed.heldBy('').renewedAt(29_000), 30_000),
      want: 45_000,
    },
    {
      name: 'emptied after its holder had prolonged it, unseen',
      input: makeInput()
        .sees(makeLease('holder').lasting(10), 0)
        .sees(renewed.heldBy('').renewedAt(4000), 5000),
      want: 20_000,
    },
    {
      name: 'emptied after an unseen holder had prolonged it to a minute',
      input: makeInput()
        .sees(renewed, 0)
        .sees(renewed.lasting(60).heldBy('').with({ leaseTransitions: 1 }), 4000),
      want: 64_000,
    },
    {
      name: 'emptied after its holder had prolonged it to a minute, unseen',
      input: makeInput()
        .sees(makeLease('holder').lasting(10), 0)
        .sees(renewed.lasting(60).heldBy('').renewedAt(4000), 5000),
      want: 65_000,
    },
    {
      name: 'granted by us, and then emptied with the renewTime of the grant, so its holder has not renewed',
      input: makeInput()
        .remembers({ unrenewedGrant: makeUnrenewedGrant('holder') })
        .sees(makeLease('holder'), 0)
        .sees(makeLease(''), 4000),
      want: 10_000,
    },
    {
      name: 'deleted after another client had shortened it: its holder still goes by its own duration',
      input: makeInput()
        .sees(renewed, 0)
        .sees(renewed.renewedAt(2000), 2000)
        .sees(renewed.renewedAt(2000).lasting(1), 3000)
        .sees(undefined, 5000),
      want: 20_000,
    },
    {
      name: 'fenced and then deleted: a fence never renews',
      input: makeInput().sees(makeLease(FENCE).lasting(15), 0).sees(undefined, 4000),
      want: 15_000,
    },
    {
      name: 'replaced by an empty one that looks released',
      input: makeInput()
        .sees(renewed, 0)
        .sees(renewed.releasedAt(4000).with({ uid: 'another' }), 4000),
      want: 19_000,
    },
    {
      name: 'taken by another client for a second, perhaps right after an unseen renewal',
      input: makeInput().sees(renewed, 0).sees(renewed.heldBy('stranger').lasting(1).renewedAt(4000), 4000),
      want: 19_000,
    },
    {
      name: 'taken by another client that changed only the holder, and may believe that it leads from then on',
      input: makeInput().sees(renewed, 0).sees(renewed.heldBy('stranger'), 4000),
      want: 19_000,
    },
    {
      name: 'taken by another client that then releases it',
      input: makeInput()
        .sees(renewed, 0)
        .sees(renewed.heldBy('stranger').renewedAt(4000), 4000)
        .sees(renewed.releasedAt(5000).with({ isReleasedByParticipant: true }), 5000),
      want: 19_000,
    },
    {
      name: 'taken by another client, and then released, perhaps by the holder that lost it',
      input: makeInput()
        .sees(renewed, 0)
        .sees(renewed.heldBy('stranger').renewedAt(4000), 4000)
        .sees(renewed.releasedAt(5000), 5000),
      want: 20_000,
    },
    {
      name: 'taken by a stranger with less time than the holder had, and then deleted',
      input: makeInput()
        .sees(makeLease('holder').lasting(30), 0)
        .sees(renewed.heldBy('stranger').renewedAt(4000), 4000)
        .sees(undefined, 5000),
      want: 34_000,
    },
    {
      name: 'without renewTime: still its own duration',
      input: makeInput().sees(makeLease('holder').with({ renewTime: undefined }).lasting(60), 0),
      want: 60_000,
    },
    {
      name: 'without its renewTime, which another client removed, perhaps right after an unseen renewal',
      input: makeInput()
        .sees(makeLease('holder').renewedAt(0).lasting(60), 0)
        .sees(makeLease('holder').with({ renewTime: undefined }).lasting(5), 10_000),
      want: 70_000,
    },
    {
      name: 'without duration: our default duration',
      input: makeInput().sees(makeLease('holder').lasting(undefined), 0),
      want: 10_000,
    },
    { name: 'released', input: makeInput().sees(renewed, 0).sees(renewed.releasedAt(4000), 4000), want: 0 },
    {
      name: 'released, but perhaps by the one that lost it before',
      input: taken.sees(renewed.releasedAt(29_900), 29_900),
      want: 44_900,
    },
    {
      name: 'released by a participant, which empties only its own (rule 15)',
      input: taken.sees(renewed.releasedAt(29_900).with({ isReleasedByParticipant: true }), 29_900),
      // As long as the former holder may lead.
      want: 15_000,
    },
    {
      name: 'released when no other can have done it any more, since it was last renewed',
      input: taken.sees(renewed.renewedAt(30_000), 30_000).sees(renewed.releasedAt(30_001), 30_001),
      // As long as the former holder may lead.
      want: 15_000,
    },
    {
      name: 'deleted after its expiry, but perhaps not for its holder',
      input: makeInput().sees(renewed, -20_000).sees(undefined, 0),
      want: 15_000,
    },
  ])('if it was $name', ({ input, want }) => {
    expect(givenAwayAt(input)).toBe(want);
  });
});

describe('a Lease that its last holder may still believe in (rule 8)', () => {
  const deleted = makeInput().sees(renewed, 0).sees(undefined, 4000);
  const other = makeCandidate('other').emulating('1.30.0').seenAt(4000).renewedAt(4000);

  test.each([
    { name: 'pings that holder', holder: makeCandidate('holder').seenAt(0), want: 'ping holder (election)' },
    {
      name: 'is not satisfied with an answer from before',
      holder: makeCandidate('holder').seenAt(0).pingedAt(3000).renewedAt(3900),
      want: 'ping holder (election)',
    },
    { name: 'pings it once', holder: makeCandidate('holder').seenAt(0).pingedAt(4000), want: '' },
    {
      name: 'goes back to it after its answer, although another is better',
      holder: makeCandidate('holder').seenAt(0).pingedAt(4000).renewedAt(4100),
      want: 'create the Lease for holder, OldestEmulationVersion',
    },
    {
      name: 'waits when it is being deleted',
      holder: makeCandidate('holder').deleting().seenAt(0),
      want: '',
    },
    {
      name: 'waits when it could not be elected',
      holder: makeCandidate('holder').emulating('v1').seenAt(0).pingedAt(4000).renewedAt(4100),
      want: '',
    },
  ])('$name', ({ holder, want }) => {
    const decision = decideElection(deleted.candidates(holder, other).build(), makeNow(4200));
    expect(describeActions(decision.actions)).toBe(want);
    expect(['AwaitingFormerHolder', 'FormerHolderAnswered']).toContain(decision.reason);
  });

  test('is not left to the controller of another strategy before that either', () => {
    const decisionAt = (at: number) => {
      const foreign = makeCandidate('other').wants('example.com/custom').seenAt(at).renewedAt(at);
      return decideElection(deleted.candidates(foreign).build(), makeNow(at));
    };
    expect(decisionAt(4200)).toMatchObject({ reason: 'AwaitingFormerHolder', actions: [] });
    expect(decisionAt(4200).requeue).toMatchObject({ kind: 'at' });
    expect(decisionAt(18_999)).toMatchObject({ reason: 'AwaitingFormerHolder', actions: [] });
    expect(describeActions(decisionAt(19_000).actions)).toMatch(/^create the Lease for nobody/);
  });

  test('decides again when its last holder has not answered in time', () => {
    const asked = makeCandidate('holder').seenAt(0).pingedAt(3900);
    expect(decideElection(deleted.candidates(asked).build(), makeNow(4200))).toMatchObject({
      reason: 'AwaitingFormerHolder',
      requeue: { kind: 'at', time: 8900 },
    });
  });

  test('decides again when the only candidate, with another strategy, has not answered in time', () => {
    const silent = makeCandidate('other').wants('example.com/custom').seenAt(0).pingedAt(4100);
    const input = deleted.candidates(silent).build();
    expect(decideElection(input, makeNow(4200))).toMatchObject({
      reason: 'AwaitingFormerHolder',
      requeue: { kind: 'at', time: 9100 },
    });
    expect(describeActions(decideElection(input, makeNow(9100)).actions)).toBe('ping other (revival)');
  });

  test('also waits if the only candidate lets its grants expire', () => {
    const lapsed = makeCandidate('lapsed').seenAt(0).renewedAt(4000);
    const input = deleted
      .remembers({ lapses: new Map([['lapsed', { count: 5, lastAt: 0 }]]) })
      .candidates(lapsed);
    expect(decideElection(input.build(), makeNow(4100))).toMatchObject({
      reason: 'AwaitingFormerHolder',
      actions: [],
      requeue: { time: 9000 },
    });
    const awake = input.candidates(makeCandidate('b').seenAt(18_000).renewedAt(18_500));
    expect(describeActions(decideElection(awake.build(), makeNow(18_999)).actions)).toBe('');
    expect(describeActions(decideElection(awake.build(), makeNow(19_000)).actions)).toContain(
      'create the Lease for b',
    );
  });

  test('causes pings to silent candidates while there is no other to ping', () => {
    const silent = makeCandidate('silent').seenAt(0).pingedAt(-6000);
    const actionsWith = (...others: readonly ObservedBuilder[]) =>
      describeActions(decideElection(deleted.candidates(silent, ...others).build(), makeNow(4100)).actions);
    expect(actionsWith()).toBe('ping silent (revival)');
    expect(actionsWith(makeCandidate('idle').seenAt(0))).toBe('');
  });

  test('is left alone in a conflict, although that holder has answered', () => {
    const holder = makeCandidate('holder').seenAt(0).pingedAt(4000).renewedAt(4100);
    const rival = makeCandidate('rival').wants('example.com/x').seenAt(0).renewedAt(4000);
    const decision = decideElection(deleted.candidates(holder, rival).build(), makeNow(4200));
    expect(decision).toMatchObject({ reason: 'StrategyConflict', actions: [] });
  });

  test('pings its successors just in time for the end', () => {
    const late = makeCandidate('other').seenAt(0);
    const actionsAt = (at: number) =>
      describeActions(decideElection(deleted.candidates(late).build(), makeNow(at)).actions);
    expect(actionsAt(13_999)).toBe('');
    expect(actionsAt(14_000)).toBe('ping other (expiry)');
  });

  test('begins to count the seconds of its next election then, and pings its last holder once', () => {
    const input = deleted
      .candidates(makeCandidate('holder').seenAt(0), makeCandidate('other').seenAt(0))
      .build();
    expect(decideElection(input, makeNow(13_999)).isAsking).toBe(false);
    const { isAsking, actions } = decideElection(input, makeNow(14_000));
    expect(isAsking).toBe(true);
    expect(describeActions(actions)).toBe('ping holder (election); ping other (expiry)');
  });

  test('also pings one whose answer would expire before the end', () => {
    const other = makeCandidate('other').seenAt(0);
    const actionsWith = (renewedAt: number) =>
      describeActions(
        decideElection(deleted.candidates(other.renewedAt(renewedAt)).build(), makeNow(14_000)).actions,
      );
    expect(actionsWith(13_000)).toBe('ping other (expiry)');
    expect(actionsWith(14_000)).toBe('ping other (expiry)');
  });

  /** The holder for which the Lease is reserved after its release at `at`; undefined: the release is trusted. */
  const keptFor = (input: InputBuilder, at: number) => {
    const { tenure } = decideElection(input.sees(makeLease().releasedAt(at), at).build(), makeNow(at));
    return tenure.kind === 'vacant' ? tenure.reservation?.holder : tenure.holder;
  };

  test('stays in doubt for as long as any former holder may take to release it', () => {
    const held = makeInput()
      .sees(makeLease('long').lasting(20).renewedAt(500), 500)
      .sees(makeLease('short').lasting(5).renewedAt(1000), 1000)
      .sees(makeLease('holder').lasting(15).renewedAt(2000), 2000);
    const renewing = (at: number) =>
      held.sees(
        makeLease('holder')
          .lasting(15)
          .renewedAt(at - 1),
        at - 1,
      );
    // Twice 20 s from its loss at 1 s. Twice 5 s of the other holder are over long before.
    expect(keptFor(renewing(40_999), 40_999)).toBe('holder');
    expect(keptFor(renewing(41_000), 41_000)).toBeUndefined();
    // After the Lease has returned to its former holder, only the others may have released it: "holder" may have
    // renewed it with the 20 s that the Lease contains since it lost it.
    const back = held.sees(makeLease('long').lasting(20).renewedAt(3000), 3000);
    const renewingBack = (at: number) =>
      back.sees(
        makeLease('long')
          .lasting(20)
          .renewedAt(at - 1),
        at - 1,
      );
    expect(keptFor(renewingBack(42_999), 42_999)).toBe('long');
    expect(keptFor(renewingBack(43_000), 43_000)).toBeUndefined();
  });

  test('is in doubt after its leader slept through a second grant: it may release its successor’s Lease late', () => {
    /** Granted by us to `holder` at `at`, after its former holder let it expire. */
    const granted = (input: InputBuilder, holder: string, at: number, hasFormerLapsed: boolean) => {
      const grantOnItsWay = grantTo(holder, at, { former: 'a', hasFormerLapsed });
      const lease = makeLease(holder)
        .renewedAt(at)
        .with({ acquireTime: wallAt(at), resourceVersion: `${at}` });
      return input.remembers({ grantOnItsWay }).sees(lease, at);
    };
    const led = makeInput().sees(makeLease('a').lasting(15).renewedAt(-1), 0);
    const given = granted(granted(led, 'a', 15_000, false), 'b', 25_000, true);
    const taken = given.sees(
      makeLease('b').lasting(15).renewedAt(26_000).with({ resourceVersion: '2' }),
      26_000,
    );
    const renewing = (at: number) =>
      taken.sees(
        makeLease('b')
          .lasting(15)
          .renewedAt(at - 1)
          .with({ resourceVersion: `${at}` }),
        at - 1,
      );
    // Within 15 s after the grant to another, the release may come from a, which has woken up.
    expect(keptFor(renewing(39_999), 39_999)).toBe('b');
    expect(keptFor(renewing(40_000), 40_000)).toBeUndefined();
  });

  test('is reserved for as long as its leader believed, although another client had shortened the record in the meantime', () => {
    const led = makeInput().sees(makeLease('a').lasting(15).renewedAt(0), 0);
    const shortened = led.sees(makeLease('a').lasting(1).renewedAt(0), 1000);
    const beliefOfA = (input: InputBuilder) => beliefOf(input.build().memory.beliefs, 'a');
    expect(beliefOfA(shortened)).toMatchObject({ renewedAt: 0, durationMs: 15_000, lostAt: undefined });
    // From then on, its own renewals show what it believes.
    const renewed = [2000, 4000].reduce(
      (input, at) =>
        input.sees(makeLease('a').lasting(5).renewedAt(at).with({ isDurationHolders: true }), at),
      shortened,
    );
    // Its belief from before the first renewal still expires.
    expect(beliefOfA(renewed)).toMatchObject({ renewedAt: 4000, durationMs: 13_000, isOwnDuration: true });
  });

  test('has a leader if its grant was renewed with the same renewTime', () => {
    const lease = makeLease('a').lasting(15);
    const sent = makeInput().remembers({ grantOnItsWay: grantTo('a', 0) });
    const look = (input: InputBuilder) => {
      const { memory, lease: seen } = input.build();
      const belief = beliefOf(memory.beliefs, 'a');
      return { isProvisional: seen && isProvisional(memory, seen, 1), belief };
    };
    const granted = sent.sees(lease.with({ resourceVersion: '7' }), 0);
    expect(look(granted)).toEqual({ isProvisional: true, belief: undefined });
    const renewed = granted.sees(lease.with({ resourceVersion: '8' }), 100);
    expect(look(renewed)).toMatchObject({
      isProvisional: false,
      belief: { renewedAt: 100, durationMs: 15_000 },
    });
  });

  test('is decided again at that moment, and at the end', () => {
    const late = makeCandidate('other').seenAt(0);
    const requeueOf = (other: ObservedBuilder, at: number) =>
      decideElection(deleted.candidates(other).build(), makeNow(at)).requeue;
    expect(requeueOf(late, 4000)).toEqual({ kind: 'at', time: 14_000 });
    expect(requeueOf(late.pingedAt(14_000).renewedAt(14_100), 14_200)).toEqual({ kind: 'at', time: 19_000 });
  });

  test('goes back to that holder for as long as it may believe, even if that is longer than any other grant', () => {
    const sim = new SimElection().add('a').add('b').run(5000).deleteLease().run(100);
    expect(sim.lease).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15 });
    sim.cutOff('a').run(60_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test('is remembered through a grant by another client that is shorter than the holder’s belief', () => {
    for (const loss of ['deleteLease', 'emptyLease'] as const) {
      const sim = new SimElection().add('a').add('b').run(5000).cutOff('a').run(100);
      sim[loss]().run(100);
      const grant = { holderIdentity: 'a', leaseDurationSeconds: 5, leaseTransitions: 0 };
      sim.editLease({ ...grant, acquireTime: wallAt(sim.at), renewTime: wallAt(sim.at) });
      sim.run(60_000);
      expect(sim.violations).toEqual([]);
      expect(sim.believers).toEqual(['b']);
    }
  });

  test('stays with a new holder while a release may also be by the old one', () => {
    for (const between of ['nothing', 'a deletion'] as const) {
      const sim = new SimElection().add('a').add('b').run(5000).cutOff('a', 4000).run(15_600);
      expect(sim.lease?.holderIdentity).toBe('b');
      sim.run(1000);
      if (between === 'a deletion') sim.deleteLease().run(500);
      expect(sim.believers).toEqual(['b']);
      // `a` gives up now, and empties the Lease although it has lost it.
      sim.add('c').run(30_000);
      expect(sim.transcript.join('\n')).toContain('a gives up');
      expect(sim.lease?.holderIdentity).toBe('b');
      expect(sim.violations).toEqual([]);
    }
  });
});

describe('every write names the resourceVersion of its decision (rule 8)', () => {
  test.each([
    { name: 'a grant', lease: makeLease(''), want: 'grant' },
    { name: 'a strategy', lease: makeLease('a').strategy('x'), want: 'strategy' },
    { name: 'a removal', lease: makeLease('a').preferring('gone'), want: 'clearPreferredHolder' },
  ])('$name', ({ lease, want }) => {
    const input = makeInput()
      .sees(lease.with({ uid: 'u', resourceVersion: '1234' }), 0)
      .candidates(makeCandidate('a').renewedAt(0).seenAt(0));
    expect(decideElection(input.build(), makeNow(1)).actions).toMatchObject([
      { uid: 'u', resourceVersion: '1234', change: { kind: want } },
    ]);
  });

  test('a ping', () => {
    const input = makeInput().candidates(
      makeCandidate('a').with({ uid: 'u', resourceVersion: '5' }).seenAt(0),
    );
    expect(decideElection(input.build(), makeNow(1)).actions).toMatchObject([
      { kind: 'PingCandidate', uid: 'u', resourceVersion: '5' },
    ]);
  });
});
