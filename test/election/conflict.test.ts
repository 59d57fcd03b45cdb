import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { recordDecision } from '../../src/election/record-action.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
  OLDEST,
} from '../support/election-builders.ts';

const OTHER = 'example.com/x';
const alive = (builder: ReturnType<typeof makeCandidate>) => builder.seenAt(0).renewedAt(100);
const party = (name: string, strategy = OLDEST) => makeCandidate(name).wants(strategy);
const list = (name: string, ...strategies: readonly string[]) =>
  makeCandidate(name).wantsInOrder(...strategies);
const vacant = makeInput().sees(undefined, 0);

/** Returns the input after a decision at 200 ms about the Lease with `candidates`. */
function reported(lease: InputBuilder, candidates: readonly ObservedBuilder[]): InputBuilder {
  const input = lease.candidates(...candidates).build();
  const decision = decideElection(input, makeNow(200));
  expect(decision.reason).toBe('StrategyConflict');
  return lease.remembers(recordDecision(input, decision, 200).memory);
}

describe('a strategy conflict is reported once (rule 4)', () => {
  const a = alive(party('a'));
  const b = alive(party('b', OTHER));
  const lists = [alive(list('a', OLDEST, OTHER)), alive(list('b', OTHER, OLDEST))];

  test.each<{
    name: string;
    before?: readonly ObservedBuilder[];
    after: readonly ObservedBuilder[];
    want: boolean;
  }>([
    { name: 'not while its parties are the same', after: [a, b], want: false },
    { name: 'not for their order', after: [b, a], want: false },
    {
      name: 'not for a renewal by one of them',
      after: [a.renewedAt(300), b],
      want: false,
    },
    {
      name: 'again when another one takes the place of one',
      after: [alive(party('c')), b],
      want: true,
    },
    {
      name: 'again when one was replaced under its name',
      after: [alive(party('a').with({ uid: 'another' })), b],
      want: true,
    },
    {
      name: 'again when one is of another version',
      before: lists,
      after: [alive(list('a', OLDEST, OTHER).versions('1.37.0')), alive(list('b', OTHER, OLDEST))],
      want: true,
    },
    {
      name: 'again when one asks for another strategy',
      after: [a, alive(party('b', 'example.com/y'))],
      want: true,
    },
    {
      name: 'again when one has another list',
      before: lists,
      after: [alive(list('a', OLDEST, OTHER, 'example.com/y')), alive(list('b', OTHER, OLDEST))],
      want: true,
    },
    {
      name: 'again when one has in a list what it named before',
      before: [...lists, alive(party('c'))],
      after: [...lists, alive(list('c', OLDEST))],
      want: true,
    },
    {
      name: 'again when two have changed places',
      after: [alive(party('a', OTHER)), alive(party('b'))],
      want: true,
    },
  ])('$name', ({ before = [a, b], after, want }) => {
    for (const lease of [vacant, makeInput().sees(makeLease('stranger').lasting(60), 0)]) {
      const known = reported(lease, before).candidates(...after);
      const { reason, conflict } = decideElection(known.build(), makeNow(400));
      expect(reason).toBe('StrategyConflict');
      expect(conflict !== known.build().memory.conflict).toBe(want);
    }
  });
});

test('a conflict that is found at the same moment as a round is checked again in the next one', () => {
  const input = vacant
    .remembers({ rounds: { count: 1, lastAt: -4800 } })
    .candidates(alive(party('a')), alive(party('b', OTHER)));
  expect(decideElection(input.build(), makeNow(200))).toMatchObject({
    reason: 'StrategyConflict',
    isRound: true,
    requeue: { kind: 'at', time: 10_200 },
  });
});

describe('a known conflict', () => {
  const a = alive(party('a'));
  const b = alive(party('b', OTHER));

  test('is judged again with the answers of pinged candidates, as soon as they are due', () => {
    const known = reported(vacant, [a, b])
      .remembers({ rounds: { count: 2, lastAt: 6000 } })
      .candidates(a.pingedAt(6000, 'election').renewedAt(6100), b.pingedAt(6000, 'election'));
    expect(decideElection(known.build(), makeNow(6200))).toMatchObject({
      reason: 'AwaitingAcks',
      isAsking: true,
    });
    expect(decideElection(known.build(), makeNow(11_000)).reason).toBe('LeaseMissing');
  });

  test('is not judged again before the parties of later waves are pinged: one of them may have crashed', () => {
    const [c, opponent] = [alive(party('c')), b];
    const asked = [a, c].map((one) => one.pingedAt(6000, 'election').renewedAt(6100));
    const known = reported(vacant, [a, opponent, c])
      .remembers({ rounds: { count: 2, lastAt: 6000 }, askingSince: 6050 })
      .candidates(...asked, opponent);
    const decision = decideElection(known.build(), makeNow(6200));
    expect(decision).toMatchObject({
      reason: 'AwaitingAcks',
      actions: [{ kind: 'PingCandidate', name: 'b' }],
    });
  });

  test.each([
    {
      name: 'when the answer is due of one that counts because of a renewal just before its ping',
      asked: b.pingedAt(300, 'election'),
      want: 5300,
    },
    {
      name: 'with the next round, when all have answered',
      asked: b.pingedAt(150, 'election').renewedAt(180),
      want: 5200,
    },
    { name: 'with the next round, if none was pinged', asked: b, want: 5200 },
  ])('is checked again $name', ({ asked, want }) => {
    const input = reported(vacant, [a, b])
      .remembers({ rounds: { count: 1, lastAt: want === 5300 ? 400 : 200 } })
      .candidates(a, asked);
    expect(decideElection(input.build(), makeNow(450))).toMatchObject({
      reason: 'StrategyConflict',
      requeue: { kind: 'at', time: want },
    });
  });
});
