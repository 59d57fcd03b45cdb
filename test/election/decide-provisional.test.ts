import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { makeNow } from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

// client-go's elector looks at its start, before there is a Lease, and then after 2 s at the earliest.
const FIRST_LOOK = { looksAtMs: 2000 };

function writesOf(sim: SimElection): readonly string[] {
  return sim.decisions.flatMap(({ actions }) =>
    actions
      .filter(({ kind }) => kind === 'CreateLease' || kind === 'UpdateLease')
      .map((action) => describeActions([action])),
  );
}

describe('a grant that nobody has taken up yet (rule 12)', () => {
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

  test('goes to an older one of equal version too, as nobody has to give way', () => {
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

  test('is not taken back once it was renewed: then the better candidate is preferred', () => {
    const sim = new SimElection().add('first').run(1000).add('second', { emulation: '1.30.0' }).run(100);
    expect(sim.lease).toMatchObject({ holderIdentity: 'first', preferredHolder: 'second' });
  });

  test('goes to another at once when its holder is gone', () => {
    const sim = new SimElection().add('a', FIRST_LOOK).add('b', FIRST_LOOK).run(500).remove('a');
    expect(sim.lease?.holderIdentity).toBe('b');
    sim.run(3000);
    expect(sim.believers).toEqual(['b']);
  });

  test('goes to another once its holder has not answered', () => {
    const sim = new SimElection({ settings: { leaseDurationSeconds: 60 } })
      .add('a', { ...FIRST_LOOK, emulation: '1.30.0' })
      .add('b', FIRST_LOOK)
      .run(500)
      .crash('a')
      .run(11_000);
    expect(sim.lease?.holderIdentity).toBe('b');
  });

  test('waits, when it was revised once already, so that three writes do for all that come within 2 s', () => {
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

  test('leaves nothing behind when it was revised: the new holder is followed at once when it releases', () => {
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

  test('counts as a lapse when it ran out, and leaves no doubt about a later release', () => {
    const sim = new SimElection().add('idler', { elector: 'none', emulation: '1.30.0' }).add('b').run(20_600);
    expect(sim.believers).toEqual(['b']);
    expect(sim.memory.lapses.get('idler')?.count).toBe(2);
    sim.add('c').run(1000).stopCleanly('b').run(200);
    expect(sim.lease?.holderIdentity).not.toBe('');
  });

  test('is not revised while its holder may still believe in an earlier record (rule 8)', () => {
    const sim = new SimElection().add('a', { looksAtMs: 1999 }).run(4000).deleteLease().run(150);
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.add('better', { emulation: '1.30.0' });
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.run(60_000);
    expect(sim.violations).toEqual([]);
  });
});

describe('a Lease with more candidates than anybody should ask (rules 3 and 6)', () => {
  const silent = {
    answersAfterMs: Number.POSITIVE_INFINITY,
    lastRenewedMsAgo: 60_000,
    renewsByItself: false,
  };

  test('asks two at once, and twice as many with every second', () => {
    const sim = new SimElection();
    for (let index = 0; index < 40; index++) sim.add(`c${index}`, silent);
    const asked = () => sim.pings.length;
    expect(asked()).toBe(2);
    const counts = [1, 2, 3, 4].map(() => {
      sim.run(1000);
      return asked();
    });
    expect(counts).toEqual([4, 8, 16, 32]);
  });

  test('asks two when two answer', () => {
    const sim = new SimElection();
    for (let index = 0; index < 40; index++) sim.add(`c${index}`, { lastRenewedMsAgo: 60_000 });
    sim.run(10_000);
    expect(sim.pings).toHaveLength(2);
    expect(sim.believers).toHaveLength(1);
  });

  test('asks those first who were heard of last: a program that was restarted leaves a silent twin behind', () => {
    const sim = new SimElection();
    sim.usurp(4);
    for (const minutes of [4, 3, 2])
      sim.add(`ghost-${minutes}`, { ...silent, lastRenewedMsAgo: minutes * 60_000 });
    sim.add('living', { lastRenewedMsAgo: 10_000 }).run(4000);
    expect(sim.lease?.holderIdentity).toBe('living');
  });

  test('asks silent ones in turn, ever more rarely, while nobody leads', () => {
    const sim = new SimElection();
    for (let index = 0; index < 200; index++) sim.add(`c${index}`, silent);
    sim.run(10 * 60_000);
    expect(new Set(sim.pings.map(({ name }) => name)).size).toBe(200);
    const roundTimes = [...new Set(sim.pings.map(({ at }) => at / 1000))].filter((at) => at >= 10);
    expect(roundTimes.slice(0, 6)).toEqual([15, 35, 75, 135, 195, 255]);
    const before = sim.pings.length;
    sim.run(5 * 60_000);
    const pings = sim.pings.slice(before);
    const perRound = [...Map.groupBy(pings, ({ at }) => at).values()].map(({ length }) => length);
    expect(perRound).toEqual([64, 64, 64, 64, 64]);
    const perCandidate = [...Map.groupBy(pings, ({ name }) => name).values()].map(({ length }) => length);
    expect(perCandidate).toHaveLength(200);
    expect(Math.max(...perCandidate)).toBe(2);
  });
});

describe('a leaseName that no Lease can have', () => {
  test.each(['Upper', 'under_score', '-a', 'a-', '.a', 'a..b', 'a'.repeat(254), ''])(
    '%s is left alone',
    (name) => {
      const sim = new SimElection().add('a');
      const { reason, actions } = decideElection({ ...sim.input, name, lease: undefined }, makeNow(10));
      expect(reason).toBe('InvalidLeaseName');
      expect(actions).toEqual([]);
    },
  );

  test.each(['a', 'a-b.c', '0', 'a'.repeat(253)])('%s is one that a Lease can have', (name) => {
    const sim = new SimElection().add('a');
    expect(decideElection({ ...sim.input, name, lease: undefined }, makeNow(10)).reason).not.toBe(
      'InvalidLeaseName',
    );
  });
});
