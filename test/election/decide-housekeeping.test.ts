import { describe, expect, test } from 'vitest';
import { observeCandidate } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { LeaseCandidate } from '../../src/election/model.ts';
import {
  defaultSettings,
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function actionsOf(input: InputBuilder, at: number): string {
  return describeActions(decideElection(input.build(), makeNow(at)).actions);
}

describe('deleting candidates (rule 1)', () => {
  const due = 2 * HOUR;
  const at = due + 10 * MINUTE + 5000;
  const leader = makeCandidate('leader')
    .renewedAt(at - 1000)
    .seenAt(at - 1000);
  const held = makeInput()
    .sees(makeLease('leader'), at - 1000)
    .candidates(leader);
  const dead = makeCandidate('dead').versions('1.37.0').renewedAt(0).seenAt(0);
  const asked = (observed: ObservedBuilder, ...times: readonly number[]) =>
    times.reduce((known, time) => known.pingedAt(time, 'collection'), observed);
  const askedOut = asked(dead, due, due + 5 * MINUTE, due + 10 * MINUTE);
  const seenLate = makeCandidate('dead')
    .renewedAt(0)
    .seenAt(at - 2000);

  test.each<{ name: string; observed: ObservedBuilder; when?: number; want: string }>([
    { name: 'pings before it deletes', observed: dead, want: 'ping dead (collection)' },
    {
      name: 'pings a second time, five minutes after the first',
      observed: asked(dead, at - 5 * MINUTE),
      want: 'ping dead (collection)',
    },
    { name: 'and not any earlier', observed: asked(dead, at - 5 * MINUTE + 1), want: '' },
    {
      name: 'pings a third time',
      observed: asked(dead, at - 10 * MINUTE, at - 5 * MINUTE),
      want: 'ping dead (collection)',
    },
    {
      name: 'pings one first seen when it was due by its renewTime',
      observed: seenLate,
      want: 'ping dead (collection)',
    },
    {
      name: 'does not take an unanswered ping from before it was due for that',
      observed: dead.pingedAt(HOUR),
      want: 'ping dead (collection)',
    },
    { name: 'waits for the answer', observed: dead.pingedAt(at - 4999, 'collection'), want: '' },
    {
      name: 'deletes after three unanswered pings within ten minutes',
      observed: askedOut,
      want: 'delete dead',
    },
    {
      name: 'deletes as soon as these ten minutes are over',
      observed: asked(dead, at - 10 * MINUTE, at - 5 * MINUTE, at - 5000),
      want: 'delete dead',
    },
    {
      name: 'does not count three pings within less',
      observed: asked(dead, at - 9 * MINUTE, at - 5 * MINUTE, at - 5000),
      want: '',
    },
    { name: 'lets one live that answered', observed: askedOut.renewedAt(at - 1), want: '' },
    {
      name: 'leaves one alone until it is due',
      observed: makeCandidate('dead')
        .versions('1.37.0')
        .renewedAt(at - due + 1)
        .seenAt(at - 2000),
      want: '',
    },
    {
      name: 'leaves one alone that is being deleted already',
      observed: makeCandidate('dead').renewedAt(0).deleting().seenAt(0),
      want: '',
    },
    {
      name: 'does not take a ping of an election for one of the three',
      observed: asked(dead, due, due + 5 * MINUTE).pingedAt(due + 10 * MINUTE, 'election'),
      want: 'ping dead (collection)',
    },
    {
      name: 'leaves one alone for ten minutes that it could not delete',
      observed: askedOut.notDeletedAt(at - 10 * MINUTE + 1),
      want: '',
    },
    {
      name: 'tries again then, without asking again',
      observed: askedOut.notDeletedAt(at - 10 * MINUTE),
      want: 'delete dead',
    },
  ])('$name', ({ observed, want }) => {
    expect(actionsOf(held.candidates(observed), at)).toBe(want);
  });

  test('uses the server’s clock, not ours, for one that was just created', () => {
    const hoursAhead = makeNow(at, 5 * HOUR);
    const observe = (candidate: LeaseCandidate) => ({
      candidate,
      observation: observeCandidate(undefined, candidate, hoursAhead, defaultSettings, true),
    });
    const started = observe(makeCandidate('started').versions('1.37.0').createdAt(at).renewedAt(at).build());
    expect(actionsOf(held.with({ candidates: [leader.build(), started] }), at)).toBe('');
    const stale = observe(makeCandidate('stale').versions('1.37.0').createdAt(at).renewedAt(0).build());
    expect(actionsOf(held.with({ candidates: [leader.build(), stale] }), at)).toBe('ping stale (collection)');
  });

  test.each([
    {
      name: 'when its ten minutes are over',
      observed: asked(dead, at - 9 * MINUTE, at - 5 * MINUTE, at - 5000),
      want: at + MINUTE,
    },
    {
      name: 'ten minutes after it was to be deleted, if it is still there',
      observed: askedOut,
      want: at + 10 * MINUTE,
    },
    { name: 'when it may be pinged again', observed: asked(dead, at - 4 * MINUTE), want: at + MINUTE },
    { name: 'when its answer is due', observed: dead.pingedAt(at - 4000, 'collection'), want: at + 1000 },
  ])('decides again $name', ({ observed, want }) => {
    // No other action is due for an hour: the holder is not a candidate.
    const alone = makeInput().sees(makeLease('stranger').lasting(3600), at).candidates(observed);
    expect(decideElection(alone.build(), makeNow(at)).requeue).toEqual({ kind: 'at', time: want });
  });

  test('decides again when it is due, also at the moment when the candidate expires', () => {
    const alone = makeInput()
      .sees(makeLease('stranger').lasting(4 * 3600), 0)
      .candidates(dead);
    const { requeue } = decideElection(alone.build(), makeNow(30 * MINUTE));
    expect(requeue).toEqual({ kind: 'at', time: 2 * HOUR });
  });

  test('has uid and resourceVersion as preconditions', () => {
    const known = makeCandidate('dead').renewedAt(0).with({ uid: 'u-1', resourceVersion: '42' }).seenAt(0);
    const observed = asked(known, due, due + 5 * MINUTE, due + 10 * MINUTE);
    const { actions } = decideElection(held.candidates(observed).build(), makeNow(at));
    expect(actions).toEqual([
      { kind: 'DeleteCandidate', source: 'native', name: 'dead', uid: 'u-1', resourceVersion: '42' },
    ]);
  });

  test('never deletes the candidate of a valid holder', () => {
    const input = makeInput()
      .sees(makeLease('dead'), at - 1000)
      .candidates(askedOut);
    expect(actionsOf(input, at)).toBe('');
  });

  test('follows its setting', () => {
    const goneAfter = (candidateGcAfterMs: number) =>
      held.candidates(askedOut).settings({ candidateGcAfterMs });
    expect(actionsOf(goneAfter(HOUR), at)).toBe('delete dead');
    expect(actionsOf(goneAfter(3 * HOUR), at)).toBe('');
  });

  test('happens two hours and three pings after the last renewal', () => {
    const sim = new SimElection()
      .add('a')
      .add('b')
      .run(MINUTE)
      .crash('b')
      .run(2 * HOUR - MINUTE - 1);
    expect(sim.candidateNames).toEqual(['a', 'b']);
    const pings = sim.pingsTo('b');
    sim.run(10 * MINUTE + 5001);
    expect(sim.candidateNames).toEqual(['a']);
    expect(sim.pingsTo('b') - pings).toBe(3);
  });

  test('happens ten minutes after a release, for one that is silent since then', () => {
    const sim = new SimElection().add('a').add('b').run(20_000).stopCleanly('a');
    sim.run(4999);
    expect(sim.pingsTo('a')).toBe(0);
    sim.run(1);
    expect(sim.pingsTo('a')).toBe(1);
    sim.run(10 * MINUTE);
    expect(sim.candidateNames).toEqual(['a', 'b']);
    sim.run(5000);
    expect(sim.candidateNames).toEqual(['b']);
    expect(sim.pingsTo('a')).toBe(3);
  });

  test('does not happen for one that released the Lease and is alive', () => {
    const sim = new SimElection()
      .add('a')
      .add('b')
      .run(20_000)
      .release('a')
      .run(20 * MINUTE);
    expect(sim.candidateNames).toEqual(['a', 'b']);
    expect(sim.pingsTo('a')).toBe(1);
  });
});

test('at most this many are pinged in one decision, and the others in later ones', () => {
  const crowd = Array.from({ length: 5001 }, (_, index) => makeCandidate(`c${index}`).seenAt(0));
  const input = makeInput()
    .sees(makeLease('stranger').lasting(HOUR / 1000), 0)
    .candidates(...crowd);
  const { actions } = decideElection(input.build(), makeNow(10 * MINUTE));
  expect(actions).toHaveLength(5000);
});
