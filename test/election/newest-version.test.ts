import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import {
  type CandidateBuilder,
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  NEWEST,
  OLDEST,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const make = (name: string, version: string) => makeCandidate(name).wants(NEWEST).versions(version);
const answered = (candidate: CandidateBuilder, purpose: 'election' | 'preemption' = 'election') =>
  candidate.seenAt(0).pingedAt(100, purpose).renewedAt(200);

function decide(input: InputBuilder, at: number) {
  const { reason, actions } = decideElection(input.build(), makeNow(at));
  return { reason, actions: describeActions(actions) };
}

describe('a Lease under NewestVersion (rule 5)', () => {
  const held = makeInput()
    .sees(makeLease('old').strategy(NEWEST).renewedAt(-1000), 0)
    .sees(makeLease('old').strategy(NEWEST).renewedAt(0), 50);
  const old = make('old', '1.35.0');
  const newer = make('newer', '1.37.0');

  test('that is free goes to the newest, whose answer is awaited, and which is pinged first', () => {
    const others = ['b', 'c', 'd'].map((name) => make(name, '1.35.0').seenAt(0));
    const input = makeInput().candidates(answered(old), ...others, newer.seenAt(0));
    expect(decide(input, 300)).toEqual({ reason: 'AwaitingAcks', actions: 'ping newer (election)' });
    expect(decide(makeInput().candidates(answered(old), answered(newer)), 300)).toMatchObject({
      reason: 'LeaseMissing',
      actions: expect.stringContaining('newer'),
    });
  });

  test('stays with its leader, even if others are newer, and pings none', () => {
    const input = held.candidates(
      old.seenAt(0),
      newer.seenAt(0),
      answered(make('live', '1.38.0'), 'preemption'),
    );
    expect(decide(input, 300)).toEqual({ reason: 'LeaderOptimal', actions: '' });
  });

  test('goes from its leader to a candidate of a higher priority', () => {
    const input = held.candidates(old.seenAt(0), answered(make('high', '1.34.0').priority(1), 'preemption'));
    expect(decide(input, 300).reason).toBe('BetterCandidate');
  });

  test('goes to the newest while no holder has renewed it yet (rule 12)', () => {
    const sim = new SimElection().add('old', { binary: '1.35.0', strategy: NEWEST }).run(200);
    sim.add('newer', { binary: '1.37.0', strategy: NEWEST });
    expect(sim.lease).toMatchObject({ holderIdentity: 'newer', leaseTransitions: 1 });
  });
});

/** Replaces each of three programs by a newer version, the leader first. Returns the number of leader changes. */
function handOvers(strategy: string): number {
  const sim = new SimElection();
  const versions = (version: string) => ({ binary: version, emulation: version, strategy });
  for (const name of ['a', 'b', 'c']) sim.add(name, versions('1.36.0'));
  sim.run(30_000);
  const before = sim.lease?.leaseTransitions ?? 0;
  for (const name of ['a', 'b', 'c']) {
    sim.add(`${name}2`, versions('1.37.0')).run(30_000);
    sim.remove(name).run(60_000);
  }
  return (sim.lease?.leaseTransitions ?? 0) - before;
}

test('a rolling update that begins with the leader costs one hand-over under NewestVersion, and one for each pod under OldestEmulationVersion', () => {
  expect(handOvers(NEWEST)).toBe(1);
  expect(handOvers(OLDEST)).toBe(3);
});
