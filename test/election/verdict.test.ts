import { expect, test } from 'vitest';
import { toDecision } from '../../src/election/decide.ts';
import type { Action } from '../../src/election/decision.ts';
import { surveyElection } from '../../src/election/view.ts';
import { makeInput, makeNow, OLDEST, wallAt } from '../support/election-builders.ts';
import { describeActions } from '../support/sim-election.ts';

const view = surveyElection(makeInput().build(), makeNow(1000));
const about = (name: string) => ({ name, uid: name, resourceVersion: '1' });
const ping = (name: string, purpose: 'election' | 'validity'): Action => ({
  kind: 'PingCandidate',
  source: 'native',
  ...about(name),
  pingTime: wallAt(0),
  purpose,
});
const remove = (name: string): Action => ({ kind: 'DeleteCandidate', source: 'native', ...about(name) });
const create: Action = { kind: 'CreateLease', strategy: OLDEST, grant: undefined };

test.each<{ name: string; election: readonly Action[]; housekeeping: readonly Action[]; want: string }>([
  {
    name: 'the Lease first, then pings, then deletions',
    election: [ping('a', 'election'), create],
    housekeeping: [remove('b'), ping('c', 'validity')],
    want: `CreateLease, PingCandidate a, PingCandidate c, DeleteCandidate b`,
  },
  {
    name: 'one ping to each, that of the election',
    election: [ping('a', 'election')],
    housekeeping: [ping('a', 'validity'), ping('b', 'validity')],
    want: 'PingCandidate a, PingCandidate b',
  },
  {
    name: 'no ping to a candidate that is to be deleted: it would change the base of the deletion',
    election: [ping('a', 'election'), ping('b', 'election')],
    housekeeping: [remove('a')],
    want: 'PingCandidate b, DeleteCandidate a',
  },
  {
    name: 'a deletion of a candidate that is not pinged for the election',
    election: [],
    housekeeping: [remove('a'), ping('b', 'validity')],
    want: 'PingCandidate b, DeleteCandidate a',
  },
])('a decision has $name', ({ election, housekeeping, want }) => {
  const { actions } = toDecision(
    view,
    { reason: 'AwaitingAcks', actions: election },
    { actions: housekeeping },
  );
  expect(
    actions.map((action) => [action.kind, 'name' in action ? action.name : []].flat().join(' ')).join(', '),
  ).toBe(want);
  expect(describeActions(actions)).not.toBe('');
});

test('a decision is valid until the earliest future time, or until a change', () => {
  const requeueAfter = (recheckAt: readonly (number | undefined)[], housekeepingAt: number) =>
    toDecision(view, { reason: 'LeaderOptimal', recheckAt }, { recheckAt: [housekeepingAt] }).requeue;
  expect(requeueAfter([3000, undefined, 1000, 500], 2000)).toEqual({ kind: 'at', time: 2000 });
  expect(requeueAfter([1500], 2000)).toEqual({ kind: 'at', time: 1500 });
  expect(requeueAfter([1000], Number.POSITIVE_INFINITY)).toEqual({ kind: 'awaitChange' });
  expect(toDecision(view, { reason: 'LeaderOptimal' }, {})).toMatchObject({
    ...{ requeue: { kind: 'awaitChange' }, isRound: false, isAsking: false, conflict: undefined },
  });
});
