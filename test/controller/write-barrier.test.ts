import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { WriteBarrier } from '../../src/controller/write-barrier.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const CANDIDATE = { kind: 'candidate', name: 'a' } as const;

let clock: VirtualClock;
let records: ElectionRecords;
let barrier: WriteBarrier;
let unexplained: string[];

beforeEach(() => {
  // The longest of each jittered delay.
  clock = new VirtualClock({ random: () => 1 });
  records = new ElectionRecords(defaultSettings);
  unexplained = [];
  barrier = new WriteBarrier(clock, records, (kind) => unexplained.push(kind));
});

function seeLease(resourceVersion: string | undefined): void {
  const lease = resourceVersion && makeLease('a').with({ resourceVersion }).build();
  records.seeLease(KEY, lease || undefined, makeNow(clock.now()));
}

describe('a barrier (rule 8)', () => {
  test('is open before anything was written', () => {
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('stays closed while the cache shows what the write was based on, and opens with any other version', () => {
    seeLease('7');
    barrier.expectChange(KEY, LEASE, '7');
    expect(barrier.closedUntil(KEY)).toBe(10_000);
    seeLease('7');
    expect(barrier.closedUntil(KEY)).toBe(10_000);
    seeLease('8');
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('opens at once when the cache was ahead of the answer', () => {
    seeLease('8');
    barrier.expectChange(KEY, LEASE, '7');
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('opens when the object is gone', () => {
    seeLease('7');
    barrier.expectChange(KEY, LEASE, '7');
    seeLease(undefined);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('waits for a Lease that was made to appear', () => {
    barrier.expectChange(KEY, LEASE, undefined);
    expect(barrier.closedUntil(KEY)).toBe(10_000);
    seeLease('1');
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('to a candidate has nothing to do with its Lease, or with another candidate', () => {
    seeLease('7');
    records.seeCandidate(makeCandidate('a').with({ resourceVersion: '3' }).build(), makeNow(0));
    barrier.expectChange(KEY, CANDIDATE, '3');
    expect(barrier.closedUntil(KEY)).toBeUndefined();
    expect(barrier.candidateClosedUntil(KEY, 'b')).toBeUndefined();
    expect(barrier.candidateClosedUntil(KEY, 'a')).toBe(10_000);
    records.seeCandidate(makeCandidate('a').with({ resourceVersion: '4' }).build(), makeNow(0));
    expect(barrier.candidateClosedUntil(KEY, 'a')).toBeUndefined();
  });

  test('is closed while a write is under way, however long that takes', async () => {
    barrier.begin(KEY, LEASE);
    await clock.advance(60_000);
    expect(barrier.closedUntil(KEY)).toBe(Number.POSITIVE_INFINITY);
    barrier.succeeded(KEY, LEASE);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('gives a stalled watch ten seconds, and then says that the cache has missed something', async () => {
    seeLease('7');
    barrier.expectChange(KEY, LEASE, '7');
    await clock.advance(9999);
    expect(barrier.closedUntil(KEY)).toBe(10_000);
    expect(unexplained).toEqual([]);
    await clock.advance(1);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
    expect(unexplained).toEqual(['lease']);
  });

  test('of one Lease has nothing to do with another', () => {
    barrier.expectChange(KEY, LEASE, undefined);
    expect(barrier.closedUntil('kube-system/other')).toBeUndefined();
  });
});

describe('failures', () => {
  /** Fails once more, and says after how many milliseconds it may be tried again. */
  function delayAfterFailure(floorMs: number, isConflict: boolean): number {
    barrier.failed(KEY, LEASE, floorMs, isConflict);
    return (barrier.closedUntil(KEY) ?? clock.now()) - clock.now();
  }

  test('back off, doubling from 20 ms to half a minute', () => {
    const delays = Array.from({ length: 14 }, () => delayAfterFailure(0, false));
    expect(delays.slice(0, 4)).toEqual([20, 40, 80, 160]);
    expect(delays.at(-1)).toBe(30_000);
  });

  test('close the barrier until the retry', async () => {
    barrier.failed(KEY, LEASE, 0, false);
    expect(barrier.closedUntil(KEY)).toBe(20);
    await clock.advance(20);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('to write one candidate keep nothing else from being written', () => {
    barrier.failed(KEY, CANDIDATE, 0, false);
    expect(barrier.candidateClosedUntil(KEY, 'a')).toBe(20);
    expect(barrier.candidateClosedUntil(KEY, 'b')).toBeUndefined();
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });

  test('that are conflicts cost nothing the first time, then as much as any other', () => {
    expect(Array.from({ length: 4 }, () => delayAfterFailure(0, true))).toEqual([0, 20, 40, 80]);
  });

  test('are spread by chance, over the second half of the delay', () => {
    clock = new VirtualClock({ random: () => 0 });
    barrier = new WriteBarrier(clock, records, (kind) => unexplained.push(kind));
    expect(delayAfterFailure(0, false)).toBe(10);
  });

  test('wait for as long as the server asks', () => {
    expect(delayAfterFailure(5000, false)).toBe(5000);
    expect(delayAfterFailure(5000, true)).toBe(5000);
  });

  test('begin anew after a success', () => {
    barrier.failed(KEY, LEASE, 0, false);
    barrier.failed(KEY, LEASE, 0, false);
    barrier.succeeded(KEY, LEASE);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
    expect(delayAfterFailure(0, false)).toBe(20);
  });

  test('and expectations are forgotten with their Lease', () => {
    barrier.failed(KEY, LEASE, 0, false);
    barrier.expectChange(KEY, LEASE, undefined);
    barrier.forget(KEY);
    expect(barrier.closedUntil(KEY)).toBeUndefined();
  });
});
