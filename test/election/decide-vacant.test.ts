import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { noMemory, recordGrant } from '../../src/election/lease-memory.ts';
import { lapsedUntil } from '../../src/election/view.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  type ObservedBuilder,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const MAX_INT32 = 2 ** 31 - 1;
const fresh = (name: string) => makeCandidate(name).renewedAt(0).seenAt(0);
const idle = (name: string) => makeCandidate(name).seenAt(0);
const better = (name: string) => makeCandidate(name).emulating('1.30.0').seenAt(0);
const worse = (name: string) => makeCandidate(name).versions('1.37.0').seenAt(0);

describe('an election is needed (rule 6)', () => {
  test.each([
    {
      name: 'when the Lease is missing',
      input: makeInput().sees(undefined, 0),
      at: 0,
      wantReason: 'LeaseMissing',
    },
    {
      name: 'when it was released',
      input: makeInput().sees(makeLease('x'), 0).sees(makeLease('x').releasedAt(1), 1),
      at: 1,
      wantReason: 'LeaseReleased',
    },
    {
      name: 'when it was found without a holder',
      input: makeInput().sees(makeLease(''), 0),
      at: 0,
      wantReason: 'LeaseReleased',
    },
    {
      name: 'when it was found without the field holderIdentity',
      input: makeInput().sees(makeLease().heldBy(undefined), 0),
      at: 0,
      wantReason: 'LeaseReleased',
    },
    {
      name: 'when it has expired',
      input: makeInput().sees(makeLease('x').lasting(3), 0),
      at: 3000,
      wantReason: 'LeaseExpired',
    },
  ])('$name', ({ input, at, wantReason }) => {
    const decision = decideElection(input.candidates(fresh('a')).build(), makeNow(at));
    expect(decision.reason).toBe(wantReason);
    expect(describeActions(decision.actions)).toMatch(/^(create the Lease for|grant the Lease to) a,/);
  });

  test.each([
    { name: 'when the best candidate holds the Lease', holder: 'a' },
    { name: 'if only the holder is a candidate', holder: 'b', only: 'b' },
  ])('not $name', ({ holder, only }) => {
    const candidates = ['a', 'b'].filter((name) => only === undefined || name === only).map(fresh);
    const input = makeInput()
      .sees(makeLease(holder), 0)
      .candidates(...candidates);
    expect(decideElection(input.build(), makeNow(1))).toMatchObject({ reason: 'LeaderOptimal', actions: [] });
  });

  test.each([
    { name: 'if one with a better version exists', emulation: '1.30.0', want: 'AwaitingAcks' },
    {
      name: 'not when another candidate is only older, or has an earlier name (rule 5)',
      want: 'LeaderOptimal',
    },
  ])('$name than the holder', ({ emulation = '1.36.0', want }) => {
    const other = makeCandidate('a').emulating(emulation).createdAt(-60_000).renewedAt(0).seenAt(0);
    const input = makeInput().sees(makeLease('b'), 0).candidates(other, fresh('b'));
    expect(decideElection(input.build(), makeNow(1)).reason).toBe(want);
  });
});

