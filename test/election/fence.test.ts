import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { FENCE } from '../../src/election/model.ts';
import { makeCandidate, makeInput, makeLease, makeNow, OLDEST } from '../support/election-builders.ts';
import { SimElection } from '../support/sim-election.ts';

const OLDER = { emulation: '1.30.0' };

/** An API server whose feature gate is off, and a leader, `a`. */
function led(): SimElection {
  const sim = new SimElection();
  sim.isGateOn = false;
  return sim.add('a').run(7000);
}

/** The times of all actions of the coordinator and the programs, in seconds. */
function timesOf(sim: SimElection, text: string): readonly number[] {
  return sim.transcript.filter((line) => line.includes(text)).map((line) => Number.parseFloat(line));
}

describe('a server that drops strategy and preferredHolder (rule 14)', () => {
  test('gets the strategy in a note, after the renewal of the first grant', () => {
    const sim = led();
    expect(sim.lease).toMatchObject({
      holderIdentity: 'a',
      strategy: OLDEST,
      isStrategyNoted: true,
      notes: { strategy: OLDEST },
    });
    expect(sim.decide().reason).toBe('LeaderOptimal');
    const told = (text: string) => sim.transcript.findIndex((line) => line.includes(text));
    expect(told('name the strategy')).toBeGreaterThan(told('a leads'));
    const before = sim.actionsApplied;
    sim.run(120_000);
    expect(sim.actionsApplied).toBe(before);
  });

  test('gets later grants with the note, and a first grant is revised nevertheless', () => {
    const sim = led().stopCleanly('a').add('b').run(400);
    expect(sim.lease).toMatchObject({ holderIdentity: 'b', notes: { strategy: OLDEST } });
    sim.add('c', OLDER).run(400);
    expect(sim.lease).toMatchObject({ holderIdentity: 'c', notes: { strategy: OLDEST } });
    expect(timesOf(sim, 'name the strategy')).toHaveLength(1);
  });

  test('gets the name of a third-party strategy in a note, and then the Lease is left alone', () => {
    const sim = new SimElection();
    sim.isGateOn = false;
    sim.add('a', { strategy: 'x.example/y', elector: 'none' }).run(60_000);
    expect(sim.lease).toMatchObject({ holderIdentity: '', notes: { strategy: 'x.example/y' } });
    expect(sim.decide().reason).toBe('ThirdPartyStrategy');
    expect(sim.actionsApplied).toBe(2);
  });
});

test('a new Lease has the note if the server is known to drop fields (rule 14)', () => {
  const input = makeInput().sees(undefined, 0).candidates(makeCandidate('a').seenAt(0).renewedAt(0)).build();
  const { actions } = decideElection({ ...input, dropsFields: true }, makeNow(1));
  expect(actions).toMatchObject([{ kind: 'CreateLease', notes: { strategy: OLDEST } }]);
});

