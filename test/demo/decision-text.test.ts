import { expect, test } from 'vitest';
import { describeDecision } from '../../src/demo/decision-text.ts';
import type { Action, Decision, LeaseChange } from '../../src/election/decision.ts';
import { makeInput, makeLease, OLDEST } from '../support/election-builders.ts';

function makeDecision(fields: Partial<Decision>): Decision {
  return {
    reason: 'LeaderOptimal',
    actions: [],
    requeue: { kind: 'awaitChange' },
    outcome: { kind: 'nobody' },
    standings: [],
    isRound: false,
    conflict: undefined,
    ...fields,
  };
}

function update(change: LeaseChange): Action {
  return { kind: 'UpdateLease', uid: 'u', resourceVersion: '1', change };
}

const grant = {
  holder: 'one',
  renewTime: 0n,
  former: undefined,
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  leaseDurationSeconds: 4,
};
const ping: Action = {
  kind: 'PingCandidate',
  name: 'two',
  uid: 'u',
  resourceVersion: '1',
  pingTime: 0n,
  purpose: 'election',
};

test.each<{ name: string; fields: Partial<Decision>; isLeaseMissing?: true; want: string }>([
  {
    name: 'makes a Lease',
    fields: { actions: [{ kind: 'CreateLease', strategy: OLDEST, grant }] },
    isLeaseMissing: true,
    want: 'one gets the Lease',
  },
  {
    name: 'grants a Lease anew',
    fields: { actions: [update({ kind: 'grant', grant, leaseTransitions: 0, strategy: OLDEST })] },
    want: 'one gets the Lease again',
  },
  {
    name: 'makes a Lease that others decide about',
    fields: { actions: [{ kind: 'CreateLease', strategy: 'example.com/a', grant: undefined }] },
    isLeaseMissing: true,
    want: 'a Lease without a holder, for example.com/a',
  },
  {
    name: 'prefers somebody, and asks others',
    fields: { actions: [update({ kind: 'prefer', preferredHolder: 'two', strategy: OLDEST }), ping] },
    want: 'two is preferred to one, which is to let the Lease run out; asks two for a sign of life',
  },
  {
    name: 'takes a preference back',
    fields: { actions: [update({ kind: 'unprefer', hasFailed: true })] },
    want: 'nobody is preferred any longer',
  },
  {
    name: 'names another strategy',
    fields: {
      actions: [
        update({
          kind: 'strategy',
          strategy: 'example.com/a',
          isHolderAbsent: false,
          removesPreferredHolder: false,
        }),
      ],
    },
    want: 'the Lease names the strategy example.com/a',
  },
  {
    name: 'collects a candidate',
    fields: { actions: [{ kind: 'DeleteCandidate', name: 'two', uid: 'u', resourceVersion: '1' }] },
    want: 'deletes two',
  },
  {
    name: 'finds a conflict',
    fields: { outcome: { kind: 'conflict', strategies: ['a', 'b', 'c'] } },
    want: 'some want a, others b, others c',
  },
  { name: 'does nothing, as nobody holds the Lease', fields: {}, want: 'nothing can be done yet' },
])('a decision that $name is told in words', ({ fields, isLeaseMissing, want }) => {
  const input = isLeaseMissing ? makeInput() : makeInput().sees(makeLease('one'), 0);
  expect(describeDecision(makeDecision(fields), input.build())).toBe(want);
});
