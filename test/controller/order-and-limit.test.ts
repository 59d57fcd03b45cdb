import { beforeEach, describe, expect, test } from 'vitest';
import {
  FairKeys,
  RequestLimit,
  URGENCIES,
  type Urgency,
  urgencyOf,
} from '../../src/controller/order-and-limit.ts';
import type { PingPurpose } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { Action, LeaseChange, Reason } from '../../src/election/decision.ts';
import { makeInput, makeNow, OLDEST } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const grant = {
  holder: 'a',
  renewTime: 0n,
  former: undefined,
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  leaseDurationSeconds: 10,
};
const candidate = { name: 'a', uid: 'u', resourceVersion: '1' };

function update(change: LeaseChange): Action {
  return { kind: 'UpdateLease', uid: 'u', resourceVersion: '1', change };
}

function ping(purpose: PingPurpose): Action {
  return { kind: 'PingCandidate', source: 'native', ...candidate, pingTime: 0n, purpose };
}

describe('the urgency of requests', () => {
  test.each<{ name: string; action: Action; reason?: Reason; want: Urgency }>([
    {
      name: 'creating a Lease for a candidate',
      action: { kind: 'CreateLease', strategy: OLDEST, grant },
      want: 'grant',
    },
    {
      name: 'granting a Lease to a candidate',
      action: update({ kind: 'grant', grant, leaseTransitions: 1, strategy: OLDEST }),
      want: 'grant',
    },
    {
      name: 'creating a Lease for a third-party strategy',
      action: { kind: 'CreateLease', strategy: 'x.io/theirs', grant: undefined },
      want: 'preference',
    },
    {
      name: 'preferring a candidate',
      action: update({ kind: 'prefer', preferredHolder: 'a', strategy: OLDEST }),
      want: 'preference',
    },
    {
      name: 'taking that back',
      action: update({ kind: 'clearPreferredHolder', hasFailed: true }),
      want: 'preference',
    },
    {
      name: 'naming a strategy',
      action: update({
        kind: 'strategy',
        strategy: OLDEST,
        isHolderAbsent: false,
        removesPreferredHolder: false,
      }),
      want: 'preference',
    },
    {
      name: 'asking whether the preferred candidate still lives',
      action: ping('preemption'),
      reason: 'PreemptionPending',
      want: 'preference',
    },
    { name: 'asking candidates of a vacant Lease', action: ping('election'), want: 'vacant' },
    { name: 'asking those that were silent', action: ping('revival'), want: 'vacant' },
    { name: 'asking ahead of an expiry', action: ping('expiry'), want: 'expiry' },
    {
      name: 'pinging a candidate that is better than the holder',
      action: ping('preemption'),
      reason: 'AwaitingAcks',
      want: 'expiry',
    },
    {
      name: 'pinging a candidate that has been silent for minutes',
      action: ping('validity'),
      want: 'housekeeping',
    },
    { name: 'pinging a candidate that is to be deleted', action: ping('collection'), want: 'housekeeping' },
    {
      name: 'deleting a candidate',
      action: { kind: 'DeleteCandidate', source: 'native', ...candidate },
      want: 'housekeeping',
    },
  ])('$name has urgency $want', ({ action, reason = 'LeaseMissing', want }) => {
    const decision = { ...decideElection(makeInput().build(), makeNow(0)), reason };
    expect(urgencyOf(action, decision)).toBe(want);
  });

  test('follows rule 9', () => {
    expect(URGENCIES).toEqual(['grant', 'preference', 'vacant', 'expiry', 'housekeeping']);
  });
});

/** Returns all remaining keys, in order. */
function drain(keys: FairKeys): readonly string[] {
  const order: string[] = [];
  for (let key = keys.shift(); key !== undefined; key = keys.shift()) order.push(key);
  return order;
}

interface Entry {
  readonly key: string;
  readonly namespace: string;
  readonly level?: number;
  readonly since?: number;
}

describe('keys leave the queue', () => {
  test.each<{ name: string; entries: readonly Entry[]; want: readonly string[] }>([
    { name: 'not at all when there are none', entries: [], want: [] },
    {
      name: 'by the start of their wait, whatever their insertion order',
      entries: [
        { key: 'late', namespace: 'a', since: 30 },
        { key: 'early', namespace: 'a', since: 10 },
        { key: 'middle', namespace: 'a', since: 20 },
      ],
      want: ['early', 'middle', 'late'],
    },
    {
      name: 'by their level before that, however long the others have waited',
      entries: [
        { key: 'busy', namespace: 'a', level: 1, since: -1e9 },
        { key: 'idle', namespace: 'a', level: 0, since: 1e9 },
      ],
      want: ['idle', 'busy'],
    },
    {
      name: 'of each namespace in turn',
      entries: [
        { key: 'a1', namespace: 'a' },
        { key: 'a2', namespace: 'a' },
        { key: 'a3', namespace: 'a' },
        { key: 'b1', namespace: 'b', level: 5, since: 99 },
        { key: 'c1', namespace: 'c' },
        { key: 'c2', namespace: 'c' },
      ],
      want: ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'],
    },
    {
      name: 'in insertion order, if all else is equal',
      entries: [
        { key: 'one', namespace: 'a' },
        { key: 'two', namespace: 'a' },
        { key: 'three', namespace: 'a' },
      ],
      want: ['one', 'two', 'three'],
    },
    {
      name: 'once, at their last position',
      entries: [
        { key: 'moved', namespace: 'a', since: 10 },
        { key: 'other', namespace: 'a', since: 20 },
        { key: 'moved', namespace: 'a', since: 30 },
      ],
      want: ['other', 'moved'],
    },
  ])('$name', ({ entries, want }) => {
    const keys = new FairKeys();
    for (const { key, namespace, level = 0, since = 0 } of entries) keys.set(key, namespace, level, since);
    expect(drain(keys)).toEqual(want);
  });

  test('after the existing namespaces, if their namespace comes back', () => {
    const keys = new FairKeys();
    keys.set('a1', 'a', 0, 0);
    keys.set('b1', 'b', 0, 0);
    expect(keys.shift()).toBe('a1');
    keys.set('a2', 'a', 0, 0);
    expect(drain(keys)).toEqual(['b1', 'a2']);
  });

  test('without the removed ones', () => {
    const keys = new FairKeys();
    keys.set('a1', 'a', 0, 0);
    keys.set('b1', 'b', 0, 0);
    keys.set('b2', 'b', 0, 0);
    keys.delete('a1', 'a');
    keys.delete('b1', 'b');
    keys.delete('never', 'there');
    expect(drain(keys)).toEqual(['b2']);
  });
});

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

