import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import type {
  Decision,
  DeleteCandidate,
  LeaseChange,
  NotesChange,
  PingCandidate,
  UpdateLease,
} from '../../src/election/decision.ts';
import { type LeaseMemory, NO_ATTEMPTS } from '../../src/election/lease-memory.ts';
import {
  recordDecision,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from '../../src/election/record-action.ts';
import {
  type LeaseBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';

const input = makeInput()
  .sees(makeLease(''), 0)
  .candidates(makeCandidate('a').seenAt(0), makeCandidate('b').seenAt(0))
  .build();

function ping(purpose: PingCandidate['purpose'], uid = 'uid-of-a'): PingCandidate {
  return {
    kind: 'PingCandidate',
    source: 'native',
    name: 'a',
    uid,
    resourceVersion: '1',
    pingTime: wallAt(0),
    purpose,
  };
}

function grantTo(holder: string): UpdateLease {
  const grant = {
    holder,
    renewTime: wallAt(0),
    former: undefined,
    hasFormerLapsed: false,
    revises: undefined,
    isPreemption: false,
    leaseDurationSeconds: 10,
  };
  const change = { kind: 'grant', grant, leaseTransitions: 1, strategy: OLDEST } as const;
  return { kind: 'UpdateLease', uid: 'uid-of-scheduler', resourceVersion: '1', change };
}

describe('recording an action', () => {
  test('changes only its own candidate, and not a successor with the same name', () => {
    const asked = recordSending(input, ping('election'), 100);
    expect(asked.candidates[0]?.observation.ping).toMatchObject({ purpose: 'election', sentAt: 100 });
    expect(asked.candidates[1]).toBe(input.candidates[1]);
    expect(recordSending(input, ping('election', 'uid-of-former-a'), 100)).toEqual(input);
  });

  test('does not forget the fields beside the holder because of a deletion', () => {
    const known = { ...input, memory: { ...input.memory, written: { strategy: OLDEST } } };
    const { memory } = recordSending(known, { ...ping('election'), kind: 'DeleteCandidate' }, 100);
    expect(memory.written).toEqual({ strategy: OLDEST });
  });

  test.each([
    { purpose: 'election' as const, want: 200 },
    { purpose: 'validity' as const, want: undefined },
    { purpose: 'collection' as const, want: undefined },
  ])('begins an election with the answer to a ping for $purpose at $want', ({ purpose, want }) => {
    const asked = recordSuccess(recordSending(input, ping(purpose), 100), ping(purpose), 100, 200);
    expect(asked.memory.askingSince).toBe(want);
    expect(asked.candidates[0]?.observation.ping).toMatchObject({ sentAt: 100, deliveredAt: 200 });
  });

  test('forgets a failed ping, and lets another round follow soon', () => {
    const rounds = { count: 7, lastAt: 0 };
    const known = { ...input, memory: { ...input.memory, rounds } };
    const failed = (purpose: PingCandidate['purpose']) =>
      recordFailure(recordSending(known, ping(purpose), 100), ping(purpose), 100, 200);
    expect(failed('election')).toEqual(known);
    expect(failed('revival').memory.rounds).toEqual({ count: 1, lastAt: 100 });
  });

  test('distinguishes the answer to one ping from the answer to a later one', () => {
    const twice = recordSending(recordSending(input, ping('election'), 100), ping('election'), 300);
    expect(recordSuccess(twice, ping('election'), 100, 400).candidates).toEqual(twice.candidates);
    expect(recordFailure(twice, ping('election'), 100, 400).candidates).toEqual(twice.candidates);
  });

  test('keeps an answer to a ping that seemed to fail', () => {
    const answered = {
      ...input,
      candidates: [makeCandidate('a').seenAt(0).pingedAt(100).renewedAt(150).build()],
    };
    expect(recordFailure(answered, ping('election'), 100, 400)).toEqual(answered);
  });

  test('counts the written pings before a deletion, except one that was answered by then', () => {
    const asked = (known: typeof input, at: number) =>
      recordSuccess(recordSending(known, ping('collection'), at), ping('collection'), at, at + 10);
    const twice = asked(asked(input, 100), 5000);
    expect(twice.candidates[0]?.observation.collection).toEqual({ pings: 2, firstAt: 110, lastAt: 5010 });
    const answered = {
      ...input,
      candidates: [makeCandidate('a').seenAt(0).pingedAt(100, 'collection').renewedAt(150).build()],
    };
    expect(
      recordSuccess(answered, ping('collection'), 100, 200).candidates[0]?.observation.collection,
    ).toBeUndefined();
    const routine = recordSuccess(recordSending(input, ping('validity'), 100), ping('validity'), 100, 110);
    expect(routine.candidates[0]?.observation.collection).toBeUndefined();
  });

  test.each<{
    name: string;
    change: LeaseChange;
    notes?: NotesChange;
    answer: LeaseBuilder;
    want: Partial<LeaseMemory>;
  }>([
    {
      name: 'a preferredHolder that was kept',
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
      answer: makeLease('a').preferring('b'),
      want: {
        written: { preferredHolder: 'b', strategy: OLDEST },
        decidedAt: 200,
        ignoredWrites: NO_ATTEMPTS,
      },
    },
    {
      name: 'a preferredHolder that the server dropped',
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
      answer: makeLease('a'),
      want: { written: {}, ignoredWrites: NO_ATTEMPTS },
    },
    {
      name: 'a preferredHolder that the server dropped while an older note was taken off',
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
      notes: { strategy: null },
      answer: makeLease('a'),
      want: { written: {}, ignoredWrites: NO_ATTEMPTS },
    },
    {
      name: 'a preferredHolder that the server dropped with its note',
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
      notes: { strategy: OLDEST, preferredHolder: 'b' },
      answer: makeLease('a'),
      want: { written: {}, ignoredWrites: { count: 1, lastAt: 200 } },
    },
    {
      name: 'a preferredHolder with a kept note',
      change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
      notes: { strategy: OLDEST, preferredHolder: 'b' },
      answer: makeLease('a').strategy(undefined).noting({ strategy: OLDEST, preferredHolder: 'b' }),
      want: {
        written: { preferredHolder: 'b', strategy: OLDEST },
        decidedAt: 200,
        ignoredWrites: NO_ATTEMPTS,
      },
    },
    {
      name: 'a strategy that was kept',
      change: { kind: 'strategy', strategy: OLDEST, isHolderAbsent: false, removesPreferredHolder: false },
      answer: makeLease('a'),
      want: { written: { strategy: OLDEST }, decidedAt: 200, ignoredWrites: NO_ATTEMPTS },
    },
    {
      name: 'a strategy that was kept beside another’s preferredHolder',
      change: { kind: 'strategy', strategy: OLDEST, isHolderAbsent: false, removesPreferredHolder: false },
      answer: makeLease('a').preferring('z', false),
      want: { written: { strategy: OLDEST }, decidedAt: 200, ignoredWrites: NO_ATTEMPTS },
    },
    {
      name: 'a strategy that the server dropped',
      change: { kind: 'strategy', strategy: OLDEST, isHolderAbsent: false, removesPreferredHolder: false },
      answer: makeLease('a').strategy(undefined),
      want: { written: {}, ignoredWrites: NO_ATTEMPTS },
    },
    {
      name: 'a strategy that another client has replaced',
      change: { kind: 'strategy', strategy: OLDEST, isHolderAbsent: false, removesPreferredHolder: false },
      answer: makeLease('a').strategy('x/y'),
      want: { written: {}, ignoredWrites: { count: 1, lastAt: 200 } },
    },
    {
      name: 'a preferredHolder that was taken off as its candidate failed',
      change: { kind: 'clearPreferredHolder', hasFailed: true },
      answer: makeLease('a'),
      want: { failedPreemptions: { count: 1, lastAt: 200 } },
    },
    {
      name: 'a preferredHolder that was taken off for another reason',
      change: { kind: 'clearPreferredHolder', hasFailed: false },
      answer: makeLease('a'),
      want: { failedPreemptions: NO_ATTEMPTS },
    },
  ])('remembers $name', ({ change, notes, answer, want }) => {
    const action: UpdateLease = { ...grantTo('a'), change, ...(notes && { notes }) };
    expect(recordSuccess(input, action, 100, 200, answer.build()).memory).toMatchObject(want);
  });

  test('remembers rounds, a conflict, and the start of the pings of an election', () => {
    const decision = decideElection(input, makeNow(0));
    const known = { ...input, memory: { ...input.memory, askingSince: 50, conflict: 'old' } };
    const memoryAfter = (changes: Partial<Decision>) =>
      recordDecision(known, { ...decision, ...changes }, 100).memory;
    const nothing = { isRound: false, isAsking: true, conflict: undefined };
    expect(memoryAfter(nothing)).toEqual(known.memory);
    expect(memoryAfter({ ...nothing, isRound: true }).rounds).toEqual({ count: 1, lastAt: 100 });
    expect(memoryAfter({ ...nothing, conflict: 'new' }).conflict).toBe('new');
    expect(memoryAfter({ ...nothing, isAsking: false }).askingSince).toBeUndefined();
  });

  test('remembers since when the deletion of a candidate has failed', () => {
    const action: DeleteCandidate = { ...ping('collection'), kind: 'DeleteCandidate' };
    expect(recordFailure(input, action, 100, 200).candidates[0]?.observation.deletionFailedAt).toBe(200);
  });

  test('expects a grant until it is refused or answered, because it may have been applied although it failed', () => {
    const action = grantTo('a');
    const sent = recordSending(input, action, 100);
    expect(sent.memory.grantOnItsWay?.holder).toBe('a');
    expect(recordFailure(sent, action, 100, 200)).toEqual(sent);
    expect(recordRefusal(sent, grantTo('a'))).toEqual(sent);
    expect(recordRefusal(sent, action)).toEqual(input);
    const change = { kind: 'clearPreferredHolder', hasFailed: false } as const;
    expect(recordSending(sent, { ...action, change }, 300).memory.grantOnItsWay).toBe(
      sent.memory.grantOnItsWay,
    );
    const { memory } = recordSuccess(
      sent,
      action,
      100,
      200,
      makeLease('a').with({ resourceVersion: '7' }).build(),
    );
    // The answer took 0.1 s: the holder has this much more time.
    expect(memory.unrenewedGrant).toEqual({
      ...{ holder: 'a', renewTime: wallAt(0), resourceVersion: '7' },
      ...{ leaseDurationSeconds: 10, takeUpBy: 5300, isPreemption: false },
    });
  });
});