describe('pings of an election (rules 3 and 6)', () => {
  const missing = makeInput().sees(undefined, 0).remembers({ askingSince: 0 });
  test.each<{
    name: string;
    candidates: readonly ObservedBuilder[];
    askingSince?: number;
    at?: number;
    want: string;
  }>([
    {
      name: 'pings the best two at once, and not the others',
      candidates: [worse('c'), idle('a'), idle('b')],
      want: 'ping a, b (election)',
    },
    {
      name: 'pings the next ones a second later',
      candidates: [worse('c'), idle('a').pingedAt(0), idle('b').pingedAt(0)],
      at: 1000,
      want: 'ping c (election)',
    },
    {
      name: 'counts that second from the server’s answer to the first ping',
      candidates: [worse('c'), idle('a').pingedAt(0), idle('b').pingedAt(0)],
      askingSince: 500,
      at: 1499,
      want: '',
    },
    {
      name: 'begins with the first names among equals',
      candidates: [idle('c'), idle('b'), idle('a')],
      want: 'ping a, b (election)',
    },
    {
      name: 'is not needed for those that are fresh',
      candidates: [fresh('a'), idle('b')],
      want: `create the Lease for a, ${OLDEST}`,
    },
    {
      name: 'pings only those that were not pinged yet',
      candidates: [idle('a').pingedAt(0), idle('b')],
      want: 'ping b (election)',
    },
    { name: 'waits for a better one', candidates: [better('a').pingedAt(0), fresh('b')], want: '' },
    {
      name: 'does not wait for equally good ones, even older',
      candidates: [idle('a').pingedAt(0), fresh('b')],
      want: `create the Lease for b, ${OLDEST}`,
    },
    {
      name: 'waits no longer than electionDuration for a better one',
      candidates: [better('a').pingedAt(0), idle('b').pingedAt(0).renewedAt(100)],
      at: 5000,
      want: `create the Lease for b, ${OLDEST}`,
    },
    {
      name: 'ends with the answer of one that is better than all others',
      candidates: [idle('a').pingedAt(0).renewedAt(100), idle('b').pingedAt(0), idle('c').pingedAt(0)],
      at: 100,
      want: `create the Lease for a, ${OLDEST}`,
    },
    {
      name: 'does not wait for one that is known to be silent',
      candidates: [idle('a').pingedAt(-6000), fresh('b')],
      want: `create the Lease for b, ${OLDEST}`,
    },
    {
      name: 'does not wait for one whose validity is over',
      candidates: [
        makeCandidate('a')
          .renewedAt(-7_200_000 + 60_000)
          .seenAt(0),
        fresh('b'),
      ],
      want: `create the Lease for b, ${OLDEST}`,
    },
    {
      name: 'does not wait for one that is being deleted',
      candidates: [makeCandidate('a').deleting().seenAt(0), fresh('b')],
      want: `create the Lease for b, ${OLDEST}`,
    },
  ])('$name', ({ candidates, askingSince = 0, at = 1, want }) => {
    const input = missing.remembers({ askingSince }).candidates(...candidates);
    const { actions } = decideElection(input.build(), makeNow(at));
    expect(describeActions(actions)).toBe(want);
  });

  test.each([
    { name: 'a second after the first ping', askingSince: 0, at: 1, want: 1000 },
    { name: 'and every second after that', askingSince: 0, at: 1000, want: 2000 },
    { name: 'however late the asking began', askingSince: 700, at: 1400, want: 1700 },
    {
      name: 'when the time of the last ping is over, if that is earlier',
      askingSince: 0,
      at: 4500,
      want: 5000,
    },
    { name: 'counted from the server’s answer to the first ping', askingSince: 300, at: 400, want: 1300 },
    { name: 'and not at all before that answer', askingSince: undefined, at: 400, want: 5000 },
  ])('decides again $name', ({ askingSince, at, want }) => {
    const input = missing.remembers({ askingSince }).candidates(idle('a').pingedAt(0), idle('b').pingedAt(0));
    expect(decideElection(input.build(), makeNow(at)).requeue).toEqual({ kind: 'at', time: want });
  });

  test('pings the last holder after its equals, because it has just missed its renewals', () => {
    const x = makeCandidate('x').renewedAt(-10_000).seenAt(0);
    const input = makeInput().sees(makeLease('x').lasting(3), 0).candidates(x, idle('y'), idle('z'));
    expect(describeActions(decideElection(input.build(), makeNow(3000)).actions)).toBe(
      'ping y, z (election)',
    );
  });

  test('follows binaryVersion while the candidates may conflict, because it decides on the strategy', () => {
    const party = (name: string, version: string, strategy: string) =>
      makeCandidate(name).versions(version).wants(strategy).seenAt(0);
    const input = missing.candidates(
      party('old', '1.36.0', OLDEST),
      party('new', '1.38.0', OLDEST),
      party('other', '1.38.0', 'example.com/x'),
    );
    expect(describeActions(decideElection(input.build(), makeNow(1)).actions)).toBe(
      'ping new, other (election)',
    );
  });

  test.each([
    { name: 'whose last ping is oldest', rounds: 0, want: 'ping never, b (revival)' },
    { name: 'twice as many in the second round', rounds: 1, want: 'ping never, b, a, c (revival)' },
    {
      name: 'in the order of their names if that is equal',
      rounds: 2,
      want: 'ping never, b, a, c, d, e (revival)',
    },
  ])('of silent candidates begins with those $name', ({ rounds, want }) => {
    const input = missing
      .remembers({ rounds: { count: rounds, lastAt: -60_000 } })
      .candidates(
        idle('d').pingedAt(-10_000),
        idle('c').pingedAt(-10_000),
        idle('e').pingedAt(-10_000),
        idle('a').pingedAt(-20_000),
        idle('b').pingedAt(-30_000),
        makeCandidate('never').renewedAt(-7_000_000).seenAt(0),
      );
    expect(describeActions(decideElection(input.build(), makeNow(1)).actions)).toBe(want);
  });

  test.each([
    { name: '5 s after the first round', rounds: { count: 0, lastAt: Number.NEGATIVE_INFINITY }, want: 5001 },
    { name: '10 s after the second', rounds: { count: 1, lastAt: -5000 }, want: 10_001 },
    { name: 'when the next round is due, between two', rounds: { count: 2, lastAt: -5000 }, want: 5000 },
  ])('decides again $name while no candidate answers', ({ rounds, want }) => {
    const input = missing.remembers({ rounds }).candidates(idle('a').pingedAt(-6000));
    expect(decideElection(input.build(), makeNow(1))).toMatchObject({
      reason: 'NoLiveCandidates',
      requeue: { kind: 'at', time: want },
      isRound: want !== 5000,
    });
  });

  test('has no winner if none of the answering candidates can be elected (rule 5)', () => {
    const unreadable = makeCandidate('a').emulating('v1').renewedAt(0).seenAt(0);
    expect(decideElection(missing.candidates(unreadable).build(), makeNow(1)).reason).toBe(
      'NoElectableCandidates',
    );
    const other = makeInput().sees(makeLease('x'), 0).candidates(unreadable);
    expect(decideElection(other.build(), makeNow(1))).toMatchObject({
      reason: 'NoElectableCandidates',
      actions: [],
    });
  });
});

