import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { grantOf } from '../../src/election/decision.ts';
import { type LeaseMemory, noMemory, recordGrant } from '../../src/election/lease-memory.ts';
import { isHeldBack } from '../../src/election/view.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const granted = makeInput()
  .sees(makeLease('best'), 0)
  .remembers({ unrenewedGrant: makeUnrenewedGrant('best'), beliefs: [] });
const best = makeCandidate('best').emulating('1.30.0').seenAt(0);
const next = makeCandidate('next').seenAt(0);

describe('a grant that its holder does not renew within 5 s (rule 12)', () => {
  test('goes to the best other live candidate, and counts as a lapse', () => {
    const input = granted.candidates(best.renewedAt(4900), next.renewedAt(4900));
    expect(decideElection(input.build(), makeNow(4999)).reason).toBe('LeaderOptimal');
    const decision = decideElection(input.build(), makeNow(5000));
    expect(decision.reason).toBe('GrantRevised');
    expect(grantOf(decision)).toMatchObject({ holder: 'next', revises: 'holderLate', hasFormerLapsed: true });
  });

  test('is replaced without a ping to its holder, although that is not known to be alive', () => {
    const { actions } = decideElection(granted.candidates(best, next.renewedAt(4900)).build(), makeNow(5000));
    expect(describeActions(actions)).toBe('grant the Lease to next, OldestEmulationVersion, transition 1');
  });

  test('causes pings to others half a second earlier, and not before', () => {
    const input = granted.candidates(best.renewedAt(4400), next);
    const actionsAt = (at: number) => describeActions(decideElection(input.build(), makeNow(at)).actions);
    expect(actionsAt(4499)).toBe('');
    expect(actionsAt(4500)).toBe('ping next (expiry)');
  });

  test('stays with its holder while no other candidate is alive', () => {
    const input = granted.candidates(best.renewedAt(4900), next.pingedAt(-6000));
    expect(grantOf(decideElection(input.build(), makeNow(6000)))).toBeUndefined();
  });

  test('is not revised for a better candidate any more while others are pinged: that would not count as a lapse', () => {
    const better = makeCandidate('better').emulating('1.29.0').seenAt(0);
    const input = granted.candidates(best.renewedAt(4400), better.renewedAt(4400));
    expect(grantOf(decideElection(input.build(), makeNow(4499)))).toMatchObject({ revises: 'holderWorse' });
    expect(decideElection(input.build(), makeNow(4500)).reason).toBe('RevisionPending');
    expect(grantOf(decideElection(input.build(), makeNow(5000)))).toMatchObject({
      ...{ holder: 'better', revises: 'holderLate', hasFormerLapsed: true },
    });
  });

  test('gets more time if the server answers slowly', () => {
    const grant = {
      ...{ holder: 'best', renewTime: wallAt(0), leaseDurationSeconds: 10, former: undefined },
      ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
    };
    const slow = recordGrant(noMemory, grant, '1', 3000, 0);
    expect(slow.unrenewedGrant?.takeUpBy).toBe(3000 + 5000 + 3000);
  });

  test('leads to no second one: its holder is held back while another can lead', () => {
    const sim = new SimElection()
      .add('next')
      .run(12_000)
      .add('best', { emulation: '1.30.0', elector: 'none' })
      .run(35_000);
    const grants = sim.transcript.filter((line) => /(to|for) best,/.test(line));
    expect(grants).toHaveLength(1);
    expect(sim.believers).toEqual(['next']);
  });
});

test('a grant whose expiry is its second lapse causes pings only to other candidates ahead of it (rules 6 and 7)', () => {
  // `best` may still lead by an earlier record, so the grant is not provisional.
  const belief = { holder: 'best', renewedAt: -6000, durationMs: 15_000, lostAt: -1000 };
  const input = granted
    .remembers({
      beliefs: [{ ...belief, isOwnDuration: true, isParticipant: false }],
      lapses: new Map([['best', { count: 1, lastAt: -60_000 }]]),
    })
    .candidates(best, next);
  expect(describeActions(decideElection(input.build(), makeNow(7000)).actions)).toBe('ping next (expiry)');
});