describe('a holder that does not read notes (rule 14)', () => {
  test('is fenced after it has renewed for two electionDurations, and the better candidate leads after the fence', () => {
    const sim = led().add('b', OLDER);
    sim.run(3000);
    expect(sim.lease).toMatchObject({ preferredHolder: 'b', isPreferredHolderNoted: true });
    expect(sim.decide().reason).toBe('PreemptionPending');
    sim.run(10_000);
    expect(sim.lease).toMatchObject({ holderIdentity: FENCE, leaseDurationSeconds: 15, leaseTransitions: 1 });
    expect(sim.decide().reason).toBe('LeaseFenced');
    sim.run(20_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.lease).toMatchObject({ holderIdentity: 'b', leaseTransitions: 2, preferredHolder: undefined });
    const [preferredAt = 0] = timesOf(sim, 'prefer b');
    const [fencedAt = 0] = timesOf(sim, 'fence the Lease');
    const [grantedAt = 0] = timesOf(sim, 'grant the Lease to b');
    expect(fencedAt - preferredAt).toBeGreaterThanOrEqual(10);
    expect(fencedAt - preferredAt).toBeLessThan(12.1);
    expect(grantedAt - fencedAt).toBeCloseTo(15, 1);
    expect(sim.violations).toEqual([]);
  });

  test.each([
    { name: 'its own duration', before: makeLease('').renewedAt(0), want: 15 },
    // It lost the Lease at 1 s, and may have renewed it right before: until 61 s.
    { name: 'the time of another that may believe', before: makeLease('c').lasting(60), want: 47 },
  ])('is fenced for $name, if that is longer', ({ before, want }) => {
    const noted = (renewedAt: number) =>
      makeLease('a').lasting(15).renewedAt(renewedAt).noting({ preferredHolder: 'b' });
    const input = makeInput()
      .sees(before, 0)
      .sees(noted(1000), 1000)
      .sees(noted(12_000), 12_000)
      .candidates(
        makeCandidate('a').seenAt(0),
        makeCandidate('b').emulating('1.30.0').seenAt(0).pingedAt(11_000, 'preemption').renewedAt(11_100),
      )
      .build();
    expect(decideElection({ ...input, dropsFields: true }, makeNow(14_000)).actions).toMatchObject([
      { change: { kind: 'fence', leaseDurationSeconds: want } },
    ]);
  });

  test('is not fenced because of a change of its Lease that is not a renewal: it may not even run', () => {
    const noted = makeLease('a').lasting(15).renewedAt(1000).noting({ preferredHolder: 'b' });
    const input = makeInput()
      .sees(noted, 1000)
      .sees(noted.lasting(60), 12_000)
      .candidates(
        makeCandidate('a').seenAt(0),
        makeCandidate('b').emulating('1.30.0').seenAt(0).pingedAt(11_000, 'preemption').renewedAt(11_100),
      )
      .build();
    expect(decideElection({ ...input, dropsFields: true }, makeNow(14_000)).reason).toBe('PreemptionPending');
  });

  test('leaves a release by its successor in doubt until two of its durations after the fence, because it may sleep', () => {
    const sim = led().add('b', OLDER).run(29_500);
    expect(sim.believers).toEqual(['b']);
    const [fencedAt = 0] = timesOf(sim, 'fence the Lease');
    const { grant } = sim.decisions
      .flatMap(({ actions }) => actions)
      .flatMap((action) =>
        action.kind === 'UpdateLease' && action.change.kind === 'grant' ? action.change : [],
      )
      .at(-1) ?? { grant: undefined };
    expect(grant).toMatchObject({ holder: 'b', former: 'a', isPreemption: true });
    sim.release('b');
    expect(sim.decide().reason).toBe('AwaitingFormerHolder');
    expect(sim.run(500).lease?.holderIdentity).toBe('b');
    // b has renewed it since then.
    sim.run((fencedAt + 32) * 1000 - sim.at).release('b');
    expect(sim.decide().reason).not.toBe('AwaitingFormerHolder');
    expect(sim.run(500).lease?.holderIdentity).toBe('a');
  });

  test('is fenced for as long as it may believe that it leads, whatever the Lease contains', () => {
    const sim = led().add('b', OLDER).run(9000).shorten(40).run(500).shorten(3).run(4000);
    expect(sim.lease?.holderIdentity).toBe(FENCE);
    sim.run(60_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test('is not fenced when it stops renewing by itself', () => {
    const sim = led().add('b', OLDER).run(2000).crash('a').run(30_000);
    expect(timesOf(sim, 'fence the Lease')).toEqual([]);
    expect(sim.believers).toEqual(['b']);
  });

  test('is not fenced in favour of a candidate that falls silent', () => {
    const sim = led().add('b', OLDER).run(2000).crash('b').run(30_000);
    expect(timesOf(sim, 'fence the Lease')).toEqual([]);
    expect(sim.lease).toMatchObject({ holderIdentity: 'a', preferredHolder: undefined });
    expect(sim.lease?.notes?.preferredHolder).toBeUndefined();
  });

  test('gets the Lease back when the better candidate dies in the meantime, and that counts as a failed preemption', () => {
    const sim = led().add('b', OLDER).run(13_000);
    expect(sim.lease?.holderIdentity).toBe(FENCE);
    sim.crash('b').run(25_000);
    expect(sim.believers).toEqual(['a']);
    expect(sim.memory.failedPreemptions.count).toBe(1);
    sim.recover('b').run(1000);
    expect(sim.decide().reason).toBe('PreemptionBackoff');
    expect(sim.violations).toEqual([]);
  });

  test('is fenced by another coordinator, too, after its own full wait', () => {
    const sim = led().add('b', OLDER).run(9000).replaceCoordinator().run(9000);
    expect(sim.lease?.holderIdentity).toBe('a');
    sim.run(4000);
    expect(sim.lease?.holderIdentity).toBe(FENCE);
    const [first = 0, second = 0] = timesOf(sim, 'prefer b').slice(-2);
    // The note may be from a time when the server dropped the field: the coordinator tries the field once more.
    expect(second).toBeGreaterThan(first);
    sim.run(20_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test('is asked by the field instead, if the server keeps it by now', () => {
    const sim = led().add('b', OLDER).run(3000).replaceCoordinator();
    sim.isGateOn = true;
    sim.run(14_000);
    expect(timesOf(sim, 'fence the Lease')).toEqual([]);
    expect(sim.lease).toMatchObject({ preferredHolder: 'b', isPreferredHolderNoted: false });
    sim.run(20_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.lease?.notes?.preferredHolder).toBeUndefined();
    sim.add('c', { emulation: '1.29.0' }).run(1000);
    expect(sim.lease).toMatchObject({ preferredHolder: 'c', strategy: OLDEST });
    expect(sim.lease?.notes).toBeUndefined();
  });
});

describe('a fenced Lease (rule 14)', () => {
  const fenced = () => led().add('b', OLDER).run(13_000);

  test.each<{ name: string; happens: (sim: SimElection) => SimElection }>([
    { name: 'the coordinator is replaced', happens: (sim) => sim.replaceCoordinator() },
    { name: 'the Lease is deleted', happens: (sim) => sim.deleteLease() },
    { name: 'the Lease is emptied', happens: (sim) => sim.emptyLease() },
    {
      name: 'the former holder releases whatever it finds',
      happens: (sim) => sim.releaseAsFound(),
    },
    {
      name: 'it does so before a coordinator that has seen nothing before',
      happens: (sim) => sim.replaceCoordinator().releaseAsFound(),
    },
    {
      name: 'the server keeps the fields again',
      happens: (sim) => {
        sim.isGateOn = true;
        return sim;
      },
    },
  ])('has no new holder while its former holder may believe that it leads, when $name', ({ happens }) => {
    const sim = fenced();
    // Cut off right before, it leads until its own record expires.
    expect(sim.lease?.holderIdentity).toBe(FENCE);
    expect(sim.believers).toEqual(['a']);
    happens(sim).run(40_000);
    expect(sim.believers).toEqual(['b']);
    expect(sim.violations).toEqual([]);
  });

  test('has pings before its end, and no other preference', () => {
    const sim = fenced().run(1000);
    sim.add('c', { emulation: '1.29.0' }).run(40_000);
    expect(sim.believers).toEqual(['c']);
    expect(timesOf(sim, 'prefer c')).toEqual([]);
  });

  test('costs a candidate with the same name its part in the election', () => {
    const input = makeInput()
      .sees(makeLease(''), 0)
      .candidates(makeCandidate(FENCE).versions('1.30.0').seenAt(0), makeCandidate('a').seenAt(0));
    expect(decideElection(input.build(), makeNow(1000)).actions).toMatchObject([
      { kind: 'PingCandidate', name: 'a' },
    ]);
  });
});
