import { beforeEach, describe, expect, test } from 'vitest';
import { WriteBackoff } from '../../src/controller/write-backoff.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const CANDIDATE = { kind: 'candidate', name: 'a', uid: 'uid-of-a' } as const;

let clock: VirtualClock;
let backoff: WriteBackoff;

beforeEach(() => {
  // The longest of each delay.
  clock = new VirtualClock({ random: () => 1 });
  backoff = new WriteBackoff(clock);
});

/** Fails once more, and says after how many milliseconds it may be tried again. */
function delayAfterFailure(floorMs: number, isConflict: boolean): number {
  backoff.failed(KEY, LEASE, floorMs, isConflict);
  return (backoff.retryAt(KEY, LEASE) ?? clock.now()) - clock.now();
}

describe('failures', () => {
  test('back off, doubling from 20 ms to half a minute', () => {
    const delays = Array.from({ length: 14 }, () => delayAfterFailure(0, false));
    expect(delays.slice(0, 4)).toEqual([20, 40, 80, 160]);
    expect(delays.at(-1)).toBe(30_000);
  });

  test('keep the object from being written until the retry', async () => {
    backoff.failed(KEY, LEASE, 0, false);
    expect(backoff.retryAt(KEY, LEASE)).toBe(20);
    await clock.advance(20);
    expect(backoff.retryAt(KEY, LEASE)).toBeUndefined();
  });

  test('to write one candidate keep nothing else from being written', () => {
    backoff.failed(KEY, CANDIDATE, 0, false);
    expect(backoff.retryAt(KEY, CANDIDATE)).toBe(20);
    expect(backoff.retryAt(KEY, { ...CANDIDATE, name: 'b', uid: 'uid-of-b' })).toBeUndefined();
    // Nor its twin, of the other source (rule 13).
    expect(backoff.retryAt(KEY, { ...CANDIDATE, uid: 'uid-of-twin' })).toBeUndefined();
    expect(backoff.retryAt(KEY, LEASE)).toBeUndefined();
  });

  test('that are conflicts cost nothing the first time, then as much as any other', () => {
    expect(Array.from({ length: 4 }, () => delayAfterFailure(0, true))).toEqual([0, 20, 40, 80]);
  });

  test('are spread by chance, over the second half of the delay', () => {
    clock = new VirtualClock({ random: () => 0 });
    backoff = new WriteBackoff(clock);
    expect(delayAfterFailure(0, false)).toBe(10);
  });

  test('wait for as long as the server asks', () => {
    expect(delayAfterFailure(5000, false)).toBe(5000);
    expect(delayAfterFailure(5000, true)).toBe(5000);
  });

  test('begin anew after a success', () => {
    backoff.failed(KEY, LEASE, 0, false);
    backoff.failed(KEY, LEASE, 0, false);
    backoff.succeeded(KEY, LEASE);
    expect(backoff.retryAt(KEY, LEASE)).toBeUndefined();
    expect(delayAfterFailure(0, false)).toBe(20);
  });

  test('are forgotten with their Lease', () => {
    backoff.failed(KEY, LEASE, 0, false);
    backoff.forget(KEY);
    expect(backoff.retryAt(KEY, LEASE)).toBeUndefined();
    expect(delayAfterFailure(0, false)).toBe(20);
  });
});