describe('before the expiry (rule 6)', () => {
  const input = (seconds: number) =>
    makeInput()
      .sees(makeLease('x').lasting(seconds), 0)
      .candidates(idle('x'), makeCandidate('y').versions('1.37.0').seenAt(0));

  test.each([
    { name: '10 s are pinged 3 s before the end', seconds: 10, wantAt: 7000 },
    { name: '15 s too', seconds: 15, wantAt: 12_000 },
    { name: '60 s too', seconds: 60, wantAt: 57_000 },
    { name: '3 s after 2/3', seconds: 3, wantAt: 2000 },
  ])(
    'successors of a Lease of $name are pinged, including the holder, and not earlier',
    ({ seconds, wantAt }) => {
      const before = decideElection(input(seconds).build(), makeNow(wantAt - 1));
      expect(before).toMatchObject({ reason: 'LeaderOptimal', actions: [] });
      expect(before.requeue).toEqual({ kind: 'at', time: wantAt });
      const then = decideElection(input(seconds).build(), makeNow(wantAt));
      expect(then.reason).toBe('HolderLate');
      expect(describeActions(then.actions)).toBe('ping x, y (expiry)');
    },
  );

  test.each([
    { name: 'one that was pinged already', observed: idle('y').pingedAt(6000), want: 'ping x (expiry)' },
    {
      name: 'one whose answer will still count',
      observed: idle('y').pingedAt(0).renewedAt(100),
      want: 'ping x (expiry)',
    },
    { name: 'one known to be silent', observed: idle('y').pingedAt(0), want: 'ping x (expiry)' },
    {
      name: 'one whose answer expires at the moment of the expiry',
      observed: makeCandidate('y').seenAt(0).renewedAt(5000),
      want: 'ping x, y (expiry)',
    },
    {
      name: 'one whose answer outlasts the expiry',
      observed: makeCandidate('y').seenAt(0).renewedAt(5001),
      want: 'ping x (expiry)',
    },
  ])('only candidates whose answer is needed are pinged again: $name', ({ observed, want }) => {
    const worse = observed.build();
    const candidates = makeInput().sees(makeLease('x'), 0).candidates(idle('x')).build();
    const both = {
      ...candidates,
      candidates: [
        ...candidates.candidates,
        { ...worse, candidate: { ...worse.candidate, emulationVersion: '1.37.0', binaryVersion: '1.37.0' } },
      ],
    };
    expect(describeActions(decideElection(both, makeNow(7000)).actions)).toBe(want);
  });

  test('all have answered by then, and the new holder is written at that instant', () => {
    const sim = new SimElection()
      .add('x', { emulation: '1.30.0' })
      .add('y')
      .run(10_500)
      .crash('x')
      .run(14_999);
    expect(sim.lease?.holderIdentity).toBe('x');
    sim.run(1);
    expect(sim.lease).toMatchObject({ holderIdentity: 'y', leaseTransitions: 1, renewTime: wallAt(sim.at) });
  });

  test('a holder that renews every 10 of 15 s costs no ping', () => {
    const renewed = makeInput().sees(makeLease('x').lasting(15), 0).candidates(idle('x'), idle('y'));
    expect(decideElection(renewed.build(), makeNow(11_000)).actions).toEqual([]);
  });

  test('does not wait for the holder of the expired Lease, even if it is the best (rule 3)', () => {
    const expired = (former: ObservedBuilder) =>
      makeInput()
        .sees(makeLease('x').lasting(8), 0)
        .candidates(former, idle('y').pingedAt(5000).renewedAt(5100));
    const actions = (former: ObservedBuilder) =>
      describeActions(decideElection(expired(former).build(), makeNow(8000)).actions);
    const rival = decideElection(expired(better('z').pingedAt(5000)).build(), makeNow(8000));
    expect(rival).toMatchObject({ reason: 'AwaitingAcks', actions: [] });
    expect(actions(better('x').pingedAt(5000))).toBe(`grant the Lease to y, ${OLDEST}, transition 1`);
    expect(actions(better('x').pingedAt(5000).renewedAt(5200))).toBe(
      `grant the Lease to x, ${OLDEST}, transition 0`,
    );
  });

  test('a holder that renews late keeps its Lease', () => {
    const sim = new SimElection().add('x').add('y').run(5000).cutOff('x').run(12_000);
    expect(sim.decide().reason).toBe('HolderLate');
    sim.recover('x').run(60_000);
    expect(sim.believers).toEqual(['x']);
    expect(sim.lease?.leaseTransitions).toBe(0);
  });
});

