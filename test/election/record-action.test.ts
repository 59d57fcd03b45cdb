import { describe, expect, test } from 'vitest';
import type { DeleteCandidate, PingCandidate, UpdateLease } from '../../src/election/decision.ts';
import {
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from '../../src/election/record-action.ts';
import { makeCandidate, makeInput, makeLease, OLDEST, wallAt } from '../support/election-builders.ts';

const input = makeInput()
  .sees(makeLease(''), 0)
  .candidates(makeCandidate('a').seenAt(0), makeCandidate('b').seenAt(0))
  .build();

function ping(purpose: PingCandidate['purpose'], uid = 'uid-of-a'): PingCandidate {
  return { kind: 'PingCandidate', name: 'a', uid, resourceVersion: '1', pingTime: wallAt(0), purpose };
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

describe('what is recorded of an action', () => {
  test('changes the candidate that it is about and no other, not even its successor of the same name', () => {
    const asked = recordSending(input, ping('election'), 100);
    expect(asked.candidates[0]?.observation.ping).toMatchObject({ purpose: 'election', sentAt: 100 });
    expect(asked.candidates[1]).toBe(input.candidates[1]);
    expect(recordSending(input, ping('election', 'uid-of-former-a'), 100)).toEqual(input);
  });

  test.each([
    { purpose: 'election' as const, want: 200 },
    { purpose: 'validity' as const, want: undefined },
  ])('begins an election with the answer to a ping for $purpose at $want', ({ purpose, want }) => {
    const asked = recordSuccess(recordSending(input, ping(purpose), 100), ping(purpose), 100, 200);
    expect(asked.memory.askingSince).toBe(want);
    expect(asked.candidates[0]?.observation.ping).toMatchObject({ sentAt: 100, deliveredAt: 200 });
  });

  test('forgets a ping that failed, and has its round followed soon by another', () => {
    const rounds = { count: 7, lastAt: 0 };
    const known = { ...input, memory: { ...input.memory, rounds } };
    const failed = (purpose: PingCandidate['purpose']) =>
      recordFailure(recordSending(known, ping(purpose), 100), ping(purpose), 100, 200);
    expect(failed('election')).toEqual(known);
    expect(failed('revival').memory.rounds).toEqual({ count: 1, lastAt: 100 });
  });

  test('remembers since when a candidate was to be deleted in vain', () => {
    const action: DeleteCandidate = { ...ping('collection'), kind: 'DeleteCandidate' };
    expect(recordFailure(input, action, 100, 200).candidates[0]?.observation.deletionFailedAt).toBe(200);
  });

  test('expects a grant until it is refused, for it may have been written although it failed', () => {
    const action = grantTo('a');
    const sent = recordSending(input, action, 100);
    expect(sent.memory.grantOnItsWay?.holder).toBe('a');
    expect(recordFailure(sent, action, 100, 200)).toEqual(sent);
    expect(recordRefusal(sent, grantTo('a'))).toEqual(sent);
    expect(recordRefusal(sent, action)).toEqual(input);
  });
});
