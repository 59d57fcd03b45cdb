import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { makeCandidate, makeInput, makeLease, makeNow, OLDEST } from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

describe('a Lease with too many candidates to ping (rules 3 and 6)', () => {
  const silent = {
    answersAfterMs: Number.POSITIVE_INFINITY,
    lastRenewedMsAgo: 60_000,
    renewsByItself: false,
  };

  test('pings two at once, and twice as many with every second', () => {
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

  test('pings two when two answer', () => {
    const sim = new SimElection();
    for (let index = 0; index < 40; index++) sim.add(`c${index}`, { lastRenewedMsAgo: 60_000 });
    sim.run(10_000);
    expect(sim.pings).toHaveLength(2);
    expect(sim.believers).toHaveLength(1);
  });

  test('pings the last seen first: a restarted program leaves a silent twin behind', () => {
    const sim = new SimElection();
    sim.usurp(4);
    for (const minutes of [4, 3, 2])
      sim.add(`ghost-${minutes}`, { ...silent, lastRenewedMsAgo: minutes * 60_000 });
    sim.add('living', { lastRenewedMsAgo: 10_000 }).run(4000);
    expect(sim.lease?.holderIdentity).toBe('living');
  });

  test('pings silent candidates in rounds with growing pauses, while the Lease has no leader', () => {
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

describe('while ordered lists conflict (rules 4 and 6)', () => {
  const idle = (name: string, binary: string | undefined, first = OLDEST, second = 'example.com/x') =>
    makeCandidate(name).versions(binary).wantsInOrder(first, second);
  const none = makeInput().sees(undefined, 0);

  test.each([
    { name: 'in any order', order: ['unread', 'b35', 'b36', 'unset'] },
    { name: 'and in any other', order: ['unset', 'b36', 'b35', 'unread'] },
  ])(
    'candidates with the highest binaryVersions are pinged first, and those without one last, $name',
    ({ order }) => {
      const known = {
        unread: idle('unread', 'none').renewedAt(-10_000),
        unset: idle('unset', undefined).renewedAt(-20_000),
        b35: idle('b35', '1.35.0', 'example.com/x', OLDEST),
        b36: idle('b36', '1.36.0'),
      };
      const candidates = order.map((name) => known[name as keyof typeof known].seenAt(0));
      const asked = (askingSince: number) => {
        const input = none.remembers({ askingSince }).candidates(...candidates);
        return describeActions(decideElection(input.build(), makeNow(1)).actions);
      };
      expect(asked(1)).toBe('ping b36, b35 (election)');
      expect(asked(-999)).toBe('ping b36, b35, unread, unset (election)');
    },
  );

  test('no candidate is pinged before an expiry if its answer still counts then', () => {
    const late = makeInput()
      .sees(makeLease('stranger'), 0)
      .candidates(
        idle('a', '1.36.0').seenAt(0).pingedAt(5000).renewedAt(5100),
        idle('c', '1.36.0', 'example.com/x', OLDEST).seenAt(0).pingedAt(5000).renewedAt(5100),
        idle('b', '1.36.0', 'example.com/x', OLDEST).seenAt(0),
      );
    expect(describeActions(decideElection(late.build(), makeNow(7000)).actions)).toMatch(/^ping b \(\w+\)$/);
  });
});

test('only candidates that could change the result are pinged', () => {
  const alive = makeCandidate('alive').seenAt(0).pingedAt(0).renewedAt(100);
  const input = makeInput()
    .sees(undefined, 0)
    .candidates(
      alive,
      makeCandidate('worse').versions('1.37.0').seenAt(0),
      makeCandidate('better').emulating('1.35.0').seenAt(0),
      makeCandidate('best').emulating('1.34.0').seenAt(0),
    );
  expect(describeActions(decideElection(input.build(), makeNow(200)).actions)).toBe(
    'ping best, better (election)',
  );
});

test('the best are pinged first, by emulationVersion, then by binaryVersion; those that cannot be elected last', () => {
  const idle = (name: string, emulation: string, binary: string, renewedAt: number) =>
    makeCandidate(name).versions(binary, emulation).renewedAt(renewedAt).seenAt(0);
  const candidates = [
    idle('unreadable', 'none', '1.37.0', -8000),
    idle('unread', 'unknown', '1.37.0', -9000),
    idle('third', '1.36.0', '1.37.0', -10_000),
    idle('second', '1.36.0', '1.36.0', -20_000),
    idle('first', '1.35.0', '1.37.0', -30_000),
  ];
  for (const order of [candidates, candidates.toReversed()]) {
    const input = makeInput()
      .sees(undefined, 0)
      .remembers({ askingSince: -1999 })
      .candidates(...order);
    expect(describeActions(decideElection(input.build(), makeNow(1)).actions)).toBe(
      'ping first, second, third, unreadable, unread (election)',
    );
  }
});

test('of equal versions, the highest priority is pinged first', () => {
  const idle = (name: string, priority: number, renewedAt: number) =>
    makeCandidate(name).priority(priority).renewedAt(renewedAt).seenAt(0);
  const candidates = [idle('low', 0, -7000), idle('high', 9, -9000), idle('middle', 5, -8000)];
  const input = makeInput()
    .sees(undefined, 0)
    .candidates(...candidates);
  expect(describeActions(decideElection(input.build(), makeNow(1)).actions)).toBe(
    'ping high, middle (election)',
  );
});
