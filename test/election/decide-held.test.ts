import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import type { LeaseMemory } from '../../src/election/lease-memory.ts';
import {
  type CandidateBuilder,
  type LeaseBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
  OLDEST,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const holder = makeCandidate('holder').seenAt(0);
const silent = makeCandidate('silent').versions('1.37.0').seenAt(0);
const better = (name = 'better') => makeCandidate(name).emulating('1.30.0');

function decide(lease: LeaseBuilder, at: number, ...candidates: readonly ObservedBuilder[]) {
  const decision = decideElection(
    makeInput()
      .sees(lease, 0)
      .candidates(...candidates)
      .build(),
    makeNow(at),
  );
  return { reason: decision.reason, actions: describeActions(decision.actions) };
}

describe('a holder whose candidate is not served any more (rule 13)', () => {
  test.each<{ name: string; hiddenUntil?: number; want: string }>([
    { name: 'keeps its Lease, even if others are better', hiddenUntil: 101, want: 'HolderHidden' },
    { name: 'has no candidate once its source is missed no more', hiddenUntil: 100, want: 'AwaitingAcks' },
    { name: 'has no candidate without a lost source', want: 'AwaitingAcks' },
  ])('$name', ({ hiddenUntil, want }) => {
    const input = makeInput()
      .with({ hiddenUntil })
      .sees(makeLease('holder').renewedAt(-1000), 0)
      .candidates(better().seenAt(0));
    const decision = decideElection(input.build(), makeNow(100));
    expect(decision.reason).toBe(want);
    expect(decision.actions).toHaveLength(want === 'HolderHidden' ? 0 : 1);
    if (want === 'HolderHidden') expect(decision.requeue).toEqual({ kind: 'at', time: hiddenUntil });
  });

  test('is different from one with a visible candidate', () => {
    const input = makeInput()
      .with({ hiddenUntil: 101 })
      .sees(makeLease('holder').renewedAt(-1000), 0)
      .candidates(holder, better().seenAt(0));
    expect(decideElection(input.build(), makeNow(100)).reason).toBe('AwaitingAcks');
  });
});

describe('preferring a better candidate (rule 7)', () => {
  test.each<{ name: string; observed: ObservedBuilder; at?: number; want: string }>([
    { name: 'pings it first', observed: better().seenAt(0), want: 'ping better (preemption)' },
    {
      name: 'pings even a fresh one',
      observed: better().renewedAt(0).seenAt(0),
      want: 'ping better (preemption)',
    },
    {
      name: 'pings even one that answered a ping for another purpose',
      observed: better().seenAt(0).pingedAt(0, 'election').renewedAt(500),
      want: 'ping better (preemption)',
    },
    { name: 'waits for its answer', observed: better().seenAt(0).pingedAt(0, 'preemption'), want: '' },
    {
      name: 'is done once it has answered a ping for this purpose',
      observed: better().seenAt(0).pingedAt(0, 'preemption').renewedAt(500),
      want: `prefer better, ${OLDEST}`,
    },
    {
      name: 'is not done for one that did not answer',
      observed: better().seenAt(0).pingedAt(0, 'preemption'),
      at: 5000,
      want: '',
    },
    {
      name: 'is not done after a late answer: a delayed watch may show more changes later',
      observed: better().seenAt(0).pingedAt(-6000, 'preemption').renewedAt(-500),
      want: 'ping better (preemption)',
    },
    {
      name: 'is not done on an answer of long ago',
      observed: better().seenAt(0).pingedAt(-20_000, 'preemption').renewedAt(-11_000),
      want: 'ping better (preemption)',
    },
  ])('$name', ({ observed, at = 1000, want }) => {
    expect(decide(makeLease('holder'), at, holder, observed).actions).toBe(want);
  });

  test('pings idle candidates that may be better than the best live one, before it prefers any', () => {
    const answered = better().seenAt(0).pingedAt(0, 'preemption').renewedAt(500);
    const best = makeCandidate('best').emulating('1.29.0').seenAt(600);
    expect(decide(makeLease('holder'), 1000, holder, answered, best).actions).toBe('ping best (preemption)');
  });

  test('writes preferredHolder and strategy in one patch, and never touches the holder', () => {
    const answered = better().seenAt(0).pingedAt(0, 'preemption').renewedAt(500);
    const input = makeInput()
      .sees(makeLease('holder').strategy(undefined), 0)
      .candidates(holder, answered)
      .build();
    expect(decideElection(input, makeNow(1000)).actions).toEqual([
      {
        kind: 'UpdateLease',
        uid: 'uid-of-scheduler',
        resourceVersion: '1',
        change: { kind: 'prefer', preferredHolder: 'better', strategy: OLDEST },
      },
    ]);
  });

  test('does not use one ack for two elections', () => {
    const answered = better().seenAt(0).pingedAt(0, 'preemption').renewedAt(500);
    const input = makeInput()
      .sees(makeLease('holder'), 0)
      .remembers({ decidedAt: 600 })
      .candidates(holder, answered);
    expect(describeActions(decideElection(input.build(), makeNow(1000)).actions)).toBe(
      'ping better (preemption)',
    );
  });

  test('also works against a holder that is not a candidate', () => {
    const answered = makeCandidate('worse')
      .versions('1.99.0')
      .seenAt(0)
      .pingedAt(0, 'preemption')
      .renewedAt(500);
    expect(decide(makeLease('stranger'), 1000, answered).actions).toBe(`prefer worse, ${OLDEST}`);
  });

  test('writes a changed strategy if the holder is already the best', () => {
    const lease = makeLease('holder').strategy('example.com/old');
    expect(decide(lease, 1000, holder)).toEqual({
      reason: 'StrategyChanged',
      actions: `name the strategy ${OLDEST}`,
    });
  });
});

describe('a held Lease', () => {
  const lease = makeLease('holder');
  const alien = makeCandidate('alien').versions('1.40.0').wants('example.com/x');
  const newest = makeCandidate('newest').versions('1.41.0');
  const failed = { failedPreemptions: { count: 1, lastAt: 0 } };
  const ignored = { ignoredWrites: { count: 1, lastAt: 0 } };
  const odd = makeCandidate('odd').wants('example.com/x').seenAt(0).renewedAt(500);

  test.each<{
    name: string;
    lease?: LeaseBuilder;
    memory?: Partial<LeaseMemory>;
    candidates: readonly ObservedBuilder[];
    holder?: ObservedBuilder;
    at?: number;
    want: { reason: string; isAsking?: boolean; requeue?: unknown };
    wantActions?: string;
  }>([
    {
      name: 'is settled if all answers together would not change it, whatever one alone would do',
      candidates: [alien.seenAt(0), newest.seenAt(0)],
      want: { reason: 'LeaderOptimal', isAsking: false },
    },
    {
      name: 'is in good order though writes were ignored before',
      memory: ignored,
      candidates: [],
      want: { reason: 'LeaderOptimal' },
    },
    {
      name: 'is not in good order under another strategy, whatever failed before',
      lease: lease.strategy('example.com/old'),
      memory: failed,
      candidates: [],
      want: { reason: 'StrategyChanged' },
      wantActions: `name the strategy ${OLDEST}`,
    },
    {
      name: 'is in conflict, whatever failed before',
      memory: failed,
      candidates: [odd],
      want: { reason: 'StrategyConflict' },
    },
    {
      name: 'waits for the answer of one that may be better',
      candidates: [better().seenAt(0).pingedAt(500, 'preemption')],
      want: { reason: 'AwaitingAcks', isAsking: true, requeue: { kind: 'at', time: 5500 } },
    },
    {
      name: 'has its own ping for one that was pinged for another purpose',
      candidates: [better().seenAt(0).renewedAt(500).pingedAt(600, 'validity')],
      want: { reason: 'AwaitingAcks' },
      wantActions: 'ping better (preemption)',
    },
    {
      name: 'is decided again 2 s after the answer of the preferred candidate',
      candidates: [better().seenAt(0).pingedAt(0, 'preemption').renewedAt(500)],
      want: { reason: 'BetterCandidate', requeue: { kind: 'at', time: 2500 } },
      wantActions: `prefer better, ${OLDEST}`,
    },
    {
      name: 'pings before its expiry when its holder is late',
      candidates: [],
      at: 7000,
      want: { reason: 'HolderLate', isAsking: true },
      wantActions: 'ping holder (expiry)',
    },
    {
      name: 'continues to wait for a preferredHolder when its holder is late',
      lease: lease.preferring('better'),
      candidates: [better().seenAt(0).pingedAt(6000, 'preemption').renewedAt(6500)],
      at: 7000,
      want: { reason: 'PreemptionPending', isAsking: true },
    },
    {
      name: 'is decided again when the time is over in which its late holder may answer a ping',
      lease: lease.lasting(60),
      memory: { askingSince: 57_500 },
      candidates: [],
      holder: holder.pingedAt(53_000, 'validity'),
      at: 57_600,
      want: { reason: 'HolderLate', requeue: { kind: 'at', time: 58_000 } },
    },
    {
      name: 'is decided again when a pinged, fresh candidate stops being fresh',
      lease: lease.lasting(60),
      candidates: [better().seenAt(0).renewedAt(500).pingedAt(600, 'preemption'), silent],
      want: { reason: 'AwaitingAcks', requeue: { kind: 'at', time: 5500 } },
    },
    {
      name: 'is not decided again because of its holder, whose own candidate is fresh',
      lease: lease.lasting(60),
      candidates: [better().seenAt(0).pingedAt(900, 'preemption')],
      holder: holder.renewedAt(500),
      want: { reason: 'AwaitingAcks', requeue: { kind: 'at', time: 5900 } },
    },
    {
      name: 'is decided again when one that has released it takes part again',
      memory: {
        withdrawals: new Map([['w', 400]]),
        lapses: new Map([['silent', { count: 2, lastAt: -600_000 }]]),
      },
      candidates: [makeCandidate('w').seenAt(0).renewedAt(500), silent],
      want: { reason: 'LeaderOptimal', requeue: { kind: 'at', time: 5400 } },
    },
  ])('$name', (row) => {
    const { lease: seen = lease, memory = {}, at = 1000, want, wantActions = '' } = row;
    const input = makeInput()
      .sees(seen, 0)
      .remembers(memory)
      .candidates(row.holder ?? holder, ...row.candidates);
    const decision = decideElection(input.build(), makeNow(at));
    expect(decision).toMatchObject(want);
    expect(describeActions(decision.actions)).toBe(wantActions);
  });
});

describe('a Lease with a holder that is not a candidate is decided again when one that has released it takes part again', () => {
  const input = makeInput()
    .sees(makeLease('stranger').lasting(60), 0)
    .remembers({ withdrawals: new Map([['w', 400]]) });
  const released = makeCandidate('w').seenAt(0).renewedAt(500);
  const requeue = { kind: 'at', time: 5400 };

  test('if there is no other', () => {
    const decision = decideElection(input.candidates(released).build(), makeNow(1000));
    expect(decision).toMatchObject({ reason: 'NoLiveCandidates', requeue });
  });

  test('if no other is electable', () => {
    const unreadable = makeCandidate('unreadable').emulating('none').seenAt(0).renewedAt(500);
    const decision = decideElection(input.candidates(released, unreadable).build(), makeNow(1000));
    expect(decision).toMatchObject({ reason: 'NoElectableCandidates', requeue });
  });

  test('if the others conflict, from the first decision on', () => {
    const parties = [OLDEST, 'example.com/x'].map((strategy) =>
      makeCandidate(strategy).wants(strategy).seenAt(0).renewedAt(500),
    );
    const candidates = input.candidates(released, ...parties);
    const first = decideElection(candidates.build(), makeNow(1000));
    expect(first).toMatchObject({ reason: 'StrategyConflict', requeue });
    const again = candidates.remembers({ conflict: first.conflict });
    expect(decideElection(again.build(), makeNow(1000))).toMatchObject({
      reason: 'StrategyConflict',
      requeue,
    });
  });
});

test('a held Lease has no better candidate while all are silent, whatever was ignored before', () => {
  const input = makeInput()
    .sees(makeLease('stranger'), 0)
    .remembers({ ignoredWrites: { count: 1, lastAt: 0 } })
    .candidates(better('a').seenAt(0).pingedAt(-6000));
  expect(decideElection(input.build(), makeNow(1000))).toMatchObject({
    reason: 'NoLiveCandidates',
    actions: [],
  });
});

test('a held Lease asks no candidate that cannot be elected, even if its holder is not a candidate', () => {
  const unreadable = makeCandidate('unreadable').emulating('none').seenAt(0);
  expect(decide(makeLease('stranger'), 1000, unreadable)).toEqual({
    reason: 'NoElectableCandidates',
    actions: '',
  });
});

describe('a pending preferredHolder (rule 7)', () => {
  const pending = makeLease('holder').preferring('better');
  const answeredAt = (at: number, candidate: CandidateBuilder = better()) =>
    candidate.seenAt(0).pingedAt(at, 'preemption').renewedAt(at);

  test.each<{
    name: string;
    at: number;
    lease?: LeaseBuilder;
    candidates: readonly ObservedBuilder[];
    wantReason: string;
    want: string;
  }>([
    {
      name: 'is left in peace for 2 s after each ack',
      at: 2999,
      candidates: [answeredAt(1000)],
      wantReason: 'PreemptionPending',
      want: '',
    },
    {
      name: 'is pinged again then',
      at: 3000,
      candidates: [answeredAt(1000)],
      wantReason: 'PreemptionPending',
      want: 'ping better (preemption)',
    },
    {
      name: 'may be silent for 5 s',
      at: 5999,
      candidates: [answeredAt(0).pingedAt(1000, 'preemption')],
      wantReason: 'PreemptionPending',
      want: '',
    },
    {
      name: 'is taken off after that',
      at: 6000,
      candidates: [answeredAt(0).pingedAt(1000, 'preemption')],
      wantReason: 'PreferredHolderSilent',
      want: 'remove preferredHolder',
    },
    {
      name: 'is removed when its candidate is deleted',
      at: 1000,
      candidates: [],
      wantReason: 'PreferredHolderGone',
      want: 'remove preferredHolder',
    },
    {
      name: 'is taken off when its candidate is being deleted',
      at: 1000,
      candidates: [answeredAt(500, better().deleting())],
      wantReason: 'PreferredHolderGone',
      want: 'remove preferredHolder',
    },
    {
      name: 'is taken off when the holder has become better',
      at: 1000,
      candidates: [answeredAt(500, better().emulating('1.36.0').versions('1.37.0'))],
      wantReason: 'PreferredHolderNotBest',
      want: 'remove preferredHolder',
    },
    {
      name: 'is removed when a better one has answered',
      at: 1000,
      candidates: [
        answeredAt(500),
        makeCandidate('best').emulating('1.29.0').seenAt(0).pingedAt(0, 'preemption').renewedAt(600),
      ],
      wantReason: 'PreferredHolderNotBest',
      want: 'remove preferredHolder',
    },
    {
      name: 'stays while a candidate that would be better was only pinged',
      at: 1000,
      candidates: [
        answeredAt(500),
        makeCandidate('best').emulating('1.29.0').seenAt(0).pingedAt(0, 'preemption'),
      ],
      wantReason: 'PreemptionPending',
      want: '',
    },
    {
      name: 'stays while a candidate that would be better is pinged',
      at: 1000,
      candidates: [answeredAt(500), makeCandidate('best').emulating('1.29.0').seenAt(0)],
      wantReason: 'PreemptionPending',
      want: 'ping best (preemption)',
    },
    {
      name: 'is taken off when it is the holder by now',
      at: 1000,
      lease: makeLease('better').preferring('better'),
      candidates: [answeredAt(500)],
      wantReason: 'PreferredHolderLeads',
      want: 'remove preferredHolder',
    },
    {
      name: 'is taken off when the strategies are in conflict',
      at: 1000,
      candidates: [
        answeredAt(500),
        makeCandidate('odd').wants('example.com/x').seenAt(0).pingedAt(0).renewedAt(600),
      ],
      wantReason: 'StrategyConflict',
      want: 'remove preferredHolder',
    },
    {
      name: 'is pinged if another coordinator set it',
      at: 1000,
      lease: makeLease('holder').preferring('better', false),
      candidates: [better().seenAt(0)],
      wantReason: 'PreemptionPending',
      want: 'ping better (preemption)',
    },
    {
      name: 'is left to a third-party strategy that has won',
      at: 1000,
      candidates: [
        answeredAt(500),
        makeCandidate('new').versions('1.40.0').wants('example.com/x').seenAt(0).pingedAt(0).renewedAt(600),
      ],
      wantReason: 'ThirdPartyStrategy',
      want: 'name the strategy example.com/x',
    },
    {
      name: 'is taken off when lists are in conflict, without waiting for its own answer',
      at: 1000,
      candidates: [
        better().wantsInOrder(OLDEST, 'example.com/x').seenAt(0).pingedAt(500, 'preemption'),
        makeCandidate('odd').wantsInOrder('example.com/x', OLDEST).seenAt(0).pingedAt(0).renewedAt(600),
      ],
      wantReason: 'StrategyConflict',
      want: 'remove preferredHolder',
    },
    {
      name: 'pings an idle one before it drops its influence on the strategy',
      at: 4000,
      candidates: [
        answeredAt(3900, better().wants('example.com/x')),
        makeCandidate('newest').versions('1.40.0').seenAt(0),
      ],
      wantReason: 'PreemptionPending',
      want: 'ping newest (preemption)',
    },
  ])('$name', ({ at, lease = pending, candidates, wantReason, want }) => {
    expect(decide(lease, at, holder, ...candidates)).toEqual({ reason: wantReason, actions: want });
  });

  test.each([
    { name: 'has expired', candidate: better().renewedAt(-7_000_000).seenAt(0), memory: {} },
    {
      name: 'has just released the Lease',
      candidate: answeredAt(500),
      memory: { withdrawals: new Map([['better', 400]]) },
    },
    {
      name: 'is held back, because it renews no grants',
      candidate: answeredAt(500),
      memory: { lapses: new Map([['better', { count: 2, lastAt: 0 }]]) },
    },
    { name: 'is deleted', candidate: undefined, memory: {} },
    {
      name: 'has left pings unanswered, although it is pinged once more',
      candidate: better().seenAt(0).pingedAt(-20_000).pingedAt(900, 'preemption'),
      memory: {},
      wantReason: 'PreferredHolderSilent',
    },
    {
      name: 'is no better than the holder any more',
      candidate: answeredAt(500, better().emulating('1.36.0')),
      memory: {},
      wantReason: 'PreferredHolderNotBest',
      wantFailed: false,
    },
    {
      name: 'leads by now',
      lease: makeLease('better').preferring('better'),
      candidate: answeredAt(500),
      memory: {},
      wantReason: 'PreferredHolderLeads',
      wantFailed: false,
    },
    {
      name: 'is at odds with others about the strategy',
      candidate: answeredAt(500, better().wants('example.com/x')),
      memory: {},
      wantReason: 'StrategyConflict',
      wantFailed: false,
    },
  ])('is removed when its candidate $name, and has failed if the candidate is the cause', (row) => {
    const { lease = pending, candidate, memory, wantReason = 'PreferredHolderGone', wantFailed = true } = row;
    const input = makeInput()
      .sees(lease, 0)
      .remembers(memory)
      .candidates(...(candidate ? [holder, candidate] : [holder]));
    const decision = decideElection(input.build(), makeNow(1000));
    expect(decision.reason).toBe(wantReason);
    expect(decision.actions).toMatchObject([
      { change: { kind: 'clearPreferredHolder', hasFailed: wantFailed } },
    ]);
  });

  test.each([
    { name: '2 s after its answer', candidate: answeredAt(500), at: 1000, want: 2500 },
    {
      name: 'when it has let the time for an answer pass',
      candidate: answeredAt(0).pingedAt(2500, 'preemption'),
      at: 6000,
      want: 7500,
    },
  ])('is decided again $name', ({ candidate, at, want }) => {
    const input = makeInput().sees(pending.lasting(60), 0).candidates(holder, candidate);
    expect(decideElection(input.build(), makeNow(at)).requeue).toEqual({ kind: 'at', time: want });
  });

  test('is pinged only as its answers require, until its turn', () => {
    const sim = new SimElection().add('a').run(60_000).add('b', { emulation: '1.30.0' }).run(40_000);
    expect(sim.believers).toEqual(['b']);
    const gaps = sim
      .pingTimesOf('b')
      .slice(1)
      .map((at, index) => at - (sim.pingTimesOf('b')[index] ?? 0));
    expect(Math.min(...gaps)).toBe(2100);
    expect(sim.violations).toEqual([]);
  });
});

describe('a preemption that fails (rule 7)', () => {
  const preferTimes = (sim: SimElection) =>
    sim.transcript.filter((line) => /prefer \S+,/.test(line)).map((line) => Number.parseFloat(line));

  test('backs off per Lease, whatever the name of the next candidate', () => {
    const sim = new SimElection().add('leader').run(10_000);
    for (let life = 0; life < 30; life++) {
      const name = `loop-${life}`;
      sim.add(name, { emulation: '1.30.0', elector: 'none' }).run(3000).crash(name).run(7000).remove(name);
      sim.run(10_000);
    }
    const times = preferTimes(sim);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(5);
    // The backoff doubles. The next program is preferred as soon as the backoff is over, and there is one every 20 s.
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(15 * 2 ** index);
      expect(gap).toBeLessThanOrEqual(15 * 2 ** index + 30);
    }
    expect(sim.violations).toEqual([]);
  });

  test('does not delay a candidate that is only replaced by a better one', () => {
    const sim = new SimElection()
      .add('a')
      .run(20_000)
      .add('b', { emulation: '1.30.0' })
      .run(2000)
      .add('c', { emulation: '1.29.0' })
      .run(200);
    expect(sim.lease?.preferredHolder).toBe('c');
  });

  test('does not include one whose winner yields to a better one soon after', () => {
    const sim = new SimElection()
      .add('a')
      .run(20_000)
      .add('b', { emulation: '1.30.0' })
      .run(20_000)
      .add('c', { emulation: '1.29.0' })
      .run(20_000);
    expect(sim.believers).toEqual(['c']);
    sim.add('d', { emulation: '1.28.0' }).run(200);
    expect(sim.lease?.preferredHolder).toBe('d');
  });

  test('includes one whose winner loses the Lease again within a minute', () => {
    const sim = new SimElection().add('a').run(20_000).add('b', { emulation: '1.30.0' }).run(20_000);
    expect(sim.believers).toEqual(['b']);
    sim.crash('b').run(20_000).recover('b').run(200);
    expect(sim.lease?.holderIdentity).toBe('a');
    expect(sim.decide().reason).toBe('PreemptionBackoff');
    expect(sim.lease?.preferredHolder).toBeUndefined();
    sim.run(15_000);
    expect(sim.lease?.preferredHolder).toBe('b');
  });

  test('costs the holder nothing during the backoff', () => {
    const input = makeInput()
      .sees(makeLease('holder'), 0)
      .remembers({ failedPreemptions: { count: 1, lastAt: -10_000 } })
      .candidates(holder, better().seenAt(0));
    expect(decideElection(input.build(), makeNow(4999))).toMatchObject({
      reason: 'PreemptionBackoff',
      actions: [],
      requeue: { time: 5000 },
    });
    expect(decideElection(input.build(), makeNow(5000)).reason).toBe('AwaitingAcks');
  });

  test('is followed by a decision as soon as a candidate may be silent, because the strategy may then be another', () => {
    const input = makeInput()
      .sees(makeLease('holder'), 0)
      .remembers({ failedPreemptions: { count: 1, lastAt: 0 } })
      .candidates(holder, better().seenAt(0).pingedAt(500));
    const { reason, requeue } = decideElection(input.build(), makeNow(1000));
    expect([reason, requeue]).toEqual(['PreemptionBackoff', { kind: 'at', time: 5500 }]);
  });
});

