import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { makeCandidate, makeInput, makeLease, makeNow } from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const THEIRS = 'example.com/theirs';

describe('a strategy of a third-party controller (rule 4)', () => {
  const theirs = makeCandidate('a').wants(THEIRS).renewedAt(0).seenAt(0);

  test.each([
    {
      name: 'the Lease is created with it, without a holder',
      lease: undefined,
      want: `create the Lease for nobody, ${THEIRS}`,
    },
    {
      name: 'a Lease without holder is given its name',
      lease: makeLease(''),
      want: `name the strategy ${THEIRS}`,
    },
    {
      name: 'a Lease with a holder is given its name',
      lease: makeLease('x'),
      want: `name the strategy ${THEIRS}`,
    },
    { name: 'a Lease that names it is left alone', lease: makeLease('').strategy(THEIRS), want: '' },
    { name: 'a held Lease that names it is left alone', lease: makeLease('x').strategy(THEIRS), want: '' },
    {
      name: 'another’s preferredHolder is left alone',
      lease: makeLease('x').strategy(THEIRS).preferring('a', false),
      want: '',
    },
    {
      name: 'even one that is no candidate',
      lease: makeLease('x').strategy(THEIRS).preferring('z', false),
      want: '',
    },
    {
      name: 'and one that is the holder',
      lease: makeLease('a').strategy(THEIRS).preferring('a', false),
      want: '',
    },
    {
      name: 'an absent holderIdentity is mended',
      lease: makeLease().heldBy(undefined).strategy(THEIRS),
      want: `name the strategy ${THEIRS}`,
    },
    {
      name: 'our preferredHolder is removed',
      lease: makeLease('x').strategy(THEIRS).preferring('a'),
      want: `name the strategy ${THEIRS}`,
    },
  ])('$name', ({ lease, want }) => {
    const decision = decideElection(makeInput().sees(lease, 0).candidates(theirs).build(), makeNow(1));
    expect(decision.reason).toBe('ThirdPartyStrategy');
    expect(describeActions(decision.actions)).toBe(want);
  });

  const ours = makeCandidate('ours').seenAt(0);
  test.each([
    {
      name: 'a candidate for that strategy has not answered in time',
      lease: makeLease().strategy(THEIRS),
      better: makeCandidate('z').versions('1.40.0').wants(THEIRS).seenAt(0).pingedAt(1000),
      want: 6000,
    },
    {
      name: 'its holder, which asks for that strategy but is silent, no longer holds it',
      lease: makeLease('z').strategy(THEIRS),
      better: makeCandidate('z').versions('1.40.0').wants(THEIRS).seenAt(0).pingedAt(-9000),
      want: 10_000,
    },
  ])('is decided again when $name', ({ lease, better, want }) => {
    const input = makeInput().sees(lease, 0).candidates(ours, better).build();
    const decision = decideElection(input, makeNow(2000));
    expect(decision).toMatchObject({ reason: 'ThirdPartyStrategy', actions: [] });
    expect(decision.requeue).toEqual({ kind: 'at', time: want });
    expect(decideElection(input, makeNow(want + 1)).reason).not.toBe('ThirdPartyStrategy');
  });

  test('is decided again when a candidate for that strategy is not fresh any more, and when its answer is due', () => {
    const better = makeCandidate('z').versions('1.40.0').wants(THEIRS).renewedAt(0).seenAt(0).pingedAt(1000);
    const input = makeInput().sees(makeLease().strategy(THEIRS), 0).candidates(ours, better).build();
    const nextAt = (at: number) => decideElection(input, makeNow(at)).requeue;
    expect(nextAt(2000)).toEqual({ kind: 'at', time: 5000 });
    expect(nextAt(5000)).toEqual({ kind: 'at', time: 6000 });
    expect(decideElection(input, makeNow(6000)).reason).not.toBe('ThirdPartyStrategy');
  });

  test('writes an empty holderIdentity if the field is missing, and only then (rule 7)', () => {
    const changeOf = (holder: string | undefined) =>
      decideElection(makeInput().sees(makeLease().heldBy(holder), 0).candidates(theirs).build(), makeNow(1))
        .actions;
    expect(changeOf(undefined)).toMatchObject([{ change: { isHolderAbsent: true } }]);
    expect(changeOf('')).toMatchObject([{ change: { isHolderAbsent: false } }]);
    expect(changeOf('x')).toMatchObject([{ change: { isHolderAbsent: false } }]);
  });

  test('after that, there is no action while nothing changes', () => {
    const sim = new SimElection().add('a', { strategy: THEIRS, elector: 'none' }).run(60_000);
    expect(sim.lease).toMatchObject({ holderIdentity: '', strategy: THEIRS });
    expect(sim.actionsApplied).toBe(1);
    sim
      .editLease({
        holderIdentity: 'a',
        leaseDurationSeconds: 10,
        preferredHolder: 'b',
        isPreferredHolderOurs: false,
      })
      .run(60_000);
    expect(sim.actionsApplied).toBe(1);
    expect(sim.lease).toMatchObject({ holderIdentity: 'a', preferredHolder: 'b' });
  });

  test('is written less and less often to a server that drops it and its note (rule 7)', () => {
    const sim = new SimElection();
    sim.isGateOn = false;
    sim.keepsNotes = false;
    sim.add('a', { strategy: THEIRS, elector: 'none' }).run(600_000);
    const times = sim.transcript
      .filter((line) => line.includes('name the strategy'))
      .map((line) => Number.parseFloat(line));
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    // It is pinged to confirm its strategy, which takes 0.1 s.
    expect(gaps.map((gap) => gap.toFixed(1))).toEqual(['30.1', '60.1', '120.1', '240.1']);
    expect(sim.decide().reason).toBe('WritesIgnored');
    expect(sim.lease?.holderIdentity).toBe('');
  });

  test('is replaced when a newer candidate asks for ours', () => {
    const sim = new SimElection()
      .add('a', { strategy: THEIRS })
      .run(1000)
      .add('b', { binary: '1.37.0' })
      .run(1000);
    expect(sim.lease?.holderIdentity).toBe('a');
    expect(sim.lease?.strategy).toBe('OldestEmulationVersion');
  });
});