describe('the fields of a grant (rule 7)', () => {
  const grantOn = (lease: ReturnType<typeof makeLease> | undefined, at: number, wallJumpMs = 0) => {
    const input = makeInput().sees(lease, 0).candidates(makeCandidate('a').seenAt(0).renewedAt(at));
    return decideElection(input.build(), makeNow(at, wallJumpMs)).actions[0];
  };

  test('a new Lease: the holder, now by our wall clock, the duration, the strategy', () => {
    expect(grantOn(undefined, 0, 90_000)).toMatchObject({
      kind: 'CreateLease',
      strategy: OLDEST,
      grant: { holder: 'a', renewTime: wallAt(90_000), leaseDurationSeconds: 10 },
    });
  });

  test('an existing Lease: with the resourceVersion of the decision', () => {
    const lease = makeLease('x').with({ uid: 'u-9', resourceVersion: '77' });
    expect(grantOn(lease, 10_000)).toMatchObject({
      kind: 'UpdateLease',
      uid: 'u-9',
      resourceVersion: '77',
      change: {
        kind: 'grant',
        strategy: OLDEST,
        grant: { holder: 'a', renewTime: wallAt(10_000), leaseDurationSeconds: 10 },
      },
    });
  });

  test.each([
    { name: 'another holder', former: 'x', want: 8 },
    { name: 'the same holder again', former: 'a', want: 7 },
    { name: 'a holder after none', former: '', want: 8 },
    { name: 'a holder after a missing field', former: undefined, want: 8 },
    {
      name: 'another holder, at the most that the API allows',
      former: 'x',
      transitions: MAX_INT32,
      want: MAX_INT32,
    },
  ])('leaseTransitions for $name', ({ former, transitions = 7, want }) => {
    const lease = makeLease().heldBy(former).with({ leaseTransitions: transitions });
    expect(grantOn(lease, 10_000)).toMatchObject({ change: { leaseTransitions: want } });
  });

  test.each([
    { name: 'a preemption', lease: makeLease('x').preferring('a'), want: true },
    { name: 'no preemption when another was preferred', lease: makeLease('x').preferring('b'), want: false },
    { name: 'no preemption if none was preferred', lease: makeLease('x'), want: false },
  ])('is $name', ({ lease, want }) => {
    expect(grantOn(lease, 10_000)).toMatchObject({ change: { grant: { isPreemption: want } } });
  });

  test('the duration comes from the settings', () => {
    const input = makeInput()
      .settings({ leaseDurationSeconds: 25 })
      .sees(undefined, 0)
      .candidates(fresh('a'));
    expect(decideElection(input.build(), makeNow(0)).actions).toMatchObject([
      { grant: { leaseDurationSeconds: 25 } },
    ]);
  });

  test('an expired Lease is granted again to its holder, if that is the best and answers', () => {
    const input = makeInput()
      .sees(makeLease('a'), 0)
      .candidates(makeCandidate('a').seenAt(0).pingedAt(7000).renewedAt(7100), idle('b'));
    const decision = decideElection(input.build(), makeNow(10_000));
    expect(decision.reason).toBe('LeaseExpired');
    expect(describeActions(decision.actions)).toBe(`grant the Lease to a, ${OLDEST}, transition 0`);
  });
});