describe('a holder or server that drops our fields (rule 7)', () => {
  test('is noticed for renewals of a plain elector, and our writes become less and less frequent', () => {
    const sim = new SimElection()
      .add('plain', { elector: 'plain', looksAtMs: 0 })
      .run(5000)
      .add('b', { emulation: '1.30.0' })
      .run(600_000);
    const times = sim.transcript
      .filter((line) => /prefer b,|name the strategy/.test(line))
      .map((line) => Number.parseFloat(line));
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(4);
    // It renews every two seconds, so the change is noticed at most that much later.
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(30 * 2 ** index);
      expect(gap).toBeLessThanOrEqual(30 * 2 ** index + 2.1);
    }
    expect(sim.decide().reason).toBe('WritesIgnored');
    expect(sim.believers).toEqual(['plain']);
  });

  test('is noticed for a server that drops notes, too', () => {
    const sim = new SimElection();
    sim.isGateOn = false;
    sim.keepsNotes = false;
    sim.add('a').run(5000).add('b', { emulation: '1.30.0' }).run(10_000);
    expect(sim.decide().reason).toBe('WritesIgnored');
    const before = sim.actionsApplied;
    sim.run(14_000);
    expect(sim.actionsApplied).toBe(before);
  });

  test('does not count against a new holder for writes beside the old one', () => {
    const { memory } = makeInput()
      .sees(makeLease('a').preferring('b'), 0)
      .remembers({ written: { preferredHolder: 'b' } })
      .sees(makeLease('stranger').renewedAt(1000), 1000)
      .sees(makeLease('stranger').renewedAt(2000), 2000)
      .build();
    expect(memory.ignoredWrites.count).toBe(0);
  });

  test('is not confused with a release, or with our own removal', () => {
    const sim = new SimElection().add('a').run(5000).add('b', { emulation: '1.30.0' }).run(200);
    expect(sim.lease?.preferredHolder).toBe('b');
    sim.remove('b').run(5000);
    expect(sim.memory.ignoredWrites.count).toBe(0);
    const other = new SimElection()
      .add('a')
      .run(5000)
      .add('b', { emulation: '1.30.0' })
      .run(200)
      .release('a')
      .run(1000);
    expect(other.memory.ignoredWrites.count).toBe(0);
    expect(other.lease?.holderIdentity).toBe('b');
  });
});

