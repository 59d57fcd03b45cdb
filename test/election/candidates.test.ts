import { describe, expect, test } from 'vitest';
import {
  type CandidateObservation,
  isUnsuspected,
  observeCandidate,
  recordPing,
  recordPingNotSent,
} from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { MicroTime } from '../../src/election/model.ts';
import {
  type CandidateBuilder,
  defaultSettings,
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function statesOf(input: InputBuilder, at: number) {
  const { standings } = decideElection(input.build(), makeNow(at));
  return Object.fromEntries(standings.map(({ candidate, state }) => [candidate.name, state]));
}

function actionsOf(input: InputBuilder, at: number): string {
  return describeActions(decideElection(input.build(), makeNow(at)).actions);
}

describe('a candidate seen for the first time (rules 1 and 3)', () => {
  test.each<{ name: string; candidate: CandidateBuilder; want: string }>([
    {
      name: 'is fresh when it renewed this moment',
      candidate: makeCandidate('a').renewedAt(0),
      want: 'Live',
    },
    {
      name: 'is fresh at the edge of electionDuration',
      candidate: makeCandidate('a').renewedAt(-5000),
      want: 'Live',
    },
    {
      name: 'is fresh when its clock is a little ahead',
      candidate: makeCandidate('a').renewedAt(5000),
      want: 'Live',
    },
    {
      name: 'must answer first when it renewed earlier',
      candidate: makeCandidate('a').renewedAt(-5001),
      want: 'Idle',
    },
    {
      name: 'must answer first when its clock is far ahead',
      candidate: makeCandidate('a').renewedAt(5001),
      want: 'Idle',
    },
    {
      name: 'is valid up to 30 min after its renewTime',
      candidate: makeCandidate('a').renewedAt(-30 * MINUTE + 1),
      want: 'Idle',
    },
    {
      name: 'is expired 30 min after it',
      candidate: makeCandidate('a').renewedAt(-30 * MINUTE),
      want: 'Expired',
    },
    {
      name: 'is judged by its creation when it never renewed',
      candidate: makeCandidate('a')
        .neverRenewed()
        .createdAt(-30 * MINUTE),
      want: 'Expired',
    },
    {
      name: 'must answer first when it never renewed, however young',
      candidate: makeCandidate('a').neverRenewed().createdAt(0),
      want: 'Idle',
    },
    {
      name: 'is dropped when it is being deleted',
      candidate: makeCandidate('a').renewedAt(0).deleting(),
      want: 'Deleting',
    },
  ])('$name', ({ candidate, want }) => {
    expect(statesOf(makeInput().candidates(candidate.seenAt(0)), 0)).toEqual({ a: want });
  });
});

describe('a candidate that was created just now (rule 1)', () => {
  // Its clock and the server's are five hours ahead of ours, or behind.
  test.each([
    { name: 'no older than the server says', fields: {}, now: 5 * HOUR, want: 1000 },
    { name: 'of unknown age by a clock that is ahead of ours', fields: {}, now: -5 * HOUR, want: 0 },
    {
      name: 'as old as its own time, without the server’s',
      fields: { creationTimestamp: undefined },
      now: 5 * HOUR,
      want: 5 * HOUR,
    },
    {
      name: 'as old as the server’s time, without its own',
      fields: { renewTime: undefined },
      now: 5 * HOUR,
      want: 5 * HOUR,
    },
    {
      name: 'of unknown age, without any time',
      fields: { creationTimestamp: undefined, renewTime: undefined },
      now: 5 * HOUR,
      want: 0,
    },
  ])('is $name', ({ fields, now, want }) => {
    const candidate = makeCandidate('a').createdAt(0).renewedAt(0).with(fields).build();
    const observation = observeCandidate(undefined, candidate, makeNow(0, now), defaultSettings, true);
    expect(observation.ageAtFirstSightMs).toBe(want);
  });
});

test('a candidate that is held back takes part again at the exact end of that time (rule 7)', () => {
  const input = makeInput()
    .sees(undefined, 0)
    .remembers({ lapses: new Map([['a', { count: 2, lastAt: 0 }]]) })
    .candidates(makeCandidate('a').seenAt(0).pingedAt(18_000).renewedAt(18_000));
  expect(statesOf(input, 19_999)).toEqual({ a: 'Lapsed' });
  expect(statesOf(input, 20_000)).toEqual({ a: 'Live' });
});

describe('a candidate counts as live', () => {
  const { electionDurationMs } = defaultSettings;
  const seen = makeCandidate('a').renewedAt(0).seenAt(0);
  const lost = (sentAt: number) => (observation: CandidateObservation) =>
    recordPingNotSent(recordPing(observation, 'election', sentAt, defaultSettings), sentAt);
  const same = (observation: CandidateObservation) => observation;

  test.each([
    { name: 'that was never pinged', observed: seen, change: same, want: true },
    { name: 'that has answered', observed: seen.pingedAt(10).renewedAt(20), change: same, want: true },
    { name: 'but not one that is being pinged now', observed: seen.pingedAt(10), change: same, want: false },
    {
      name: 'but not one that was silent, though the next ping did not reach it',
      observed: seen.pingedAt(10),
      change: lost(10 + electionDurationMs),
      want: false,
    },
    {
      name: 'and one that a ping did not reach',
      observed: seen,
      change: lost(10),
      want: true,
    },
  ])('$name', ({ observed, change, want }) => {
    const observation = change(observed.build().observation);
    expect(isUnsuspected(observation, 20 + electionDurationMs, defaultSettings)).toBe(want);
  });

  test('until its validity is over', () => {
    const { observation } = seen.build();
    expect(isUnsuspected(observation, 30 * MINUTE - 1, defaultSettings)).toBe(true);
    expect(isUnsuspected(observation, 30 * MINUTE, defaultSettings)).toBe(false);
  });
});

describe('a candidate known for some time', () => {
  const seen = makeCandidate('a').seenAt(0);
  test.each<{ name: string; observed: ObservedBuilder; at: number; want: string }>([
    {
      name: 'is fresh for electionDuration after a renewal (rule 3)',
      observed: seen.renewedAt(1000),
      at: 5999,
      want: 'Live',
    },
    { name: 'and must answer after that (rule 3)', observed: seen.renewedAt(1000), at: 6000, want: 'Idle' },
    { name: 'is awaited once pinged (rule 3)', observed: seen.pingedAt(1000), at: 5999, want: 'Awaiting' },
    {
      name: 'is unresponsive after electionDuration without an ack (rule 3)',
      observed: seen.pingedAt(1000),
      at: 6000,
      want: 'Unresponsive',
    },
    {
      name: 'stays unresponsive while it does not renew (rule 3)',
      observed: seen.pingedAt(1000),
      at: 20 * MINUTE,
      want: 'Unresponsive',
    },
    {
      name: 'stays unresponsive while it is pinged again (rule 3)',
      observed: seen.pingedAt(1000).pingedAt(8000),
      at: 8001,
      want: 'Unresponsive',
    },
    {
      name: 'takes part again as soon as it renews (rule 3)',
      observed: seen.pingedAt(1000).pingedAt(8000).renewedAt(9000),
      at: 9000,
      want: 'Live',
    },
    {
      name: 'counts for 2 x electionDuration after an ack (rule 3)',
      observed: seen.pingedAt(0).renewedAt(1000),
      at: 10_999,
      want: 'Live',
    },
    { name: 'and no longer (rule 3)', observed: seen.pingedAt(0).renewedAt(1000), at: 11_000, want: 'Idle' },
    {
      name: 'acks with its first renewal after the ping; a later one adds only its own freshness (rule 3)',
      observed: seen.pingedAt(0).renewedAt(1000).renewedAt(9000),
      at: 13_999,
      want: 'Live',
    },
    {
      name: 'is trusted no longer for renewing twice after a ping (rule 3)',
      observed: seen.pingedAt(0).renewedAt(1000).renewedAt(9000),
      at: 14_000,
      want: 'Idle',
    },
    {
      name: 'is valid for 30 min after it was seen to renew (rule 1)',
      observed: seen.renewedAt(1000),
      at: 30 * MINUTE + 999,
      want: 'Idle',
    },
    {
      name: 'and then expired (rule 1)',
      observed: seen.renewedAt(1000),
      at: 30 * MINUTE + 1000,
      want: 'Expired',
    },
    {
      name: 'is as old as its renewTime said at first sight, plus the time since (rule 1)',
      observed: seen,
      at: 29 * MINUTE,
      want: 'Expired',
    },
  ])('$name', ({ observed, at, want }) => {
    expect(statesOf(makeInput().candidates(observed), at)).toEqual({ a: want });
  });

  test('is unknown again when it was replaced by one with the same name (rule 1)', () => {
    const sim = new SimElection().add('a', { lastRenewedMsAgo: MINUTE, answersAfterMs: 6000 }).run(5000);
    expect(sim.decide().standings[0]?.state).toBe('Unresponsive');
    sim.remove('a').add('a', { lastRenewedMsAgo: MINUTE });
    expect(sim.decide().standings[0]?.state).toBe('Awaiting');
  });

  test('has used its ack after an election was decided with it (rule 3)', () => {
    const answered = makeCandidate('a').seenAt(0).pingedAt(0).renewedAt(1000);
    expect(statesOf(makeInput().candidates(answered).remembers({ decidedAt: 1000 }), 6000)).toEqual({
      a: 'Idle',
    });
    expect(statesOf(makeInput().candidates(answered).remembers({ decidedAt: 999 }), 6000)).toEqual({
      a: 'Live',
    });
  });
});

describe('the candidate of a valid holder (rule 3)', () => {
  const held = makeInput().sees(makeLease('a'), 0);
  test.each([
    { name: 'that was never pinged', observed: makeCandidate('a').seenAt(0) },
    { name: 'that did not answer', observed: makeCandidate('a').seenAt(0).pingedAt(0) },
    {
      name: 'that has not renewed for hours',
      observed: makeCandidate('a')
        .renewedAt(-5 * HOUR)
        .seenAt(0),
    },
  ])('$name takes part', ({ observed }) => {
    const decision = decideElection(held.candidates(observed).build(), makeNow(6000));
    expect(decision).toMatchObject({ reason: 'LeaderOptimal', outcome: { kind: 'leader' } });
  });

  test('is gone when it is being deleted, holder or not', () => {
    const input = held.candidates(makeCandidate('a').deleting().seenAt(0));
    expect(statesOf(input, 1)).toEqual({ a: 'Deleting' });
  });

  test('takes part because of its renewals only while its Lease is valid', () => {
    const input = held.candidates(makeCandidate('a').seenAt(0));
    expect(statesOf(input, 9999)).toEqual({ a: 'Live' });
    expect(statesOf(input, 10_000)).toEqual({ a: 'Idle' });
  });
});

describe('a Lease without candidates (rule 1)', () => {
  test.each([
    { name: 'that does not exist', lease: undefined },
    { name: 'that is held', lease: makeLease('a') },
    { name: 'that was released', lease: makeLease('') },
    { name: 'that lacks holderIdentity', lease: makeLease().heldBy(undefined) },
    { name: 'with a preferredHolder that is not ours', lease: makeLease('a').preferring('b', false) },
  ])('$name is left alone', ({ lease }) => {
    expect(decideElection(makeInput().sees(lease, 0).build(), makeNow(60_000))).toMatchObject({
      reason: 'NoCandidates',
      actions: [],
      requeue: { kind: 'awaitChange' },
    });
  });

  test('loses our preferredHolder before it is left alone (rule 7)', () => {
    const input = makeInput().sees(makeLease('a').preferring('b'), 0);
    expect(actionsOf(input, 1)).toBe('remove preferredHolder');
  });

  test.each([
    {
      name: 'which has failed, if it was this process that wrote it',
      written: { preferredHolder: 'b' },
      want: true,
    },
    { name: 'which says nothing of one from before this process', written: {}, want: false },
  ])('loses a preemption of ours in that case, $name', ({ written, want }) => {
    const input = makeInput().sees(makeLease('a').preferring('b'), 0).remembers({ written });
    expect(decideElection(input.build(), makeNow(1)).actions).toMatchObject([
      { change: { kind: 'clearPreferredHolder', hasFailed: want } },
    ]);
  });

  test('also has none if all its candidates are being deleted', () => {
    const input = makeInput().sees(undefined, 0).candidates(makeCandidate('a').deleting().seenAt(0));
    expect(decideElection(input.build(), makeNow(0))).toMatchObject({ reason: 'NoCandidates', actions: [] });
  });
});

describe('keeping candidates valid (rule 1)', () => {
  const held = makeInput()
    .sees(makeLease('holder'), 29 * MINUTE)
    .candidates(
      makeCandidate('holder')
        .renewedAt(29 * MINUTE)
        .seenAt(29 * MINUTE),
    );
  const spare = makeCandidate('spare').versions('1.37.0').renewedAt(0).seenAt(0);

  test('pings no candidate that has not missed client-go’s renewal every 5 min', () => {
    const at = 5.4 * MINUTE - 1;
    const holder = makeCandidate('holder').renewedAt(at).seenAt(at);
    expect(actionsOf(makeInput().sees(makeLease('holder'), at).candidates(holder, spare), at)).toBe('');
  });

  test('pings each that has been silent for 6 min, once', () => {
    const at = 6 * MINUTE;
    const early = makeInput()
      .sees(makeLease('holder'), at)
      .candidates(makeCandidate('holder').renewedAt(at).seenAt(at));
    expect(actionsOf(early.candidates(spare), at)).toBe('ping spare (validity)');
    expect(actionsOf(early.candidates(spare.pingedAt(at - 1, 'validity')), at)).toBe('');
    expect(actionsOf(early.candidates(spare.pingedAt(at - 6000, 'validity')), at)).toBe('');
  });

  test('pings each by half its validity, if that is shorter', () => {
    const at = 2 * MINUTE;
    const input = makeInput()
      .sees(makeLease('holder'), at)
      .candidates(makeCandidate('holder').renewedAt(at).seenAt(at), spare)
      .settings({ candidateValidityMs: 4 * MINUTE });
    expect(actionsOf(input, at)).toBe('ping spare (validity)');
  });

  test('pings one again that was not pinged since its last answer', () => {
    const at = 29 * MINUTE;
    expect(actionsOf(held.candidates(spare.pingedAt(1000).renewedAt(2000)), at)).toBe(
      'ping spare (validity)',
    );
  });

  test('pings a candidate again whose clock was set back: with the former pingTime, it would renew without a pause', () => {
    const at = MINUTE;
    const pingTime = wallAt(HOUR);
    const holder = makeCandidate('holder').renewedAt(at).seenAt(at).build();
    const renewed = spare.pingedAt(at - 6000).renewedAt(at - 1000);
    const actionsWith = (fields: { pingTime: bigint }) => {
      const { candidate, observation } = renewed.build();
      const input = makeInput()
        .sees(makeLease('holder'), at - 1000)
        .with({ candidates: [holder, { candidate: { ...candidate, ...fields }, observation }] });
      return decideElection(input.build(), makeNow(at)).actions;
    };
    expect(actionsWith({ pingTime })).toMatchObject([{ kind: 'PingCandidate', pingTime: wallAt(at) }]);
    expect(actionsWith({ pingTime: wallAt(at - 1000 + 5000) })).toEqual([]);
  });

  test.each([
    { name: 'not before the time of that ping is over', pingedAt: MINUTE - 3000, wantAt: MINUTE + 2000 },
    { name: 'as soon as it exists', pingedAt: MINUTE - 5000, want: 'ping spare (validity)' },
  ])('pings one again that has answered a ping in its new time, $name', ({ pingedAt, want = '', wantAt }) => {
    const { candidate, observation } = spare
      .pingedAt(pingedAt, 'validity')
      .renewedAt(MINUTE - 1000)
      .build();
    const input = makeInput()
      .sees(makeLease('holder').lasting(600), MINUTE)
      .candidates(makeCandidate('holder').renewedAt(MINUTE).seenAt(MINUTE))
      .build();
    const setBack = { candidate: { ...candidate, pingTime: wallAt(HOUR) }, observation };
    const both = { ...input, candidates: [...input.candidates, setBack] };
    const { actions, requeue } = decideElection(both, makeNow(MINUTE));
    expect(describeActions(actions)).toBe(want);
    if (wantAt !== undefined) expect(requeue).toEqual({ kind: 'at', time: wantAt });
  });

  test('does not decide again for a pinged candidate that does not answer, before it expires', () => {
    const input = held.candidates(spare.pingedAt(15 * MINUTE, 'validity'));
    expect(actionsOf(input, 29 * MINUTE + 5)).toBe('');
  });

  test('spreads the pings of candidates that were first seen at the same moment', () => {
    const sim = new SimElection();
    const names = Array.from({ length: 20 }, (_, index) => `c${String(index).padStart(2, '0')}`);
    for (const name of names) sim.add(name, { renewsByItself: false });
    sim.run(5.4 * MINUTE - 1);
    const before = sim.pings.length;
    sim.run(0.6 * MINUTE + 1);
    const asked = sim.pings.slice(before);
    expect(asked.map(({ name }) => name).sort()).toEqual(names);
    expect(new Set(asked.map(({ at }) => at)).size).toBeGreaterThan(15);
    // Spread over the whole time, although their uids have the same end.
    const times = asked.map(({ at }) => at);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(0.4 * MINUTE);
  });

  test('keeps candidates that answer valid for hours', () => {
    const sim = new SimElection()
      .add('a')
      .add('b', { renewsByItself: false })
      .run(3 * HOUR);
    expect(sim.candidateNames).toEqual(['a', 'b']);
    expect(sim.decide().standings.map(({ state }) => state)).toEqual(['Live', 'Idle']);
    // One ping for each 6 min of silence, less up to a tenth, and no more.
    const askedAt = [0, ...sim.pingTimesOf('b')];
    const silences = askedAt.slice(1).map((at, index) => (at - (askedAt[index] ?? 0)) / MINUTE);
    expect(silences.length).toBeGreaterThanOrEqual(30);
    expect(Math.min(...silences)).toBeGreaterThanOrEqual(5.4);
    expect(Math.max(...silences)).toBeLessThan(6.01);
  });
});

describe('a crashed candidate (rule 3)', () => {
  test('costs one ping if it is the best, not one per decision, while the Lease has a leader', () => {
    const sim = new SimElection().add('a').run(1000).add('best', {
      emulation: '1.30.0',
      lastRenewedMsAgo: MINUTE,
      answersAfterMs: Number.POSITIVE_INFINITY,
      renewsByItself: false,
    });
    sim.run(10 * MINUTE);
    expect(sim.pingsTo('best')).toBe(1);
    expect(sim.lease?.holderIdentity).toBe('a');
  });

  test('is pinged again with backoff up to 60 s without a valid holder, but not waited for', () => {
    const sim = new SimElection();
    for (const name of ['a', 'b'])
      sim.add(name, {
        lastRenewedMsAgo: MINUTE,
        answersAfterMs: Number.POSITIVE_INFINITY,
        renewsByItself: false,
      });
    sim.run(5 * MINUTE);
    const askedAt = sim.pingTimesOf('a');
    const gaps = askedAt.slice(1).map((at, index) => (at - (askedAt[index] ?? 0)) / 1000);
    expect(gaps).toEqual([5, 10, 20, 40, 60, 60, 60]);
    expect(sim.decide().reason).toBe('NoLiveCandidates');
    // A program that starts in the meantime is elected at once.
    sim.add('c');
    expect(sim.lease?.holderIdentity).toBe('c');
  });

  test('is also pinged if it has expired while there is no valid holder', () => {
    const sim = new SimElection().add('old', { lastRenewedMsAgo: HOUR });
    expect(sim.decisions[0]).toMatchObject({ reason: 'NoLiveCandidates', isRound: true });
    sim.run(100);
    expect(sim.lease?.holderIdentity).toBe('old');
  });
});

describe('an answer to a ping (rule 3)', () => {
  const before = makeCandidate('a').renewedAt(0).build();
  const seen = observeCandidate(undefined, before, makeNow(1000), defaultSettings);
  const asked = recordPing(seen, 'election', 2000, defaultSettings, wallAt(2000));
  const ackedAt = (candidate: typeof before) =>
    observeCandidate(asked, { ...candidate, renewTime: wallAt(1900) }, makeNow(2100), defaultSettings).ping
      ?.ackedAt;

  test.each<{ name: string; pingTime: MicroTime | undefined; want: number | undefined }>([
    { name: 'has the ping that it answers', pingTime: wallAt(2000), want: 2100 },
    { name: 'may have one that was set later, by another client', pingTime: wallAt(2050), want: 2100 },
    {
      name: 'is none when it was written before the ping, and seen after it',
      pingTime: wallAt(500),
      want: undefined,
    },
    { name: 'may have none: not every server keeps it', pingTime: undefined, want: 2100 },
  ])('$name', ({ pingTime, want }) => {
    expect(ackedAt({ ...before, pingTime })).toBe(want);
  });

  test('counts after the ping was seen, although another coordinator pings with an earlier time in the meantime', () => {
    const shown = { ...before, pingTime: wallAt(2000) };
    const observed = observeCandidate(asked, shown, makeNow(2050), defaultSettings);
    const renewed = { ...before, pingTime: wallAt(500), renewTime: wallAt(9000) };
    expect(observeCandidate(observed, renewed, makeNow(9000), defaultSettings).ping?.ackedAt).toBe(9000);
  });

  test('does not count for an earlier ping of another coordinator', () => {
    const shown = { ...before, pingTime: wallAt(500) };
    const observed = observeCandidate(asked, shown, makeNow(2050), defaultSettings);
    const renewed = { ...shown, renewTime: wallAt(600) };
    expect(observeCandidate(observed, renewed, makeNow(2100), defaultSettings).ping?.ackedAt).toBeUndefined();
  });
});