describe('a holder that releases the Lease (rule 3)', () => {
  test('is not elected again while another can lead, although its last ack still counts', () => {
    const sim = new SimElection().add('a').add('b').run(3000).renewCandidate('a').release('a').run(200);
    expect(sim.lease?.holderIdentity).toBe('b');
  });

  test('is neither waited for nor pinged while another candidate may lead', () => {
    const sim = new SimElection().add('a').add('b', { lastRenewedMsAgo: 60_000 }).run(20_000).release('a');
    expect(sim.decisions.map(({ actions }) => describeActions(actions))).toContain('ping b (election)');
    expect(sim.pingsTo('a')).toBe(0);
    sim.run(100);
    expect(sim.lease?.holderIdentity).toBe('b');
  });

  test('is elected at once if there is no other and it answers after the release', () => {
    const sim = new SimElection().add('a').run(20_000).release('a');
    expect(sim.lease?.holderIdentity).toBe('');
    sim.run(100);
    expect(sim.lease?.holderIdentity).toBe('a');
  });

  test('is not elected on an answer from before the release', () => {
    const released = makeInput()
      .sees(makeLease('a'), 0)
      .sees(makeLease('a').releasedAt(2000), 2000)
      .candidates(makeCandidate('a').seenAt(0).pingedAt(1000).renewedAt(1900));
    expect(describeActions(decideElection(released.build(), makeNow(2000)).actions)).toBe(
      'ping a (election)',
    );
  });

  test('is not elected before it has answered, although it has renewed just before the release', () => {
    const released = makeInput()
      .sees(makeLease('a'), 0)
      .sees(makeLease('a').releasedAt(2000), 2000)
      .candidates(makeCandidate('a').seenAt(0).renewedAt(1900).pingedAt(2000));
    expect(decideElection(released.build(), makeNow(2100))).toMatchObject({
      ...{ reason: 'NoLiveCandidates', actions: [] },
    });
  });

  test('is not pinged again for electionDuration after it released a grant without a renewal', () => {
    const sim = new SimElection().add('a').run(20_000).release('a').run(150);
    expect(sim.lease?.holderIdentity).toBe('a');
    const pings = sim.release('a').pingsTo('a');
    sim.run(4999);
    expect(sim.lease?.holderIdentity).toBe('');
    expect(sim.pingsTo('a')).toBe(pings);
    sim.run(200);
    expect(sim.lease?.holderIdentity).toBe('a');
  });

  test('is not waited for after such a release if another one has released the Lease, too', () => {
    const sim = new SimElection().add('a').add('b').run(20_000).release('a').run(300);
    expect(sim.lease?.holderIdentity).toBe('b');
    const pings = sim.release('b').pingsTo('b');
    sim.run(300);
    expect(sim.lease?.holderIdentity).toBe('a');
    expect(sim.pingsTo('b')).toBe(pings);
  });

  test('is remembered for two hours with its last release', () => {
    const HOURS = 60 * 60_000;
    const releases = [
      { holder: 'a', at: 1000 },
      { holder: 'b', at: 3000 },
      { holder: 'a', at: 5000 },
      { holder: 'c', at: 2 * HOURS + 2999 },
    ];
    let input = makeInput();
    const remembered = releases.map(({ holder, at }) => {
      input = input
        .sees(makeLease(holder).renewedAt(at - 500), at - 500)
        .sees(makeLease().releasedAt(at), at);
      return [...input.build().memory.withdrawals.keys()];
    });
    expect(remembered).toEqual([['a'], ['a', 'b'], ['b', 'a'], ['b', 'a', 'c']]);
    const later = input
      .sees(makeLease('d').renewedAt(2 * HOURS + 4000), 2 * HOURS + 4000)
      .sees(makeLease().releasedAt(2 * HOURS + 4500), 2 * HOURS + 4500);
    expect([...later.build().memory.withdrawals]).toEqual([
      ['a', 5000],
      ['c', 2 * HOURS + 2999],
      ['d', 2 * HOURS + 4500],
    ]);
  });

  test('takes part like any other after electionDuration', () => {
    const released = makeInput()
      .sees(makeLease('a'), 0)
      .sees(makeLease('a').releasedAt(2000), 2000)
      .candidates(
        makeCandidate('a').seenAt(0).pingedAt(2000).renewedAt(2100),
        idle('b').pingedAt(2000).renewedAt(2100),
      );
    const holderAt = (at: number) => describeActions(decideElection(released.build(), makeNow(at)).actions);
    expect(holderAt(6999)).toBe(`grant the Lease to b, ${OLDEST}, transition 1`);
    expect(holderAt(7000)).toBe(`grant the Lease to a, ${OLDEST}, transition 1`);
  });
});