describe('a Lease without elections loses our preferredHolder (rule 7)', () => {
  test.each([
    {
      name: 'conflict',
      candidates: [
        makeCandidate('a').renewedAt(0).seenAt(0),
        makeCandidate('b').wants('example.com/x').renewedAt(0).seenAt(0),
      ],
      wantReason: 'StrategyConflict',
      want: 'remove preferredHolder',
    },
    {
      name: 'third-party strategy',
      candidates: [makeCandidate('a').wants('example.com/x').renewedAt(0).seenAt(0)],
      wantReason: 'ThirdPartyStrategy',
      want: 'name the strategy example.com/x',
    },
  ])('in a $name without a holder', ({ candidates, wantReason, want }) => {
    expect(decide(makeLease('').preferring('z'), 1000, ...candidates)).toEqual({
      reason: wantReason,
      actions: want,
    });
    const mentions = decideElection(
      makeInput()
        .sees(makeLease('').preferring('z'), 0)
        .candidates(...candidates)
        .build(),
      makeNow(1),
    );
    expect(mentions.actions).toMatchObject([
      {
        change:
          wantReason === 'ThirdPartyStrategy'
            ? { removesPreferredHolder: true }
            : { kind: 'clearPreferredHolder' },
      },
    ]);
    const alien = decideElection(
      makeInput()
        .sees(makeLease('').preferring('z', false), 0)
        .candidates(...candidates)
        .build(),
      makeNow(1),
    );
    expect(describeActions(alien.actions)).not.toContain('remove');
  });
});