/** Sends this many requests together, and answers them together after this time. */
async function round(
  limit: RequestLimit,
  requests: number,
  tookMs: number,
  isAnswered = true,
): Promise<void> {
  const sentAt = clock.now();
  await clock.advance(tookMs);
  for (let answers = 0; answers < requests; answers++) limit.answered(sentAt, isAnswered);
}

describe('the limit of requests in flight (rule 9)', () => {
  test.each<{ name: string; tookMs: number; isAnswered?: boolean; want: number }>([
    { name: 'stays when answers are fast', tookMs: 10, want: 16 },
    { name: 'stays when they take a while', tookMs: 1000, want: 16 },
    { name: 'shrinks by a quarter when they are slow', tookMs: 1001, want: 12 },
    { name: 'shrinks by a quarter when the server is overloaded', tookMs: 10, isAnswered: false, want: 12 },
    { name: 'shrinks by a quarter when there is no answer', tookMs: 5000, isAnswered: false, want: 12 },
  ])('$name', async ({ tookMs, isAnswered = true, want }) => {
    const limit = new RequestLimit(clock, 16);
    expect(limit.current).toBe(16);
    await round(limit, 16, tookMs, isAnswered);
    expect(limit.current).toBe(want);
  });

  test('shrinks once for all requests that were in flight together, and again for later ones', async () => {
    const limit = new RequestLimit(clock, 16);
    const sentAt = clock.now();
    await clock.advance(1500);
    limit.answered(sentAt, true);
    await clock.advance(1500);
    for (let answers = 1; answers < 16; answers++) limit.answered(sentAt, true);
    expect(limit.current).toBe(12);
    await round(limit, 12, 1500);
    expect(limit.current).toBe(9);
  });

  test('never falls below eight, so that we get answers although others overload the server', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let rounds = 0; rounds < 20; rounds++) await round(limit, 8, 2000, false);
    expect(limit.current).toBe(8);
  });

  test('never exceeds its maximum, even if that is below eight', async () => {
    const limit = new RequestLimit(clock, 2);
    await round(limit, 2, 2000);
    expect(limit.current).toBe(2);
    for (let rounds = 0; rounds < 5; rounds++) await round(limit, 2, 10);
    expect(limit.current).toBe(2);
  });

  test('grows by about one for each round of fast answers, back to its maximum', async () => {
    const limit = new RequestLimit(clock, 16);
    await round(limit, 16, 2000);
    const sizes: number[] = [];
    while (limit.current < 16 && sizes.length < 20) {
      await round(limit, limit.current, 10);
      sizes.push(limit.current);
    }
    expect(sizes.at(-1)).toBe(16);
    expect(sizes.length).toBeGreaterThanOrEqual(4);
    expect(sizes.length).toBeLessThanOrEqual(6);
    await round(limit, 16, 10);
    expect(limit.current).toBe(16);
  });

  test.each([
    { tookMs: 249, want: 16 },
    { tookMs: 250, want: 12 },
    { tookMs: 1000, want: 12 },
    { tookMs: 1001, want: 8 },
  ])(
    'grows by answers below 250 ms, shrinks by answers above a second, and by no others: $tookMs ms',
    async ({ tookMs, want }) => {
      const limit = new RequestLimit(clock, 16);
      await round(limit, 16, 2000);
      for (let rounds = 0; rounds < 10; rounds++) await round(limit, 12, tookMs);
      expect(limit.current).toBe(want);
    },
  );

  test('considers the latency of the idle server: a server that is always slow is not overloaded', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let second = 0; second < 120; second += 2) await round(limit, limit.current, 1500);
    expect(limit.current).toBe(16);
    // And then it is.
    await round(limit, 16, 3500);
    expect(limit.current).toBe(12);
  });

  test('considers its fastest answers, whatever the others take', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let rounds = 0; rounds < 30; rounds++) {
      await round(limit, limit.current, 1500);
      await round(limit, limit.current, 2900);
    }
    expect(limit.current).toBe(16);
    await round(limit, 16, 3500);
    expect(limit.current).toBe(12);
  });

  test('shrinks again for requests that were sent the moment after it shrank', async () => {
    const limit = new RequestLimit(clock, 16);
    await round(limit, 1, 1500);
    const sentAt = clock.now();
    await clock.advance(1500);
    limit.answered(sentAt, true);
    expect(limit.current).toBe(9);
  });
});