describe('a candidate that renews no grants (rule 7)', () => {
  const holdersIn = (sim: SimElection) =>
    sim.decisions.flatMap(({ actions }) =>
      actions.flatMap((action) => (/(?:to|for) (\w+),/.exec(describeActions([action])) ?? []).slice(1)),
    );

  test('loses the Lease after 5 s, to any other that can lead', () => {
    const sim = new SimElection().add('zombie', { emulation: '1.30.0', elector: 'none' }).add('b');
    sim.run(4999);
    expect(holdersIn(sim)).toEqual(['zombie']);
    sim.run(1);
    expect(holdersIn(sim)).toEqual(['zombie', 'b']);
    sim.run(2000);
    expect(sim.believers).toEqual(['b']);
  });

  test('loses the Lease at once after two expired grants, to one that is back', () => {
    const sim = new SimElection()
      .add('zombie', { emulation: '1.30.0', elector: 'none' })
      .add('b')
      .crash('b')
      .run(21_000);
    expect(holdersIn(sim)).toEqual(['zombie', 'zombie', 'zombie']);
    expect(sim.recover('b').lease?.holderIdentity).toBe('b');
  });

  test('is held back with doubling backoff, in any order of answer and watch', () => {
    for (const isWatchFirst of [false, true]) {
      const sim = new SimElection({ isWatchFirst })
        .add('zombie', { emulation: '1.30.0', elector: 'none' })
        .add('b')
        .run(6000);
      const lastLapse = () => sim.memory.lapses.get('zombie')?.lastAt ?? 0;
      const lapses = [lastLapse()];
      expect(lapses).toEqual([5000]);
      for (let second = 0; second < 1800; second++) {
        sim.run(1000);
        if (lastLapse() !== lapses.at(-1)) lapses.push(lastLapse());
      }
      const gaps = lapses.slice(1).map((at, index) => at - (lapses[index] ?? 0));
      expect(gaps.length).toBeGreaterThanOrEqual(5);
      // In addition to the backoff: the ping, the time until b stops renewing, and the wait for the answer: at most
      // 0.1, 15 and 5 s.
      for (const [index, gap] of gaps.entries()) {
        const heldBackMs = Math.min(20_000 * 2 ** index, 600_000);
        expect(gap).toBeGreaterThanOrEqual(heldBackMs);
        expect(gap).toBeLessThanOrEqual(heldBackMs + 20_100);
      }
      expect(sim.violations).toEqual([]);
    }
  });

  test('still gets it while no other candidate can lead', () => {
    const sim = new SimElection().add('zombie', { elector: 'none' }).run(120_000);
    expect(sim.lease?.holderIdentity).toBe('zombie');
    sim.add('b').run(11_000);
    expect(sim.lease?.holderIdentity).toBe('b');
  });

  test('is not held back any more after its first renewal', () => {
    const sim = new SimElection().add('a', { looksAtMs: 11_000 }).run(12_000);
    expect(sim.memory.lapses.has('a')).toBe(false);
    expect(sim.believers).toEqual(['a']);
  });

  test.each([
    { name: 'not before its second grant has expired', lapses: 1, at: 9999, want: undefined },
    { name: 'for twice the duration from then on', lapses: 1, at: 10_000, want: 30_000 },
    { name: 'not when its first one has', lapses: 0, at: 10_000, want: undefined },
    {
      name: 'but if a leader had to yield for it',
      lapses: 0,
      isPreemption: true,
      at: 10_000,
      want: 30_000,
    },
    { name: 'for longer when it is the third', lapses: 2, at: 10_000, want: 50_000 },
    { name: 'not because of another’s expired grant', lapses: 1, holder: 'b', at: 10_000, want: undefined },
    { name: 'not when it has led since', lapses: 1, isRenewed: true, at: 10_000, want: undefined },
  ])('is held back $name', ({ lapses, holder = 'a', isPreemption = false, isRenewed = false, at, want }) => {
    const input = makeInput()
      .remembers({
        lapses: lapses > 0 ? new Map([['a', { count: lapses, lastAt: 0 }]]) : new Map(),
        unrenewedGrant: isRenewed ? undefined : { ...makeUnrenewedGrant(holder), isPreemption },
      })
      .sees(makeLease(holder), 0);
    expect(lapsedUntil(input.build(), 'a', at)).toBe(want);
  });

  test('is forgotten in time, so that memory does not grow while one crashes under a new name each time', () => {
    let memory = noMemory;
    for (let life = 0; life < 1000; life++) {
      const former = `crasher-${life}`;
      const rest = { renewTime: wallAt(0), leaseDurationSeconds: 10, hasFormerLapsed: true };
      const grant = { former, ...rest, revises: undefined, isPreemption: false };
      memory = recordGrant(memory, { holder: `crasher-${life + 1}`, ...grant }, '1', life * 60_000);
    }
    expect(memory.lapses.size).toBeLessThan(20);
    expect(memory.lapses.has('crasher-999')).toBe(true);
  });

  test('has not let a grant expire if the Lease was deleted or released', () => {
    const deleted = new SimElection().add('a', { elector: 'none' }).run(5000).deleteLease().run(100);
    expect(deleted.lease?.holderIdentity).toBe('a');
    expect(deleted.memory.lapses.size).toBe(0);
    const released = new SimElection().add('a', { elector: 'none' }).run(5000).release('a').run(10_000);
    expect(released.memory.lapses.size).toBe(0);
  });
});

