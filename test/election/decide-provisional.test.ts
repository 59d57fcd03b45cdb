import { describe, expect, test } from 'vitest';
import {
  observeCandidate,
  recordPing,
  recordPingDelivered,
} from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import {
  defaultSettings,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

// client-go's elector reads at its start, before the Lease exists, and then after 2 s at the earliest.
const FIRST_LOOK = { looksAtMs: 2000 };

function writesOf(sim: SimElection): readonly string[] {
  return sim.decisions.flatMap(({ actions }) =>
    actions
      .filter(({ kind }) => kind === 'CreateLease' || kind === 'UpdateLease')
      .map((action) => describeActions([action])),
  );
}

describe('a grant that its holder has not renewed yet (rule 12)', () => {
  test.each([
    { name: 'by version', better: { emulation: '1.30.0' } },
    { name: 'by binaryVersion', better: { binary: '1.35.0', emulation: '1.35.0' } },
  ])('goes to a better candidate at once: $name', ({ better }) => {
    for (const isWatchFirst of [false, true]) {
      const sim = new SimElection({ isWatchFirst }).add('first', FIRST_LOOK).run(200);
      sim.add('second', { ...FIRST_LOOK, ...better });
      expect(sim.lease).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
      expect(sim.lease?.preferredHolder).toBeUndefined();
      sim.run(2000);
      expect(sim.believers).toEqual(['second']);
      expect(writesOf(sim)).toHaveLength(2);
    }
  });

  test('also goes to an older one of equal version, because no leader has to yield', () => {
    const sim = new SimElection().add('first', { elector: 'none' }).run(4000);
    expect(sim.decide().reason).toBe('LeaderOptimal');
    const older = sim.input.candidates.map(({ candidate, observation }) => ({
      candidate: { ...candidate, name: 'a', uid: 'a', creationTimestamp: 0n },
      observation: { ...observation, uid: 'a' },
    }));
    const both = { ...sim.input, candidates: [...sim.input.candidates, ...older] };
    const { reason, actions } = decideElection(both, makeNow(4000));
    expect([reason, describeActions(actions)]).toEqual([
      'GrantRevised',
      'grant the Lease to a, OldestEmulationVersion, transition 1',
    ]);
  });

  test('is not revised after its renewal: then the better candidate is preferred', () => {
    const sim = new SimElection().add('first').run(1000).add('second', { emulation: '1.30.0' }).run(100);
    expect(sim.lease).toMatchObject({ holderIdentity: 'first', preferredHolder: 'second' });
  });

  test('goes to another at once when its holder is gone', () => {
    const sim = new SimElection().add('a', FIRST_LOOK).add('b', FIRST_LOOK).run(500).remove('a');
    expect(sim.lease?.holderIdentity).toBe('b');
    sim.run(3000);
    expect(sim.believers).toEqual(['b']);
  });

  test('goes to another at once when its holder, which had just released the Lease, got it back because there was no other', () => {
    const sim = new SimElection().add('a', { emulation: '1.30.0' }).run(600).release('a').run(100);
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.add('b');
    expect(sim.lease?.holderIdentity).toBe('b');
    sim.run(3000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test('goes to another at once when its holder, which had let two grants expire, got it because there was no other', () => {
    const sim = new SimElection().add('idler', { elector: 'none', emulation: '1.30.0' }).run(25_000);
    expect(sim.memory.lapses.get('idler')?.count).toBeGreaterThanOrEqual(2);
    expect(sim.lease?.holderIdentity).toBe('idler');
    sim.add('b');
    expect(sim.lease?.holderIdentity).toBe('b');
    sim.run(3000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test.each([
    { leaseDurationSeconds: 10, seconds: 5 },
    { leaseDurationSeconds: 60, seconds: 30 },
  ])(
    'of $leaseDurationSeconds s goes to another after its holder’s program has died: $seconds s after the server’s answer',
    ({ leaseDurationSeconds, seconds }) => {
      const sim = new SimElection({ settings: { leaseDurationSeconds } })
        .add('a', { ...FIRST_LOOK, emulation: '1.30.0' })
        .add('b', FIRST_LOOK)
        .run(500)
        .crash('a')
        .run(seconds * 1000 - 501);
      expect(sim.lease?.holderIdentity).toBe('a');
      expect(sim.run(1).lease?.holderIdentity).toBe('b');
      expect(sim.run(3000).believers).toEqual(['b']);
    },
  );

  test('causes pings to silent candidates, too, after its holder has not answered', () => {
    const input = makeInput()
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a') })
      .sees(makeLease('a').lasting(60), 0)
      .candidates(
        makeCandidate('a').seenAt(0).pingedAt(5000, 'expiry'),
        makeCandidate('silent').seenAt(0).pingedAt(-60_000),
      );
    const decisionAt = (at: number) => decideElection(input.build(), makeNow(at));
    expect(describeActions(decisionAt(9999).actions)).toBe('');
    expect(decisionAt(9999).requeue).toEqual({ kind: 'at', time: 10_000 });
    expect(describeActions(decisionAt(10_000).actions)).toContain('silent');
  });

  test('waits if it was revised once already, so that three writes are enough for all candidates that appear within 2 s', () => {
    const sim = new SimElection().add('v6', { ...FIRST_LOOK, emulation: '1.36.0' });
    for (const minor of [35, 34, 33, 32, 31]) {
      sim.run(390).add(`v${minor}`, { ...FIRST_LOOK, emulation: `1.${minor}.0` });
    }
    expect(sim.decide().reason).toBe('RevisionPending');
    sim.run(10_000);
    expect(sim.believers).toEqual(['v31']);
    expect(writesOf(sim)).toHaveLength(3);
    expect(sim.violations).toEqual([]);
  });

  test('whose holder must answer is decided again as well when another candidate may lead again', () => {
    const input = makeInput()
      .remembers({
        unrenewedGrant: makeUnrenewedGrant('first'),
        // Held back for 20 s.
        lapses: new Map([['lapsed', { count: 2, lastAt: -14_000 }]]),
      })
      .sees(makeLease('first'), 0)
      .candidates(makeCandidate('first').seenAt(0), makeCandidate('lapsed').seenAt(0).renewedAt(5000));
    const { actions, requeue } = decideElection(input.build(), makeNow(5500));
    expect(describeActions(actions)).toBe('ping first (expiry)');
    expect(requeue).toEqual({ kind: 'at', time: 6000 });
    expect(decideElection(input.build(), makeNow(6000)).reason).toBe('GrantRevised');
  });

  const alien = makeCandidate('alien').versions('1.40.0').wants('example.com/x').seenAt(-60_000);
  test.each([
    {
      name: 'a candidate that asks for a third-party strategy is not fresh any more, during a backoff',
      // Answered at -6 s: fresh until 4 s.
      candidates: [makeCandidate('a').seenAt(0), alien.pingedAt(-6500).renewedAt(-6000)],
      better: makeCandidate('better').emulating('1.30.0').seenAt(0).renewedAt(0),
      memory: { ignoredWrites: { count: 1, lastAt: 0 } },
      strategy: OLDEST,
      want: ['WritesIgnored', 4000, 'GrantRevised'],
    },
    {
      name: 'its holder may be silent, under a third-party strategy',
      candidates: [makeCandidate('a').wants('example.com/x').seenAt(-60_000).pingedAt(-1000)],
      memory: {},
      strategy: 'example.com/x',
      want: ['ThirdPartyStrategy', 4000, 'NoLiveCandidates'],
    },
  ])('is decided again when $name', ({ candidates, better, memory, strategy, want }) => {
    const input = makeInput()
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a') })
      .sees(makeLease('a').strategy(strategy), 0)
      .remembers(memory)
      .candidates(...candidates, ...(better ? [better] : []))
      .build();
    const decision = decideElection(input, makeNow(1));
    expect(decision.actions).toEqual([]);
    const [reason, time = 0, next] = want;
    expect(decision).toMatchObject({ reason, requeue: { kind: 'at', time } });
    expect(decideElection(input, makeNow(Number(time))).reason).toBe(next);
  });

  test.each([
    { name: 'the first at once', count: 1, decidedAt: 0, want: 0 },
    { name: 'the second 2 s after the first grant', count: 2, decidedAt: 1000, want: 2000 },
    { name: 'or 1.6 s after the first revision, if that is earlier', count: 2, decidedAt: 200, want: 1800 },
    { name: 'and 300 ms after that at the earliest', count: 2, decidedAt: 1900, want: 2200 },
    { name: 'each further one 300 ms after the last', count: 3, decidedAt: 1650, want: 1950 },
  ])('is revised once it is time: $name', ({ count, decidedAt, want }) => {
    const input = makeInput()
      .remembers({
        unrenewedGrant: makeUnrenewedGrant('first'),
        grantSeries: { count, since: 0 },
        decidedAt,
      })
      .sees(makeLease('first'), 0)
      .candidates(
        makeCandidate('first').seenAt(0).renewedAt(decidedAt),
        makeCandidate('better').emulating('1.30.0').seenAt(0).renewedAt(decidedAt),
      )
      .build();
    const at = (moment: number) => decideElection(input, makeNow(moment));
    if (want > 0) {
      expect(at(want - 1)).toMatchObject({ reason: 'RevisionPending', requeue: { time: want } });
    }
    expect(at(want).reason).toBe('GrantRevised');
  });

  test.each([
    { name: 'not within 5 s', a: makeCandidate('a').seenAt(0), at: 4999, want: '', wantAt: 5000 },
    { name: 'then', a: makeCandidate('a').seenAt(0), at: 5000, want: 'ping a (expiry)' },
    {
      name: 'not when it is known to be alive',
      a: makeCandidate('a').seenAt(0).renewedAt(1000),
      at: 5000,
      want: '',
    },
    {
      name: 'again, if it was pinged before',
      a: makeCandidate('a').seenAt(0).pingedAt(-60_000).renewedAt(-59_000),
      at: 5000,
      want: 'ping a (expiry)',
    },
    {
      name: 'once',
      a: makeCandidate('a').seenAt(0).pingedAt(5000, 'expiry'),
      at: 9600,
      want: '',
      wantAt: 10_000,
    },
  ])(
    'causes a ping to its holder if that may be dead, and to others only before the ping to it: $name',
    ({ a, at, want, wantAt }) => {
      const input = makeInput()
        .remembers({ unrenewedGrant: makeUnrenewedGrant('a') })
        .sees(makeLease('a').lasting(60), 0)
        .candidates(a, makeCandidate('b').versions('1.37.0').seenAt(0).pingedAt(4500, 'expiry'));
      const { actions, requeue } = decideElection(input.build(), makeNow(at));
      expect(describeActions(actions)).toBe(want);
      if (wantAt !== undefined) expect(requeue).toEqual({ kind: 'at', time: wantAt });
    },
  );

  test.each([
    { name: 'the time for the answer of another candidate is over', askingSince: undefined, want: 10_500 },
    { name: 'the next candidates are to be pinged', askingSince: 5500, want: 6500 },
  ])('is decided again after its time limit when $name', ({ askingSince, want }) => {
    const input = makeInput()
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a'), askingSince })
      .sees(makeLease('a').lasting(60), 0)
      .candidates(
        makeCandidate('a').seenAt(0).renewedAt(5800),
        makeCandidate('b').versions('1.37.0').seenAt(0).pingedAt(5500, 'expiry'),
      );
    expect(decideElection(input.build(), makeNow(6000))).toMatchObject({
      ...{ reason: 'LeaderOptimal', actions: [], isAsking: true },
      requeue: { kind: 'at', time: want },
    });
  });

  test('is not granted again and again to a fresh holder whose last ping the server refused', () => {
    // The refused ping counts as sent. The renewal is no answer, because the object has only an earlier pingTime.
    const { candidate, observation } = makeCandidate('a')
      .with({ pingTime: wallAt(-30_000) })
      .seenAt(-20_000)
      .build();
    const pinged = recordPing(observation, 'election', -19_000, defaultSettings, wallAt(-19_000));
    const refused = recordPingDelivered(pinged, -19_000, -19_000);
    const renewed = { ...candidate, renewTime: wallAt(-4000) };
    const fresh = observeCandidate(refused, renewed, makeNow(-4000), defaultSettings);
    const input = makeInput()
      .remembers({ unrenewedGrant: makeUnrenewedGrant('a') })
      .sees(makeLease('a'), 0)
      .with({ candidates: [{ candidate: renewed, observation: fresh }] })
      .build();
    expect(decideElection(input, makeNow(500))).toMatchObject({
      ...{ tenure: { kind: 'held' }, actions: [] },
      requeue: { kind: 'at', time: 1000 },
    });
    // As soon as it is not fresh any more, the Lease is vacant.
    expect(decideElection(input, makeNow(1000)).tenure).toMatchObject({ need: 'GrantRevised' });
  });

  test('leaves nothing behind when it was revised: the new holder has a successor at once when it releases', () => {
    for (const isWatchFirst of [false, true]) {
      const sim = new SimElection({ isWatchFirst })
        .add('first', FIRST_LOOK)
        .run(200)
        .add('second', { ...FIRST_LOOK, emulation: '1.30.0' })
        .run(3000)
        .stopCleanly('second')
        .run(200);
      expect(sim.lease?.holderIdentity).toBe('first');
      expect(sim.memory.lapses.size).toBe(0);
    }
  });

  test('is a lapse if it is replaced that late, and does not cause doubt about a later release', () => {
    const sim = new SimElection().add('idler', { elector: 'none', emulation: '1.30.0' }).add('b').run(6600);
    expect(sim.believers).toEqual(['b']);
    expect(sim.memory.lapses.get('idler')).toEqual({ count: 2, lastAt: 5000 });
    sim.add('c').run(1000).stopCleanly('b').run(200);
    expect(sim.lease?.holderIdentity).toBe('c');
  });

  test('counts as one lapse if it expired without another candidate', () => {
    const sim = new SimElection().add('idler', { elector: 'none' }).run(10_000);
    expect(sim.memory.lapses.get('idler')).toEqual({ count: 1, lastAt: 10_000 });
    expect(sim.memory.lapsesOfLease).toEqual({ count: 1, lastAt: 10_000 });
  });

  test('is not revised while its holder may still trust an earlier record (rule 8)', () => {
    const sim = new SimElection().add('a', { looksAtMs: 1999 }).run(4000).deleteLease().run(150);
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.add('better', { emulation: '1.30.0' });
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.run(60_000);
    expect(sim.violations).toEqual([]);
  });
});
