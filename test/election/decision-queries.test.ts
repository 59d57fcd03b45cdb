import { expect, test } from 'vitest';
import { toDecision } from '../../src/election/decide.ts';
import { type Action, changesCluster, grantOf, preferredBy } from '../../src/election/decision.ts';
import { surveyElection } from '../../src/election/view.ts';
import { makeInput, makeNow, OLDEST, wallAt } from '../support/election-builders.ts';

const about = { name: 'a', uid: 'a', resourceVersion: '1' };
const ping: Action = {
  kind: 'PingCandidate',
  source: 'native',
  ...about,
  pingTime: wallAt(0),
  purpose: 'election',
};
const remove: Action = { kind: 'DeleteCandidate', source: 'native', ...about };
const create: Action = { kind: 'CreateLease', strategy: OLDEST, grant: undefined };

test.each<{ name: string; actions: readonly Action[]; want: boolean }>([
  { name: 'a write to the Lease', actions: [create], want: true },
  { name: 'a write to the Lease, with pings', actions: [create, ping], want: true },
  { name: 'a deletion', actions: [remove], want: true },
  { name: 'not pings alone', actions: [ping], want: false },
  { name: 'not nothing', actions: [], want: false },
])('the queries are changed by $name', ({ actions, want }) => {
  const view = surveyElection(makeInput().build(), makeNow(0));
  expect(changesCluster(toDecision(view, { reason: 'AwaitingAcks', actions }, {}))).toBe(want);
});

test('the grant of a decision, and its preferred candidate, are found at any position', () => {
  const decision = toDecision(
    surveyElection(makeInput().build(), makeNow(0)),
    { reason: 'AwaitingAcks' },
    {},
  );
  const change = { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST } as const;
  const prefer: Action = { kind: 'UpdateLease', uid: 'u', resourceVersion: '1', change };
  expect(preferredBy({ ...decision, actions: [ping, prefer] })).toBe('b');
  expect(preferredBy({ ...decision, actions: [ping] })).toBeUndefined();
  const grant = {
    ...{ holder: 'a', renewTime: wallAt(0), former: undefined, hasFormerLapsed: false },
    ...{ revises: undefined, isPreemption: false, leaseDurationSeconds: 10 },
  };
  expect(grantOf({ ...decision, actions: [ping, { ...create, grant }] })).toBe(grant);
});