describe('a strategy conflict (rule 4)', () => {
  const party = (name: string, strategy: string) => ({ name, strategy });
  const parties = [party('a', 'OldestEmulationVersion'), party('b', THEIRS)];
  const inConflict = (sim = new SimElection()) => {
    for (const { name, strategy } of parties)
      sim.add(name, { strategy, lastRenewedMsAgo: 60_000, renewsByItself: false });
    return sim;
  };

  test('leaves the Lease alone, and is reported once for the same parties', () => {
    const sim = inConflict().run(240_000);
    expect(sim.decide().reason).toBe('StrategyConflict');
    expect(sim.lease).toBeUndefined();
    expect(sim.conflictsReported).toBe(1);
    sim.add('c', { strategy: 'example.com/third' }).run(10_000);
    expect(sim.conflictsReported).toBe(2);
  });

  test('pings its parties again with backoff to 60 s while there is no leader', () => {
    const sim = inConflict().run(300_000);
    const times = sim.pingTimesOf('a');
    const gaps = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1000));
    expect(gaps).toEqual([5, 10, 20, 40, 60, 60, 60]);
    expect(sim.pingTimesOf('b')).toEqual(times);
  });

  test('continues to ping, also when its parties renew by themselves at the same moment', () => {
    const sim = inConflict().run(6000);
    const roundAt = 15_000;
    sim
      .run(roundAt - 1 - sim.at)
      .renewCandidate('a')
      .renewCandidate('b')
      .run(1);
    expect(sim.decide().requeue.kind).toBe('at');
    const before = sim.pingsTo('a');
    sim.run(120_000);
    expect(sim.pingsTo('a')).toBeGreaterThan(before);
  });

  test('is checked again although its parties appear long after others were last pinged', () => {
    const input = makeInput()
      .remembers({ rounds: { count: 3, lastAt: -120_000 } })
      .candidates(
        makeCandidate('a').renewedAt(0).seenAt(0),
        makeCandidate('b').wants(THEIRS).renewedAt(0).seenAt(0),
      );
    expect(decideElection(input.build(), makeNow(0))).toMatchObject({
      reason: 'StrategyConflict',
      isRound: true,
      requeue: { kind: 'at', time: 40_000 },
    });
  });

  test('ends as soon as a dead party has not answered, because it is not a party any more', () => {
    const sim = inConflict().run(16_000).crash('b').run(60_000);
    expect(sim.lease?.holderIdentity).toBe('a');
    expect(sim.violations).toEqual([]);
  });

  test('ends at once when a party is gone, or a newer one decides', () => {
    const gone = inConflict().run(16_000).remove('b').run(100);
    expect(gone.lease?.holderIdentity).toBe('a');
    const outvoted = inConflict().run(16_000).add('c', { binary: '1.37.0', emulation: '1.36.0' }).run(100);
    expect(outvoted.lease?.strategy).toBe('OldestEmulationVersion');
  });

  test.each([
    { releasedAt: undefined, reason: 'StrategyConflict' },
    { releasedAt: -4000, reason: 'StrategyConflict' },
    { releasedAt: -3999, reason: 'ThirdPartyStrategy' },
  ])(
    'ignores a candidate that released the Lease less than 5 s ago (at $releasedAt of 1000): $reason',
    (release) => {
      const { releasedAt, reason } = release;
      const input = makeInput()
        .remembers({ withdrawals: new Map(releasedAt === undefined ? [] : [['a', releasedAt]]) })
        .candidates(
          makeCandidate('a').seenAt(0).renewedAt(500),
          makeCandidate('b').wants(THEIRS).seenAt(0).renewedAt(500),
        );
      expect(decideElection(input.build(), makeNow(1000)).reason).toBe(reason);
    },
  );

  test('continues while a party that held the Lease until its expiry is pinged again, because the election waits for it', () => {
    const asked = (name: string, pings: readonly number[]) => {
      const candidate = makeCandidate(name).renewedAt(0);
      const observed = (name === 'a' ? candidate : candidate.wants(THEIRS)).seenAt(0);
      return pings.reduce((sofar, at) => sofar.pingedAt(at), observed);
    };
    const at = (...candidates: readonly ReturnType<typeof asked>[]) =>
      makeInput()
        .sees(makeLease('a').lasting(8), 0)
        .candidates(...candidates);
    const first = at(asked('a', [20_000]).renewedAt(20_100), asked('b', [20_000]).renewedAt(20_100));
    const { reason, conflict } = decideElection(first.build(), makeNow(20_200));
    expect(reason).toBe('StrategyConflict');
    const again = at(
      asked('a', [20_000]).renewedAt(20_100).pingedAt(40_000),
      asked('b', [20_000]).renewedAt(20_100).pingedAt(40_000).renewedAt(40_100),
    ).remembers({ conflict, rounds: { count: 2, lastAt: 40_000 } });
    expect(decideElection(again.build(), makeNow(40_200))).toMatchObject({
      reason: 'AwaitingAcks',
      actions: [],
    });
    expect(decideElection(again.build(), makeNow(46_000))).toMatchObject({ reason: 'ThirdPartyStrategy' });
  });

  test('does not touch a valid holder, and then pings no candidate again', () => {
    const sim = new SimElection()
      .add('a')
      .run(20_000)
      .add('b', { strategy: THEIRS, renewsByItself: false })
      .run(10_000);
    expect(sim.decide().reason).toBe('StrategyConflict');
    const before = sim.pings.length;
    sim.run(120_000);
    expect(sim.pings.length).toBe(before);
    expect(sim.conflictsReported).toBe(1);
    expect(sim.lease).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
    expect(sim.believers).toEqual(['a']);
  });

  test.each([
    { name: '[X] and [Y]', lists: [['OldestEmulationVersion'], [THEIRS]] },
    {
      name: 'a cycle',
      lists: [
        ['OldestEmulationVersion', THEIRS],
        [THEIRS, 'OldestEmulationVersion'],
      ],
    },
  ])('may be one of v1alpha1 lists: $name', ({ lists }) => {
    const sim = new SimElection();
    for (const [index, strategies] of lists.entries()) {
      sim.add(`c${index}`, { strategies, lastRenewedMsAgo: 60_000 });
    }
    sim.run(60_000);
    expect(sim.decide().reason).toBe('StrategyConflict');
    expect(sim.lease).toBeUndefined();
  });
});