describe('lapses count per Lease, with any names of its holders (rule 7)', () => {
  const lapse = (memory: LeaseMemory, former: string, holder: string, at: number) =>
    recordGrant(
      memory,
      {
        ...{ holder, former, renewTime: wallAt(at), leaseDurationSeconds: 10 },
        ...{ hasFormerLapsed: true, revises: undefined, isPreemption: false },
      },
      String(at),
      at,
    );

  test('the first of each name is free only while no other has let one lapse', () => {
    const once = lapse(noMemory, 'crasher-1', 'crasher-2', 10_000);
    const twice = lapse(once, 'crasher-2', 'x', 20_000);
    expect(isHeldBack(makeInput().remembers(once).build(), 'crasher-1', 11_000)).toBe(false);
    const input = makeInput().remembers(twice).build();
    expect(isHeldBack(input, 'crasher-2', 21_000)).toBe(true);
    expect(isHeldBack(input, 'crasher-2', 40_000)).toBe(false);
    expect(isHeldBack(input, 'next', 21_000)).toBe(false);
  });

  test('one is enough if a leader had to yield for it', () => {
    const preempting = { ...noMemory, unrenewedGrant: { ...makeUnrenewedGrant('best'), isPreemption: true } };
    const input = makeInput()
      .remembers(lapse(preempting, 'best', 'next', 10_000))
      .build();
    expect(isHeldBack(input, 'best', 11_000)).toBe(true);
    expect(isHeldBack(input, 'best', 30_000)).toBe(false);
  });

  test('of several that are held back, the one with the fewest lapses gets the Lease', () => {
    const lapses = new Map([
      ['best', { count: 5, lastAt: 1000 }],
      ['next', { count: 2, lastAt: 1000 }],
    ]);
    const input = makeInput().remembers({ lapses }).candidates(best.renewedAt(2000), next.renewedAt(2000));
    expect(grantOf(decideElection(input.build(), makeNow(2000)))?.holder).toBe('next');
  });

  test('of several that are held back, a grant that has just run out counts, too', () => {
    const lapses = new Map([
      ['best', { count: 2, lastAt: -1000 }],
      ['next', { count: 2, lastAt: -1000 }],
    ]);
    const input = makeInput()
      .remembers({ lapses, unrenewedGrant: makeUnrenewedGrant('best') })
      .sees(makeLease('best'), 0)
      .candidates(best.renewedAt(9000), next.renewedAt(9000));
    expect(grantOf(decideElection(input.build(), makeNow(10_000)))?.holder).toBe('next');
  });

  test('of several that are held back, the one with the fewest lapses is pinged first, although another is known to live', () => {
    const lapses = new Map([
      ['best', { count: 5, lastAt: 1000 }],
      ['next', { count: 2, lastAt: 1000 }],
    ]);
    const input = makeInput().remembers({ lapses }).candidates(best.renewedAt(2000), next);
    const decision = decideElection(input.build(), makeNow(2000));
    expect(describeActions(decision.actions)).toBe('ping next (election)');
    expect(decision.isAsking).toBe(true);
    const silent = makeInput().remembers({ lapses }).candidates(best.renewedAt(8000), next.pingedAt(2000));
    expect(grantOf(decideElection(silent.build(), makeNow(8000)))?.holder).toBe('best');
  });

  test('of several that are held back, the best live one gets the Lease if those with the fewest lapses cannot be elected', () => {
    const lapses = new Map([
      ['unreadable', { count: 2, lastAt: 1000 }],
      ['next', { count: 3, lastAt: 1000 }],
      ['best', { count: 3, lastAt: 1000 }],
    ]);
    const unreadable = makeCandidate('unreadable').emulating('none').seenAt(0).renewedAt(2000);
    const input = makeInput().remembers({ lapses }).candidates(unreadable, next.renewedAt(2000), best);
    expect(grantOf(decideElection(input.build(), makeNow(2000)))?.holder).toBe('next');
  });

  test('of another candidate hold no candidate back for longer', () => {
    const lapses = new Map([['next', { count: 1, lastAt: 1000 }]]);
    const input = makeInput().remembers({ lapses, lapsesOfLease: { count: 20, lastAt: 1000 } });
    expect(isHeldBack(input.build(), 'next', 20_999)).toBe(true);
    expect(isHeldBack(input.build(), 'next', 21_000)).toBe(false);
  });

  test('also if the leader has released the Lease, which removes preferredHolder from it', () => {
    const released = makeInput()
      .sees(makeLease('next').preferring('best'), 0)
      .sees(makeLease().releasedAt(1000), 1000)
      .candidates(makeCandidate('best').emulating('1.30.0').seenAt(0).renewedAt(1000));
    expect(grantOf(decideElection(released.build(), makeNow(1000)))).toMatchObject({
      holder: 'best',
      isPreemption: true,
    });
  });

  test('a holder that renews its grant ends them', () => {
    const twice = lapse(lapse(noMemory, 'crasher-1', 'crasher-2', 10_000), 'crasher-2', 'x', 20_000);
    const granted = makeLease('x')
      .renewedAt(20_000)
      .with({ acquireTime: wallAt(20_000) });
    const taken = makeInput()
      .remembers(twice)
      .sees(granted.with({ resourceVersion: '20000' }), 20_000)
      .sees(granted.renewedAt(22_000).with({ resourceVersion: '2' }), 22_000);
    expect(taken.build().memory.lapsesOfLease.count).toBe(0);
  });
});

test('a candidate that has released the Lease is held back for 5 s, and not longer (rule 3)', () => {
  const input = makeInput().remembers({ withdrawals: new Map([['next', 1000]]) });
  expect([5999, 6000].map((at) => isHeldBack(input.build(), 'next', at))).toEqual([true, false]);
});
