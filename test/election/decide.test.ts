import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordPing, recordPingDelivered } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { Decision } from '../../src/election/decision.ts';
import { allBeliefs } from '../../src/election/lease-memory.ts';
import type { ElectionInput } from '../../src/election/view.ts';
import {
  defaultSettings,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  type ObservedBuilder,
  OLDEST,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const instant = fc.integer({ min: -20_000, max: 0 });
const longAgo = fc.oneof(
  { weight: 3, arbitrary: instant },
  { weight: 1, arbitrary: fc.integer({ min: -3 * 3_600_000, max: 0 }) },
);

const observed: fc.Arbitrary<(index: number) => ObservedBuilder> = fc
  .record({
    emulation: fc.constantFrom('1.34.0', '1.35.0', '1.36.0', 'v1'),
    strategy: fc.constantFrom(OLDEST, OLDEST, OLDEST, 'example.com/x'),
    isDeleting: fc.integer({ min: 0, max: 9 }).map((chance) => chance === 0),
    times: fc.tuple(longAgo, longAgo, instant, instant),
    events: fc.integer({ min: 0, max: 3 }),
    purpose: fc.constantFrom('election' as const, 'preemption' as const, 'validity' as const),
  })
  .map(({ emulation, strategy, isDeleting, times, events, purpose }) => (index: number) => {
    const [renewed, seen, pinged, acked] = times.toSorted((a, b) => a - b) as [
      number,
      number,
      number,
      number,
    ];
    const candidate = makeCandidate(`c${index}`)
      .emulating(emulation)
      .wants(strategy)
      .renewedAt(renewed)
      .with({ isDeleting });
    const first = candidate.seenAt(seen);
    if (events === 0) return first;
    const asked = first.pingedAt(pinged, purpose);
    return events === 1 ? asked : asked.renewedAt(acked);
  });

/** All possible inputs at instant 0. */
const situation: fc.Arbitrary<ElectionInput> = fc
  .record({
    candidates: fc.array(observed, { maxLength: 4 }),
    lease: fc.option(
      fc.record({
        holder: fc.constantFrom('', 'c0', 'c1', 'c2', 'stranger', undefined),
        preferred: fc.option(fc.constantFrom('c0', 'c1', 'c3', 'stranger'), { nil: undefined }),
        isOurs: fc.boolean(),
        strategy: fc.constantFrom(OLDEST, OLDEST, undefined, 'example.com/x'),
        seconds: fc.constantFrom(1, 10, 15, undefined),
        seenAt: instant,
        isOurGrant: fc.boolean(),
      }),
      { nil: undefined },
    ),
    fate: fc.constantFrom('stays', 'stays', 'stays', 'deleted', 'released', 'emptied', 'stolen'),
    fateAt: instant,
    failedPreemptions: fc.constantFrom(0, 0, 1),
    ignoredWrites: fc.constantFrom(0, 0, 1),
    lapses: fc.constantFrom(0, 0, 2),
  })
  .map(({ candidates, lease, fate, fateAt, ...counts }) => {
    let input = makeInput().candidates(...candidates.map((make, index) => make(index)));
    if (lease) {
      let made = makeLease(lease.holder).strategy(lease.strategy).lasting(lease.seconds);
      if (lease.preferred !== undefined) made = made.preferring(lease.preferred, lease.isOurs);
      if (lease.isOurGrant && lease.holder) {
        const takeUpBy = lease.seenAt + 5000;
        input = input.remembers({ unrenewedGrant: { ...makeUnrenewedGrant(lease.holder), takeUpBy } });
      }
      input = input.sees(made, lease.seenAt);
      const at = Math.max(lease.seenAt, fateAt);
      if (fate === 'deleted') input = input.sees(undefined, at);
      if (fate === 'released') input = input.sees(made.releasedAt(at), at);
      if (fate === 'emptied') input = input.sees(made.heldBy(''), at);
      if (fate === 'stolen') input = input.sees(made.heldBy('thief').lasting(1), at);
    }
    const attempts = (count: number) => ({ count, lastAt: count === 0 ? Number.NEGATIVE_INFINITY : -1000 });
    return input
      .remembers({
        failedPreemptions: attempts(counts.failedPreemptions),
        ignoredWrites: attempts(counts.ignoredWrites),
        lapses: counts.lapses > 0 ? new Map([['c0', attempts(counts.lapses)]]) : new Map(),
      })
      .build();
  });

describe('another candidate with the name of one that takes part (rule 13)', () => {
  const twin = (name: string) => makeCandidate(name).with({ uid: `twin-of-${name}` });

  test.each([
    { name: 'is pinged together with it', of: twin('better').seenAt(0), want: true },
    { name: 'is not pinged if it is being deleted', of: twin('better').deleting().seenAt(0), want: false },
    { name: 'is not pinged if that one is not', of: twin('holder').seenAt(0), want: false },
    {
      name: 'is pinged once, even if it needs a ping for another reason',
      of: twin('better').renewedAt(-400_000).seenAt(0),
      want: true,
    },
  ])('$name', ({ of, want }) => {
    const input = makeInput()
      .with({ twins: [of.build()] })
      .sees(makeLease('holder'), 0)
      .candidates(makeCandidate('holder').seenAt(0), makeCandidate('better').emulating('1.30.0').seenAt(0));
    const { actions } = decideElection(input.build(), makeNow(1000));
    const uids = actions.map((action) => 'uid' in action && action.uid);
    expect(uids).toEqual(['uid-of-better', ...(want ? ['twin-of-better'] : [])]);
  });

  test.each([
    { name: 'is pinged later if it was not pinged', of: twin('better').seenAt(0), want: ['twin-of-better'] },
    { name: 'is not pinged again', of: twin('better').seenAt(0).pingedAt(500), want: [] },
    {
      name: 'is not pinged again after its answer',
      of: twin('better').seenAt(0).pingedAt(500).renewedAt(600),
      want: [],
    },
    {
      name: 'is not pinged for a ping that checks only the one',
      of: twin('better').seenAt(0),
      purpose: 'validity',
      want: [],
    },
  ] as const)('$name, while the answer of the one that takes part is awaited', ({ of, want, ...row }) => {
    // No slot was free for the ping of the twin, and a later decision has replaced the one with this ping.
    const asked = makeCandidate('better').emulating('1.30.0').seenAt(0);
    const input = makeInput()
      .with({ twins: [of.build()] })
      .sees(makeLease('holder'), 0)
      .candidates(
        makeCandidate('holder').seenAt(0),
        asked.pingedAt(500, 'purpose' in row ? row.purpose : 'election'),
      );
    const { actions } = decideElection(input.build(), makeNow(1000));
    expect(actions.map((action) => 'uid' in action && action.uid)).toEqual(want);
  });

  test('is not pinged if it is deleted: the server would refuse the second of two writes', () => {
    const old = [-900_000, -600_000, -300_000].reduce(
      (candidate, at) => candidate.pingedAt(at, 'collection'),
      twin('better').renewedAt(-9_000_000).seenAt(-9_000_000),
    );
    const input = makeInput()
      .with({ twins: [old.build()] })
      .sees(makeLease('holder'), 0)
      .candidates(makeCandidate('holder').seenAt(0), makeCandidate('better').emulating('1.30.0').seenAt(0));
    const { actions } = decideElection(input.build(), makeNow(1000));
    const kinds = actions.flatMap((action) => ('uid' in action ? [[action.kind, action.uid]] : []));
    expect(kinds).toEqual([
      ['PingCandidate', 'uid-of-better'],
      ['DeleteCandidate', 'twin-of-better'],
    ]);
  });
});

function isLeaseWrite({ kind }: Decision['actions'][number]): boolean {
  return kind === 'CreateLease' || kind === 'UpdateLease';
}

/** The actions follow the order of the candidates, which has no meaning. */
function inOrder(decision: Decision): Decision {
  return {
    ...decision,
    actions: decision.actions.toSorted((a, b) => (describeActions([a]) < describeActions([b]) ? -1 : 1)),
    standings: decision.standings.toSorted((a, b) => (a.candidate.name < b.candidate.name ? -1 : 1)),
  };
}

function isGrant(action: Decision['actions'][number]): boolean {
  return (
    (action.kind === 'CreateLease' && action.grant !== undefined) ||
    (action.kind === 'UpdateLease' && action.change.kind === 'grant')
  );
}

/** Returns the input after the pings of a decision were sent and shown by the watch. */
function withPingsSent(input: ElectionInput, { actions }: Decision, at: number): ElectionInput {
  const pings = new Map(
    actions.flatMap((action) => (action.kind === 'PingCandidate' ? [[action.name, action] as const] : [])),
  );
  return {
    ...input,
    candidates: input.candidates.map(({ candidate, observation }) => {
      const ping = pings.get(candidate.name);
      return ping
        ? {
            candidate: { ...candidate, pingTime: ping.pingTime },
            observation: recordPingDelivered(
              recordPing(observation, ping.purpose, at, defaultSettings),
              at,
              at,
            ),
          }
        : { candidate, observation };
    }),
  };
}

describe('any decision', () => {
  test('is the same for any order of candidates', () => {
    fc.assert(
      fc.property(
        situation,
        fc.integer({ min: 0, max: 20_000 }),
        fc.infiniteStream(fc.nat(3)),
        (input, at, swaps) => {
          const shuffled = [...input.candidates];
          for (const [index] of shuffled.entries()) {
            const other = swaps.next().value % shuffled.length;
            const [a, b] = [shuffled[index], shuffled[other]];
            if (a && b) [shuffled[index], shuffled[other]] = [b, a];
          }
          expect(inOrder(decideElection({ ...input, candidates: shuffled }, makeNow(at)))).toEqual(
            inOrder(decideElection(input, makeNow(at))),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('writes the Lease at most once, and before other objects', () => {
    fc.assert(
      fc.property(situation, (input) => {
        const kinds = decideElection(input, makeNow(0)).actions.map(isLeaseWrite);
        expect(kinds.lastIndexOf(true)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });

  test('pings no candidate twice, and none that is being deleted', () => {
    fc.assert(
      fc.property(situation, (input) => {
        const { actions } = decideElection(input, makeNow(0));
        const names = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
        expect(new Set(names).size).toBe(names.length);
        for (const { candidate } of input.candidates)
          if (candidate.isDeleting) expect(names).not.toContain(candidate.name);
      }),
      { numRuns: 2000 },
    );
  });

  test('grants nothing while the Lease has a valid holder, unless that has never renewed it (rules 7, 8 and 12)', () => {
    fc.assert(
      fc.property(situation, (input) => {
        const { record, unrenewedGrant } = input.memory;
        const isHeld = input.lease && record && record.holder !== '' && record.since + record.durationMs > 0;
        fc.pre(isHeld === true && unrenewedGrant === undefined);
        expect(decideElection(input, makeNow(0)).actions.filter(isGrant)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  test('grants the Lease to no other candidate while a former holder may still lead (rule 8)', () => {
    fc.assert(
      fc.property(situation, (input) => {
        const believers = allBeliefs(input.memory)
          .filter(({ renewedAt, durationMs }) => renewedAt + durationMs > 0)
          .map(({ holder }) => holder);
        fc.pre(believers.length > 0);
        for (const action of decideElection(input, makeNow(0)).actions.filter(isGrant)) {
          const [, holder] = /(?:to|for) (\w+),/.exec(describeActions([action])) ?? [];
          expect(believers).toEqual([holder]);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('requests another decision later, or none', () => {
    fc.assert(
      fc.property(situation, (input) => {
        const { requeue } = decideElection(input, makeNow(0));
        if (requeue.kind === 'at') expect(requeue.time).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  test('stays the same until the time in it (rule 9)', () => {
    fc.assert(
      fc.property(situation, fc.double({ min: 0, max: 2, noNaN: true }), (input, fraction) => {
        const first = decideElection(input, makeNow(0));
        const sent = withPingsSent(input, first, 0);
        fc.pre(!first.actions.some((action) => action.kind !== 'PingCandidate'));
        const known = {
          ...sent,
          memory: {
            ...sent.memory,
            rounds: first.isRound ? { count: sent.memory.rounds.count + 1, lastAt: 0 } : sent.memory.rounds,
            conflict: first.conflict ?? sent.memory.conflict,
            askingSince: first.isAsking ? 0 : undefined,
          },
        };
        const settled = decideElection(known, makeNow(0));
        fc.pre(settled.actions.length === 0 && !settled.isRound);
        // No candidate can lead: live candidates are pinged in the next round, not as soon as their answers are
        // stale.
        fc.pre(settled.outcome.kind !== 'noneElectable');
        // Rounds of pings in a conflict have their own backoff.
        fc.pre(settled.conflict === undefined);
        const until = settled.requeue.kind === 'at' ? settled.requeue.time : 4 * 3_600_000;
        // Whole milliseconds: a sum of fractions may round to a later time.
        // Half of the runs try the last millisecond: a time that the decision forgot is usually close to a known time.
        const at = fraction > 1 ? Math.ceil(until) - 1 : Math.floor(until * fraction);
        fc.pre(at < until);
        const between = decideElection(known, makeNow(at));
        expect([at, describeActions(between.actions)]).toEqual([at, '']);
      }),
      { numRuns: 1500 },
    );
  });
});

describe('a settled Lease (rule 9)', () => {
  const crowd = fc
    .array(observed, { minLength: 1, maxLength: 4 })
    .map((candidates) => candidates.map((make, index) => make(index)));

  test('keeps its decision until the time in it, while its holder renews', () => {
    fc.assert(
      fc.property(crowd, fc.double({ min: 0, max: 1, noNaN: true }), (candidates, fraction) => {
        const known = makeInput().candidates(...candidates);
        const { outcome } = decideElection(known.build(), makeNow(0));
        fc.pre(outcome.kind === 'leader');
        const led = makeLease(outcome.leader.name).strategy(outcome.strategy);
        const heldSince = (at: number) => known.sees(led.renewedAt(at), at).build();
        const first = decideElection(heldSince(0), makeNow(0));
        fc.pre(first.reason === 'LeaderOptimal' && first.actions.length === 0);
        const at = Math.min(first.steadyUntil, 4 * 3_600_000) * fraction;
        fc.pre(at < first.steadyUntil);
        const { reason, actions } = decideElection(heldSince(at), makeNow(at));
        expect([at, reason, describeActions(actions)]).toEqual([at, 'LeaderOptimal', '']);
      }),
      { numRuns: 1500 },
    );
  });

  test('costs nothing: no action, and one decision when it would be late', () => {
    const sim = new SimElection().add('a').add('b').run(60_500);
    expect(sim.decide()).toMatchObject({
      reason: 'LeaderOptimal',
      actions: [],
      requeue: { kind: 'at', time: 72_500 },
    });
    const [actions, decisions] = [sim.actionsApplied, sim.decisions.length];
    sim.run(60_000);
    expect(sim.actionsApplied).toBe(actions);
    // One decision for each renewal by the holder, which the watch shows.
    expect(sim.decisions.length - decisions).toBe(30);
  });
});

describe('repeated decisions', () => {
  const options = fc.record({
    emulation: fc.constantFrom('1.30.0', '1.31.0', '1.36.0'),
    strategy: fc.constantFrom(OLDEST, OLDEST, OLDEST, 'example.com/x'),
    lastRenewedMsAgo: fc.constantFrom(0, 60_000, 3_600_000, 3 * 3_600_000),
  });
  const holder = fc.constantFrom(undefined, '', 'c0', 'c1', 'stranger');

  test.each([
    { name: 'everybody answers', answersAfterMs: 1, wantLeader: true },
    { name: 'no candidate answers', answersAfterMs: Number.POSITIVE_INFINITY, wantLeader: false },
  ])('settle when $name', ({ answersAfterMs }) => {
    fc.assert(
      fc.property(
        fc.array(options, { minLength: 1, maxLength: 4 }),
        holder,
        fc.boolean(),
        (candidates, holderIdentity, isWatchFirst) => {
          const sim = new SimElection({ isWatchFirst });
          if (holderIdentity !== undefined)
            sim.editLease({ holderIdentity, leaseDurationSeconds: 15, strategy: OLDEST });
          for (const [index, candidate] of candidates.entries()) {
            sim.add(`c${index}`, { ...candidate, answersAfterMs, renewsByItself: false });
          }
          // The driver fails if it has actions at one instant without end.
          sim.run(12 * 60_000);
          const before = sim.actionsApplied;
          sim.run(60_000);
          // Without a leader, all candidates are pinged once a minute. With a leader, the Lease costs only a
          // keep-alive.
          expect(sim.actionsApplied - before, sim.transcript.join('\n')).toBeLessThanOrEqual(
            2 * candidates.length,
          );
          expect(sim.violations).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
