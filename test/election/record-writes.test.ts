import { describe, expect, test } from 'vitest';
import {
  again,
  type Grant,
  type LeaseMemory,
  noMemory,
  recordGrant,
  recordGrantAnswered,
} from '../../src/election/lease-memory.ts';
import { makeInput, makeLease, wallAt } from '../support/election-builders.ts';

const MINUTE = 60_000;

const grant: Grant = {
  holder: 'b',
  renewTime: wallAt(0),
  leaseDurationSeconds: 10,
  former: 'a',
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
};

function granted(memory: Partial<LeaseMemory>, changes: Partial<Grant>, at: number): LeaseMemory {
  return recordGrant({ ...noMemory, ...memory }, { ...grant, ...changes }, '7', at);
}

describe('a preemption (rule 7)', () => {
  test.each<{ name: string; changes: Partial<Grant>; at: number; want: number }>([
    { name: 'when its winner loses the Lease within a minute', changes: {}, at: MINUTE - 1, want: 1 },
    {
      name: 'when its winner is deleted before it led',
      changes: { revises: 'holderLost' },
      at: 5000,
      want: 1,
    },
    { name: 'not when it loses it later', changes: {}, at: MINUTE, want: 0 },
    { name: 'not when it gets the Lease again', changes: { holder: 'a' }, at: 5000, want: 0 },
    { name: 'not when it yields to a better one', changes: { isPreemption: true }, at: 5000, want: 0 },
    {
      name: 'not when a better one appears before it led',
      changes: { revises: 'holderWorse' },
      at: 5000,
      want: 0,
    },
  ])('has failed $name', ({ changes, at, want }) => {
    const { failedPreemptions, preemptedAt } = granted({ preemptedAt: 0 }, changes, at);
    expect(failedPreemptions.count).toBe(want);
    const wantPreemptedAt = changes.isPreemption ? at : want === 1 ? Number.NEGATIVE_INFINITY : 0;
    expect(preemptedAt).toBe(wantPreemptedAt);
  });

  test('has not failed if there was none', () => {
    expect(granted({}, {}, 5000).failedPreemptions.count).toBe(0);
  });
});

describe('a grant', () => {
  test('does not change the beliefs of former holders and of its new one', () => {
    const rest = { isOwnDuration: true, isParticipant: false, lostAt: 50 };
    const beliefs = [
      { holder: 'a', renewedAt: -16_000, durationMs: 15_000, ...rest },
      { holder: 'b', renewedAt: 0, durationMs: 9000, ...rest },
    ];
    expect(granted({ beliefs }, {}, 100).beliefs).toBe(beliefs);
    expect(granted({ beliefs }, { holder: 'c' }, 100).beliefs).toBe(beliefs);
  });

  test.each([
    { name: 'a loss for another former holder', holder: 'a', want: 11_000 },
    { name: 'no loss for the former holder if that gets the Lease again', holder: 'b', want: undefined },
  ])('is $name', ({ holder, want }) => {
    const led = makeInput().sees(makeLease('b').renewedAt(500), 500).build();
    const { beliefs } = granted(led.memory, { holder, former: 'b' }, 11_000);
    expect(beliefs).toMatchObject([{ holder: 'b', lostAt: want }]);
  });

  test('begins a series, which each revision continues (rule 12)', () => {
    const first = granted({ grantSeries: { count: 5, since: 1 } }, {}, 100);
    expect(first.grantSeries).toEqual({ count: 1, since: 100 });
    expect(granted(first, { revises: 'holderWorse' }, 300).grantSeries).toEqual({ count: 2, since: 100 });
  });

  test('is a lapse of the former holder if that has let its own grant expire, and of the Lease, but of no other candidate', () => {
    const lapsed = granted({}, { hasFormerLapsed: true }, 100);
    expect([...lapsed.lapses]).toEqual([['a', { count: 1, lastAt: 100 }]]);
    expect(lapsed.lapsesOfLease).toEqual({ count: 1, lastAt: 100 });
    expect(granted({}, {}, 100).lapses.size).toBe(0);
    expect(granted({}, {}, 100).lapsesOfLease.count).toBe(0);
    expect(granted({}, { former: undefined, hasFormerLapsed: true }, 100).lapses.size).toBe(0);
  });

  test('that was not renewed in time holds the former holder back at once, as after a second lapse', () => {
    const late = (memory: LeaseMemory, at: number) =>
      granted(memory, { revises: 'holderLate', hasFormerLapsed: true }, at);
    const once = late(noMemory, 5000);
    expect([once.lapses.get('a')?.count, once.lapsesOfLease.count]).toEqual([2, 1]);
    const twice = late(once, 40_000);
    expect([twice.lapses.get('a')?.count, twice.lapsesOfLease.count]).toEqual([3, 2]);
  });

  test('forgets candidates that have not lapsed for 15 min', () => {
    const lapses = new Map([
      ['recent', { count: 1, lastAt: 0 }],
      ['long ago', { count: 1, lastAt: -1 }],
    ]);
    const { lapses: kept } = granted({ lapses }, { hasFormerLapsed: true }, 15 * MINUTE);
    expect([...kept.keys()]).toEqual(['recent', 'a']);
  });

  test('uses all acks, and restarts everything that was tried without success', () => {
    const tried = { count: 3, lastAt: 50 };
    const before = {
      rounds: tried,
      ignoredWrites: tried,
      conflict: 'c',
      askingSince: 5,
      written: { strategy: 's' },
    };
    expect(granted({ ...before, grantOnItsWay: grant }, {}, 100)).toMatchObject({
      ...{ rounds: { count: 0 }, ignoredWrites: { count: 0 }, conflict: undefined, askingSince: undefined },
      ...{ written: {}, grantOnItsWay: undefined, decidedAt: 100 },
      unrenewedGrant: {
        ...{ holder: 'b', renewTime: wallAt(0), resourceVersion: '7' },
        ...{ leaseDurationSeconds: 10, takeUpBy: 5100, isPreemption: false },
      },
    });
  });

  test.each([
    { name: 'is unrenewed while the watch shows the server’s answer', version: '7', want: true },
    { name: 'was renewed if the watch had shown a later one by then', version: '8', want: false },
  ])('that the watch has shown before the answer $name', ({ version, want }) => {
    const seen = recordGrant({ ...noMemory, grantOnItsWay: grant }, grant, version, 100);
    const answered = recordGrantAnswered(seen, grant, '7', 200);
    expect(answered.unrenewedGrant !== undefined).toBe(want);
    expect(answered.decidedAt).toBe(200);
  });
});

test('attempts more than 15 min apart are unrelated', () => {
  expect(again({ count: 4, lastAt: 0 }, 15 * MINUTE)).toEqual({ count: 5, lastAt: 15 * MINUTE });
  expect(again({ count: 4, lastAt: 0 }, 15 * MINUTE + 1)).toEqual({ count: 1, lastAt: 15 * MINUTE + 1 });
});
