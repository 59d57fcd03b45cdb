import { describe, expect, test } from 'vitest';
import { URGENCIES, type Urgency, urgencyOf } from '../../../src/controller/queue/urgency.ts';
import type { PingPurpose } from '../../../src/election/candidate-observation.ts';
import { decideElection } from '../../../src/election/decide.ts';
import type { Action, LeaseChange, Reason } from '../../../src/election/decision.ts';
import { makeInput, makeNow, OLDEST } from '../../support/election-builders.ts';

const grant = {
  holder: 'a',
  renewTime: 0n,
  former: undefined,
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  leaseDurationSeconds: 10,
};
const candidate = { name: 'a', uid: 'u', resourceVersion: '1' };

function update(change: LeaseChange): Action {
  return { kind: 'UpdateLease', uid: 'u', resourceVersion: '1', change };
}

function ping(purpose: PingPurpose): Action {
  return { kind: 'PingCandidate', source: 'native', ...candidate, pingTime: 0n, purpose };
}

describe('what is urgent', () => {
  test.each<{ name: string; action: Action; reason?: Reason; want: Urgency }>([
    {
      name: 'making a Lease for somebody',
      action: { kind: 'CreateLease', strategy: OLDEST, grant },
      want: 'grant',
    },
    {
      name: 'giving a Lease to somebody',
      action: update({ kind: 'grant', grant, leaseTransitions: 1, strategy: OLDEST }),
      want: 'grant',
    },
    {
      name: "making a Lease for somebody else's strategy",
      action: { kind: 'CreateLease', strategy: 'x.io/theirs', grant: undefined },
      want: 'preference',
    },
    {
      name: 'preferring somebody',
      action: update({ kind: 'prefer', preferredHolder: 'a', strategy: OLDEST }),
      want: 'preference',
    },
    {
      name: 'taking that back',
      action: update({ kind: 'clearPreferredHolder', hasFailed: true }),
      want: 'preference',
    },
    {
      name: 'naming a strategy',
      action: update({
        kind: 'strategy',
        strategy: OLDEST,
        isHolderAbsent: false,
        removesPreferredHolder: false,
      }),
      want: 'preference',
    },
    {
      name: 'asking whether the preferred candidate still lives',
      action: ping('preemption'),
      reason: 'PreemptionPending',
      want: 'preference',
    },
    { name: 'asking candidates of a vacant Lease', action: ping('election'), want: 'vacant' },
    { name: 'asking those that were silent', action: ping('revival'), want: 'vacant' },
    { name: 'asking ahead of an expiry', action: ping('expiry'), want: 'expiry' },
    {
      name: 'asking somebody better than the holder',
      action: ping('preemption'),
      reason: 'AwaitingAcks',
      want: 'expiry',
    },
    { name: 'asking who has been silent for minutes', action: ping('validity'), want: 'housekeeping' },
    { name: 'asking who is to be deleted', action: ping('collection'), want: 'housekeeping' },
    {
      name: 'deleting a candidate',
      action: { kind: 'DeleteCandidate', source: 'native', ...candidate },
      want: 'housekeeping',
    },
  ])('$name is of urgency $want', ({ action, reason = 'LeaseMissing', want }) => {
    const decision = { ...decideElection(makeInput().build(), makeNow(0)), reason };
    expect(urgencyOf(action, decision)).toBe(want);
  });

  test('comes in the order of rule 9', () => {
    expect(URGENCIES).toEqual(['grant', 'preference', 'vacant', 'expiry', 'housekeeping']);
  });
});