describe('the last resort if no other candidate can lead (rules 3 and 7)', () => {
  const missing = makeInput().sees(undefined, 0);
  const lapses = new Map([['lapsed', { count: 2, lastAt: 0 }]]);

  test('is not one that is being deleted, although it has answered', () => {
    const released = makeInput()
      .sees(makeLease('a'), 0)
      .sees(makeLease('a').releasedAt(2000), 2000)
      .candidates(
        makeCandidate('a').deleting().seenAt(0).pingedAt(2000).renewedAt(2100),
        idle('silent').pingedAt(-6000),
      );
    const decision = decideElection(released.build(), makeNow(2200));
    expect(decision.reason).toBe('NoLiveCandidates');
    expect(describeActions(decision.actions)).toBe('ping silent (revival)');
  });

  test('takes no part, and is not pinged for it, while it is held back', () => {
    const input = missing.remembers({ lapses }).candidates(better('lapsed'), idle('other'));
    const decision = decideElection(input.build(), makeNow(1));
    expect(decision.standings.map(({ state }) => state)).toEqual(['Lapsed', 'Idle']);
    expect(describeActions(decision.actions)).toBe('ping other (election); ping lapsed (revival)');
  });

  test.each([
    {
      name: 'one that is held back and known to be alive',
      observed: better('lapsed').renewedAt(100),
      want: 'ping other (election)',
    },
    {
      name: 'one that has not had the time to answer its last ping',
      observed: better('silent').pingedAt(-9000).pingedAt(-100),
      want: 'ping other (election)',
    },
    {
      name: 'but one whose time is over',
      observed: better('silent').pingedAt(-9000),
      want: 'ping other (election); ping silent (revival)',
    },
  ])('is not pinged in a round of pings to silent candidates: $name', ({ observed, want }) => {
    const input = missing.remembers({ lapses }).candidates(observed, idle('other'));
    expect(describeActions(decideElection(input.build(), makeNow(200)).actions)).toBe(want);
  });
});

test('a Lease that its holder has released goes to a candidate at once, although that holder removed our fields', () => {
  const input = makeInput()
    .sees(makeLease(''), 0)
    .remembers({ ignoredWrites: { count: 5, lastAt: 0 } })
    .candidates(fresh('a'));
  expect(describeActions(decideElection(input.build(), makeNow(1)).actions)).toBe(
    `grant the Lease to a, ${OLDEST}, transition 1`,
  );
});

const alien = makeCandidate('alien').versions('1.40.0').wants('example.com/x').seenAt(0);
test.each([
  { name: 'an answer is due that may change it', observed: alien.pingedAt(500), want: 5500 },
  { name: 'one is not fresh any more that would change it', observed: alien.renewedAt(600), want: 5600 },
])('a Lease with a third-party strategy that the server drops is decided again when $name', (row) => {
  const input = makeInput()
    .sees(makeLease(''), 0)
    .remembers({ ignoredWrites: { count: 1, lastAt: 0 } })
    .candidates(row.observed);
  const decision = decideElection(input.build(), makeNow(1000));
  expect(decision).toMatchObject({ reason: 'WritesIgnored', actions: [] });
  expect(decision.requeue).toEqual({ kind: 'at', time: row.want });
});

test('an expired Lease does not get a third-party strategy again, although its last holder may ask for another', () => {
  const named = makeInput()
    .sees(makeLease('x').lasting(3).strategy('example.com/x'), 0)
    .candidates(
      makeCandidate('x').wants(OLDEST).seenAt(0),
      makeCandidate('y').wants('example.com/x').seenAt(0).pingedAt(2000).renewedAt(2100),
    );
  const decision = decideElection(named.build(), makeNow(3000));
  expect(decision).toMatchObject({ reason: 'ThirdPartyStrategy', actions: [] });
});

test('a Lease that is reserved for its last holder is decided again when a third party may decide', () => {
  const input = makeInput()
    .sees(makeLease('x'), 0)
    .sees(makeLease(''), 500)
    .candidates(alien.pingedAt(-100).renewedAt(-50));
  const { reason, requeue } = decideElection(input.build(), makeNow(1000));
  expect([reason, requeue]).toEqual(['AwaitingFormerHolder', { kind: 'at', time: 9950 }]);
  const idleOnly = input.with({ candidates: [alien.build()] });
  expect(decideElection(idleOnly.build(), makeNow(1000)).requeue).toEqual({ kind: 'at', time: 10_000 });
});

