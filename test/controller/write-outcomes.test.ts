import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import {
  type AwaitedAnswer,
  WriteGate,
  type WrittenObject,
  writtenBy,
} from '../../src/controller/write-outcomes.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow, wallAt } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const CANDIDATE = { kind: 'candidate', name: 'a', uid: 'uid-of-a' } as const;

let clock: VirtualClock;
let records: ElectionRecords;
let gate: WriteGate;

beforeEach(() => {
  clock = new VirtualClock();
  records = new ElectionRecords(defaultSettings);
  gate = new WriteGate(clock, records);
});

function seeLease(resourceVersion: string | undefined): void {
  const lease = resourceVersion && makeLease('a').with({ resourceVersion }).build();
  records.seeLease(KEY, lease || undefined, makeNow(clock.now()));
}

function seeCandidate(resourceVersion: string): void {
  records.seeCandidate(makeCandidate('a').with({ resourceVersion }).build(), makeNow(clock.now()));
}

/** A write was sent and answered. */
function answered(object: WrittenObject, baseVersion: string | undefined): void {
  gate.expectChange(KEY, object, gate.expectAnswer(KEY, object), baseVersion);
}

describe('the result of a write (rule 8)', () => {
  test('is not awaited before the first write', () => {
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(gate.giveUp(KEY, LEASE)).toBe(false);
  });

  test('is awaited while the cache shows the base of the write, and known with any other version', () => {
    seeLease('7');
    answered(LEASE, '7');
    expect(gate.closedUntil(KEY, LEASE)).toBe(10_000);
    seeLease('7');
    expect(gate.closedUntil(KEY, LEASE)).toBe(10_000);
    seeLease('8');
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(gate.giveUp(KEY, LEASE)).toBe(false);
  });

  test('is known at once if the cache was ahead of the answer', () => {
    seeLease('8');
    answered(LEASE, '7');
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is known when the object is deleted', () => {
    seeLease('7');
    answered(LEASE, '7');
    seeLease(undefined);
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is awaited after the creation of a Lease', () => {
    answered(LEASE, undefined);
    expect(gate.closedUntil(KEY, LEASE)).toBe(10_000);
    seeLease('1');
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('for a candidate does not affect its Lease, or another candidate', () => {
    seeLease('7');
    seeCandidate('3');
    answered(CANDIDATE, '3');
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(gate.closedUntil(KEY, { ...CANDIDATE, name: 'b', uid: 'uid-of-b' })).toBeUndefined();
    // Nor with its twin, of the other source (rule 13).
    expect(gate.closedUntil(KEY, { ...CANDIDATE, uid: 'uid-of-twin' })).toBeUndefined();
    expect(gate.closedUntil(KEY, CANDIDATE)).toBe(10_000);
    seeCandidate('4');
    expect(gate.closedUntil(KEY, CANDIDATE)).toBeUndefined();
  });

  test('is awaited while the write is in flight, for any time', async () => {
    gate.expectAnswer(KEY, LEASE);
    await clock.advance(60_000);
    expect(gate.closedUntil(KEY, LEASE)).toBe(Number.POSITIVE_INFINITY);
    expect(gate.giveUp(KEY, LEASE)).toBe(false);
    expect(gate.closedUntil(KEY, LEASE)).toBe(Number.POSITIVE_INFINITY);
    answered(LEASE, '7');
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is not awaited after a write without an answer', () => {
    gate.expectNothing(KEY, LEASE, gate.expectAnswer(KEY, LEASE));
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(gate.giveUp(KEY, LEASE)).toBe(false);
  });

  test.each([
    { name: 'fails', ends: (former: AwaitedAnswer) => gate.expectNothing(KEY, CANDIDATE, former) },
    {
      name: 'is answered',
      ends: (former: AwaitedAnswer) => gate.expectChange(KEY, CANDIDATE, former, '3'),
    },
  ])(
    'is awaited after a late answer to an earlier write, which $name only now: the object was deleted in the meantime',
    ({ ends }) => {
      const former = gate.expectAnswer(KEY, CANDIDATE);
      gate.forgetObject(KEY, CANDIDATE);
      seeCandidate('7');
      answered(CANDIDATE, '7');
      ends(former);
      expect(gate.closedUntil(KEY, CANDIDATE)).toBe(10_000);
    },
  );

  test('is awaited although the object was deleted in the meantime, if there was no later write', () => {
    const sent = gate.expectAnswer(KEY, CANDIDATE);
    gate.forgetObject(KEY, CANDIDATE);
    seeCandidate('7');
    gate.expectChange(KEY, CANDIDATE, sent, '7');
    expect(gate.closedUntil(KEY, CANDIDATE)).toBe(10_000);
  });

  test('for one Lease does not affect another', () => {
    answered(LEASE, undefined);
    expect(gate.closedUntil('kube-system/other', LEASE)).toBeUndefined();
  });

  test('is dropped with its Lease', () => {
    answered(LEASE, undefined);
    answered(CANDIDATE, undefined);
    gate.forget(KEY);
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(gate.closedUntil(KEY, CANDIDATE)).toBeUndefined();
  });
});

describe('a stalled watch', () => {
  test.each([
    { name: 'the Lease', object: LEASE },
    { name: 'a candidate', object: CANDIDATE },
  ])('for $name is waited for for ten seconds; then the cache has missed an event', async ({ object }) => {
    seeLease('7');
    seeCandidate('7');
    answered(object, '7');
    await clock.advance(9999);
    expect(gate.closedUntil(KEY, object)).toBe(10_000);
    await clock.advance(1);
    expect(gate.closedUntil(KEY, object)).toBeUndefined();
    expect(gate.giveUp(KEY, object)).toBe(true);
  });

  test('is detected once for each write', async () => {
    seeLease('7');
    answered(LEASE, '7');
    await clock.advance(10_000);
    expect([gate.giveUp(KEY, LEASE), gate.giveUp(KEY, LEASE)]).toEqual([true, false]);
  });

  test('that has finally shown the write has missed nothing', async () => {
    seeLease('7');
    answered(LEASE, '7');
    await clock.advance(10_000);
    seeLease('8');
    expect(gate.giveUp(KEY, LEASE)).toBe(false);
  });
});

/** Fails once more. Returns after how many milliseconds it may be retried. */
function delayAfterFailure(floorMs: number, isConflict: boolean): number {
  gate.failed(KEY, LEASE, floorMs, isConflict);
  return (gate.closedUntil(KEY, LEASE) ?? clock.now()) - clock.now();
}

describe('failures', () => {
  beforeEach(() => {
    // The maximum of each delay.
    clock = new VirtualClock({ random: () => 1 });
    gate = new WriteGate(clock, records);
  });

  test('back off, doubling from 20 ms to half a minute', () => {
    const delays = Array.from({ length: 14 }, () => delayAfterFailure(0, false));
    expect(delays.slice(0, 4)).toEqual([20, 40, 80, 160]);
    expect(delays.at(-1)).toBe(30_000);
  });

  test('keep the object from being written until the retry', async () => {
    gate.failed(KEY, LEASE, 0, false);
    expect(gate.closedUntil(KEY, LEASE)).toBe(20);
    await clock.advance(20);
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('to write one candidate block only that candidate', () => {
    gate.failed(KEY, CANDIDATE, 0, false);
    expect(gate.closedUntil(KEY, CANDIDATE)).toBe(20);
    expect(gate.closedUntil(KEY, { ...CANDIDATE, name: 'b', uid: 'uid-of-b' })).toBeUndefined();
    // Nor its twin, of the other source (rule 13).
    expect(gate.closedUntil(KEY, { ...CANDIDATE, uid: 'uid-of-twin' })).toBeUndefined();
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
  });

  test('by conflicts cost nothing the first time, then as much as any other', () => {
    expect(Array.from({ length: 4 }, () => delayAfterFailure(0, true))).toEqual([0, 20, 40, 80]);
  });

  test('are randomized over the second half of the delay', () => {
    clock = new VirtualClock({ random: () => 0 });
    gate = new WriteGate(clock, records);
    expect(delayAfterFailure(0, false)).toBe(10);
  });

  test('wait as long as the server asks', () => {
    expect(delayAfterFailure(5000, false)).toBe(5000);
    expect(delayAfterFailure(5000, true)).toBe(5000);
  });

  test('start again after a success', () => {
    gate.failed(KEY, LEASE, 0, false);
    gate.failed(KEY, LEASE, 0, false);
    gate.succeeded(KEY, LEASE);
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(delayAfterFailure(0, false)).toBe(20);
  });

  test('are dropped with their Lease', () => {
    gate.failed(KEY, LEASE, 0, false);
    gate.forget(KEY);
    expect(gate.closedUntil(KEY, LEASE)).toBeUndefined();
    expect(delayAfterFailure(0, false)).toBe(20);
  });
});

const a = { kind: 'candidate', name: 'a', uid: 'u' } as const;
const b = { kind: 'candidate', name: 'b', uid: 'v' } as const;
/** Of the same name, from the other source (rule 13). */
const twin = { ...a, uid: 'w' } as const;

test('an object is blocked separately from others, even with the same name, or of another Lease', () => {
  for (const object of [LEASE, a, b]) gate.failed(KEY, object, 1000, true);
  gate.forgetObject(KEY, a);
  gate.forgetObject(KEY, { kind: 'candidate', name: 'never', uid: 'x' });
  gate.expectAnswer(KEY, twin);
  const closed = [LEASE, a, b, twin].map((object) => gate.closedUntil(KEY, object));
  expect(closed).toEqual([1000, undefined, 1000, Number.POSITIVE_INFINITY]);
  expect(gate.closedUntil('kube-system/other', LEASE)).toBeUndefined();
  gate.failed('kube-system/other', b, 1000, true);
  expect(gate.size).toBe(4);
  gate.forget(KEY);
  expect(gate.size).toBe(1);
  for (const object of [LEASE, a, b, twin]) expect(gate.closedUntil(KEY, object)).toBeUndefined();
});

test('an object without a wait whose last write succeeded is not stored', () => {
  gate.failed(KEY, LEASE, 1000, false);
  const answered = gate.expectAnswer(KEY, LEASE);
  gate.succeeded(KEY, LEASE);
  gate.expectNothing(KEY, LEASE, answered);
  expect(gate.size).toBe(0);
});

test('a ping and a deletion write the candidate, all other actions the Lease', () => {
  const candidate = { name: 'a', uid: 'u', resourceVersion: '1' };
  expect(
    writtenBy({
      kind: 'PingCandidate',
      source: 'native',
      ...candidate,
      pingTime: wallAt(0),
      purpose: 'election',
    }),
  ).toEqual(a);
  expect(writtenBy({ kind: 'DeleteCandidate', source: 'native', ...candidate })).toEqual(a);
  expect(writtenBy({ kind: 'CreateLease', strategy: 's', grant: undefined })).toEqual(LEASE);
});
