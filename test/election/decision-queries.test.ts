import { expect, test } from 'vitest';
import type { Action } from '../../src/election/decision.ts';
import { changesCluster } from '../../src/election/decision-queries.ts';
import { toDecision } from '../../src/election/verdict.ts';
import { surveyElection } from '../../src/election/view.ts';
import { makeInput, makeNow, OLDEST, wallAt } from '../support/election-builders.ts';

const about = { name: 'a', uid: 'a', resourceVersion: '1' };
const ping: Action = { kind: 'PingCandidate', ...about, pingTime: wallAt(0), purpose: 'election' };
const remove: Action = { kind: 'DeleteCandidate', ...about };
const create: Action = { kind: 'CreateLease', strategy: OLDEST, grant: undefined };

test.each<{ name: string; actions: readonly Action[]; want: boolean }>([
  { name: 'a write to the Lease', actions: [create], want: true },
  { name: 'a write to the Lease, with pings', actions: [create, ping], want: true },
  { name: 'a deletion', actions: [remove], want: true },
  { name: 'not pings alone', actions: [ping], want: false },
  { name: 'not nothing', actions: [], want: false },
])('what others go by is changed by $name', ({ actions, want }) => {
  const view = surveyElection(makeInput().build(), makeNow(0));
  expect(changesCluster(toDecision(view, { reason: 'AwaitingAcks', actions }, {}))).toBe(want);
});
