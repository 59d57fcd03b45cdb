import { expect, test } from 'vitest';
import { describeDecision } from '../../src/demo/coordinator-report.ts';
import type { Action, Decision, LeaseChange } from '../../src/election/decision.ts';
import type { CandidateState, Standing } from '../../src/election/view.ts';
import { makeCandidate, makeInput, makeLease, makeNow, OLDEST } from '../support/election-builders.ts';

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

test.each<{ name: string; fields: Partial<Decision>; want: string }>([
  {
    name: 'grants a Lease again',
    fields: {
      reason: 'LeaseExpired',
      actions: [update({ kind: 'grant', grant, leaseTransitions: 0, strategy: OLDEST })],
    },
    want: 'one leads: LeaseExpired',
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
    want: 'The best candidate leads.',
  },
  {
    name: 'prefers a candidate, and pings it',
    fields: {
      reason: 'BetterCandidate',
      actions: [update({ kind: 'prefer', preferredHolder: 'two', strategy: OLDEST }), ping],
      standings: [makeStanding('one', 'Unresponsive'), makeStanding('two', 'Live')],
    },
    want: 'one is asked to yield to two under OldestEmulationVersion; asks two for a sign of life; not one (unresponsive)',
  },
])('a decision that $name is described', ({ fields, want }) => {
  const input = makeInput().sees(makeLease('one'), 0).build();
  expect(describeDecision(makeDecision(fields), input, makeNow(1000))).toBe(want);
});