test('a reserved Lease does not get a third-party strategy, although only its last holder, which is late, asks for another', () => {
  // `former` may lead until 30 s. `late` took the Lease at 500 ms, until 10.5 s.
  const input = makeInput()
    .sees(makeLease('former').lasting(30), 0)
    .sees(makeLease('late').renewedAt(500).with({ leaseTransitions: 1 }), 500)
    .candidates(
      makeCandidate('late').versions('1.40.0').wants(OLDEST).seenAt(0),
      alien.pingedAt(9000).renewedAt(9500),
    );
  const decision = decideElection(input.build(), makeNow(11_000));
  expect(decision).toMatchObject({ reason: 'AwaitingFormerHolder', actions: [] });
});

test('the former holder of a reserved Lease is pinged, although the live candidates ask for a third-party strategy', () => {
  const input = makeInput()
    .sees(makeLease('former'), 0)
    .sees(undefined, 500)
    .candidates(
      makeCandidate('former').versions('1.41.0').wants(OLDEST).seenAt(0),
      alien.pingedAt(-100).renewedAt(-50),
    );
  const decision = decideElection(input.build(), makeNow(1000));
  expect(decision.reason).toBe('AwaitingFormerHolder');
  expect(describeActions(decision.actions)).toBe('ping former (election)');
});

describe('a Lease that is reserved for its former holder (rule 8)', () => {
  // `x` may lead until 16 s.
  const deleted = makeInput().sees(makeLease('x').lasting(15), 0).sees(undefined, 1000);

  test.each([
    {
      name: 'while it has not answered, although it has renewed just before the deletion',
      x: makeCandidate('x').seenAt(0).renewedAt(900).pingedAt(1000),
      at: 1500,
    },
    {
      name: 'after an answer of more than 10 s ago',
      x: makeCandidate('x').seenAt(0).pingedAt(1000).renewedAt(1100),
      at: 11_100,
    },
  ])('does not go back to it $name', ({ x, at }) => {
    const decision = decideElection(deleted.candidates(x).build(), makeNow(at));
    expect(decision).toMatchObject({ reason: 'AwaitingFormerHolder', actions: [] });
  });

  test('goes back to it as soon as no other former holder may lead', () => {
    // `x` has taken the Lease from `c` at 5 s, and may lead until 23 s, and `c` until 20 s.
    const taken = makeInput()
      .sees(makeLease('c').lasting(15), 0)
      .sees(makeLease('x').lasting(15).renewedAt(5000).with({ resourceVersion: '2' }), 5000)
      .sees(undefined, 8000)
      .candidates(makeCandidate('x').seenAt(0).pingedAt(15_000).renewedAt(15_100));
    expect(decideElection(taken.build(), makeNow(19_999))).toMatchObject({
      ...{ reason: 'AwaitingFormerHolder', actions: [], requeue: { kind: 'at', time: 20_000 } },
    });
    expect(decideElection(taken.build(), makeNow(20_000)).reason).toBe('FormerHolderAnswered');
  });

  test('is decided again when a better candidate is no longer held back, so that its answer comes in time', () => {
    const live = makeCandidate('b').seenAt(0).pingedAt(11_100).renewedAt(11_200);
    const lapsed = makeCandidate('l').emulating('1.30.0').seenAt(0);
    const input = deleted
      .remembers({ lapses: new Map([['l', { count: 2, lastAt: -7000 }]]) })
      .candidates(live, lapsed);
    expect(decideElection(input.build(), makeNow(11_500))).toMatchObject({
      ...{ reason: 'AwaitingFormerHolder', actions: [], requeue: { kind: 'at', time: 13_000 } },
    });
    expect(decideElection(input.build(), makeNow(13_000)).actions).toMatchObject([{ name: 'l' }]);
  });

  test('causes pings only to other candidates at its end: the former holder was asked before', () => {
    // It cannot be elected, but it has a vote about the strategy.
    const x = makeCandidate('x').versions('1.40.0', 'none').seenAt(0).pingedAt(1000).renewedAt(1100);
    const input = deleted.candidates(x, idle('b'));
    const actionsAt = (at: number) => describeActions(decideElection(input.build(), makeNow(at)).actions);
    expect(actionsAt(10_999)).toBe('');
    expect(actionsAt(11_000)).toBe('ping b (expiry)');
  });
});
