import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import {
  type CandidateBuilder,
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  OLDEST,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions } from '../support/sim-election.ts';

const HOUR_MS = 3_600_000;

function decide(input: InputBuilder, at: number, wallJumpMs = 0) {
  const { reason, actions, requeue } = decideElection(input.build(), makeNow(at, wallJumpMs));
  return { reason, actions: describeActions(actions), requeue };
}

/** Seen at instant 0, and has answered a ping of this purpose. */
const answered = (candidate: CandidateBuilder, purpose: 'election' | 'preemption' = 'election') =>
  candidate.seenAt(0).pingedAt(100, purpose).renewedAt(200);

describe('priority in an election (rule 16)', () => {
  const low = makeCandidate('low').versions('1.30.0').createdAt(-HOUR_MS);
  const high = makeCandidate('high').versions('1.36.0').priority(1);

  test('comes before versions and age', () => {
    const input = makeInput().candidates(answered(low), answered(high));
    expect(decide(input, 300)).toMatchObject({
      reason: 'LeaseMissing',
      actions: expect.stringContaining('high'),
    });
  });

  test('is waited for, and pinged first', () => {
    const others = ['b', 'c', 'd'].map((name) => makeCandidate(name).versions('1.30.0').seenAt(0));
    const input = makeInput().candidates(answered(low), ...others, high.seenAt(0));
    expect(decide(input, 300)).toMatchObject({ reason: 'AwaitingAcks', actions: 'ping high (election)' });
  });

  test('does not affect the strategy, which is that of the highest binaryVersion', () => {
    const input = makeInput().candidates(
      answered(high.priority(1000).wants('example.com/x')),
      answered(makeCandidate('newest').versions('1.37.0')),
    );
    const { outcome } = decideElection(input.build(), makeNow(300));
    expect(outcome).toMatchObject({ kind: 'leader', strategy: OLDEST, leader: { name: 'high' } });
  });

  test.each([
    { name: 'lower first, of those below zero', a: -1, b: -1000, want: 'a' },
    { name: 'none before one below zero', a: 0, b: -1, want: 'a' },
    { name: 'the largest before the smallest that there is', a: 2 ** 31 - 1, b: -(2 ** 31), want: 'a' },
    { name: 'the versions, if both have the same', a: 5, b: 5, want: 'b' },
  ])('has $name', ({ a, b, want }) => {
    const input = makeInput().candidates(
      answered(makeCandidate('a').versions('1.37.0').priority(a)),
      answered(makeCandidate('b').versions('1.30.0').priority(b)),
    );
    expect(decideElection(input.build(), makeNow(300)).outcome).toMatchObject({ leader: { name: want } });
  });
});

describe('priority and a Lease with a leader (rule 16)', () => {
  const lease = makeLease('holder').renewedAt(0);
  const holder = makeCandidate('holder').versions('1.35.0');
  const held = makeInput().sees(makeLease('holder').renewedAt(-1000), 0).sees(lease, 50);

  test('replaces a leader of a lower priority, after an answer for that purpose', () => {
    const high = makeCandidate('high').priority(1);
    const input = held.candidates(holder.seenAt(0), high.seenAt(0));
    expect(decide(input, 100)).toMatchObject({ reason: 'AwaitingAcks', actions: 'ping high (preemption)' });
    const asked = held.candidates(holder.seenAt(0), answered(high, 'preemption'));
    expect(decide(asked, 300).reason).toBe('BetterCandidate');
  });

  test('does not replace a leader of the same priority', () => {
    const input = held.candidates(
      holder.priority(7).seenAt(0),
      answered(makeCandidate('a').versions('1.35.0').createdAt(-HOUR_MS).priority(7), 'preemption'),
    );
    expect(decide(input, 300)).toMatchObject({ reason: 'LeaderOptimal', actions: '' });
  });

  test('keeps a leader in place although all others have better versions', () => {
    const input = held.candidates(
      holder.priority(1).seenAt(0),
      answered(makeCandidate('older').versions('1.30.0'), 'preemption'),
    );
    expect(decide(input, 300)).toMatchObject({ reason: 'LeaderOptimal', actions: '' });
  });

  test('removes a preferredHolder that has lost its own', () => {
    const input = makeInput()
      .sees(makeLease('holder').renewedAt(-1000), 0)
      .sees(makeLease('holder').preferring('b'), 50)
      .candidates(
        holder.seenAt(0),
        answered(makeCandidate('b').versions('1.30.0').priority(-1), 'preemption'),
      );
    expect(decide(input, 300).reason).toBe('PreferredHolderNotBest');
  });
});

describe('a priority that ends (rule 16)', () => {
  const lease = makeLease('holder').renewedAt(0);
  const held = makeInput().sees(makeLease('holder').renewedAt(-1000), 0).sees(lease, 50);
  const holder = makeCandidate('holder').versions('1.35.0').priority(-1000, 2000);
  const other = makeCandidate('other');

  test('counts until then, and then does not count any more', () => {
    const input = held.candidates(holder.seenAt(0), answered(other, 'preemption'));
    expect(decide(input, 1999.999).reason).toBe('BetterCandidate');
    expect(decide(input, 2000).reason).toBe('LeaderOptimal');
  });

  test('is replaced by the priority in the spec', () => {
    const input = held.candidates(
      makeCandidate('holder').versions('1.35.0').priority(7, 2000, -3).seenAt(0),
      answered(other, 'preemption'),
    );
    expect(decide(input, 1000).reason).toBe('LeaderOptimal');
    expect(decide(input, 2000).reason).toBe('BetterCandidate');
  });

  test('causes a decision at that moment (rule 9)', () => {
    const lasting = held.candidates(
      makeCandidate('holder').versions('1.35.0').priority(7, 2000).seenAt(0),
      makeCandidate('next').versions('1.37.0').priority(1, 3000).seenAt(0),
    );
    expect(decide(lasting, 1000)).toMatchObject({
      reason: 'LeaderOptimal',
      requeue: { kind: 'at', time: 2000 },
    });
  });

  test('ends by our wall clock, even if that jumps (rule 2)', () => {
    const input = held.candidates(holder.seenAt(0), answered(other, 'preemption'));
    expect(decide(input, 1000, 1000).reason).toBe('LeaderOptimal');
    const setBack = decide(input, 2500, -1000);
    expect(setBack.reason).toBe('BetterCandidate');
    expect(setBack.requeue).toMatchObject({ kind: 'at', time: 3000 });
  });

  test('ends at once if it is in the past, and causes no later decision', () => {
    const { standings, requeue } = decideElection(
      held.candidates(makeCandidate('holder').priority(7, -1).seenAt(0)).build(),
      makeNow(100),
    );
    expect(standings[0]?.candidate.priority).toEqual({ value: 0, end: undefined, unreadable: undefined });
    expect(requeue.kind === 'at' && requeue.time > 1000).toBe(true);
  });

  test('may end later than any process lives', () => {
    const end = { at: wallAt(0) + 10n ** 18n, afterwards: 0 };
    const candidate = makeCandidate('holder').with({ priority: { value: 1, end, unreadable: undefined } });
    expect(decide(held.candidates(candidate.seenAt(0)), 100).requeue).toMatchObject({ kind: 'at' });
  });
});
