import { expect, test } from 'vitest';
import { describeDecision } from '../../src/demo/demo-state.ts';
import type { Action, Decision, LeaseChange } from '../../src/election/decision.ts';
import type { CandidateState, Standing } from '../../src/election/view.ts';
import { makeCandidate, makeInput, makeLease, OLDEST } from '../support/election-builders.ts';

function makeDecision(fields: Partial<Decision>): Decision {
  return {
    reason: 'LeaderOptimal',
    actions: [],
    requeue: { kind: 'awaitChange' },
    steadyUntil: Number.POSITIVE_INFINITY,
    tenure: { kind: 'vacant', need: 'LeaseMissing', lease: undefined, reservation: undefined },
    outcome: { kind: 'none' },
    standings: [],
    isRound: false,
    isAsking: false,
    conflict: undefined,
    ...fields,
  };
}

function makeStanding(name: string, state: CandidateState, isHolder = false): Standing {
  return { ...makeCandidate(name).seenAt(0).build(), state, isHolder, isAlive: state === 'Live' };
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
  source: 'native',
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
    name: 'revises a grant that nobody has taken up',
    fields: {
      reason: 'GrantRevised',
      actions: [
        update({
          kind: 'grant',
          grant: { ...grant, holder: 'two', revises: 'holderWorse' },
          leaseTransitions: 1,
          strategy: OLDEST,
        }),
      ],
    },
    want: 'two gets the Lease instead of one, which has not taken it up',
  },
  {
    name: 'holds another revision back',
    fields: {
      reason: 'RevisionPending',
      standings: [makeStanding('one', 'Live', true), makeStanding('two', 'Live')],
    },
    want: 'one has not taken the Lease up yet, and is to lose it to a better candidate',
  },
  {
    name: 'waits for an answer',
    fields: {
      reason: 'AwaitingAcks',
      standings: [makeStanding('one', 'Live', true), makeStanding('two', 'Awaiting')],
    },
    want: 'waits for two to answer',
  },
  {
    name: 'leaves the Lease to its holder',
    fields: { standings: [makeStanding('one', 'Live', true), makeStanding('two', 'Awaiting')] },
    want: 'one holds the Lease',
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
    want: 'two is preferred to one, which is to give way; asks two for a sign of life',
  },
  {
    name: 'takes a preference back',
    fields: { actions: [update({ kind: 'clearPreferredHolder', hasFailed: true })] },
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
    fields: {
      actions: [{ kind: 'DeleteCandidate', source: 'native', name: 'two', uid: 'u', resourceVersion: '1' }],
    },
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
