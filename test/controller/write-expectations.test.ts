import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { type AwaitedAnswer, WriteExpectations } from '../../src/controller/write-expectations.ts';
import type { WrittenObject } from '../../src/controller/written-objects.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'kube-system/scheduler';
const LEASE = { kind: 'lease' } as const;
const CANDIDATE = { kind: 'candidate', name: 'a', uid: 'uid-of-a' } as const;

let clock: VirtualClock;
let records: ElectionRecords;
let expectations: WriteExpectations;

beforeEach(() => {
  clock = new VirtualClock();
  records = new ElectionRecords(defaultSettings);
  expectations = new WriteExpectations(clock, records);
});

function seeLease(resourceVersion: string | undefined): void {
  const lease = resourceVersion && makeLease('a').with({ resourceVersion }).build();
  records.seeLease(KEY, lease || undefined, makeNow(clock.now()));
}

function seeCandidate(resourceVersion: string): void {
  records.seeCandidate(makeCandidate('a').with({ resourceVersion }).build(), makeNow(clock.now()));
}

/** A write was sent and answered. */
function answered(object: WrittenObject, otherThan: string | undefined): void {
  expectations.expectChange(KEY, object, expectations.expectAnswer(KEY, object), otherThan);
}

describe('what came of a write (rule 8)', () => {
  test('is not waited for before anything was written', () => {
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
    expect(expectations.giveUp(KEY, LEASE)).toBe(false);
  });

  test('is waited for while the cache shows what the write was based on, and known with any other version', () => {
    seeLease('7');
    answered(LEASE, '7');
    expect(expectations.waitUntil(KEY, LEASE)).toBe(10_000);
    seeLease('7');
    expect(expectations.waitUntil(KEY, LEASE)).toBe(10_000);
    seeLease('8');
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
    expect(expectations.giveUp(KEY, LEASE)).toBe(false);
  });

  test('is known at once when the cache was ahead of the answer', () => {
    seeLease('8');
    answered(LEASE, '7');
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is known when the object is gone', () => {
    seeLease('7');
    answered(LEASE, '7');
    seeLease(undefined);
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is waited for when a Lease was made to appear', () => {
    answered(LEASE, undefined);
    expect(expectations.waitUntil(KEY, LEASE)).toBe(10_000);
    seeLease('1');
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
  });

  test('to a candidate has nothing to do with its Lease, or with another candidate', () => {
    seeLease('7');
    seeCandidate('3');
    answered(CANDIDATE, '3');
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
    expect(expectations.waitUntil(KEY, { ...CANDIDATE, name: 'b', uid: 'uid-of-b' })).toBeUndefined();
    // Nor with its twin, of the other source (rule 13).
    expect(expectations.waitUntil(KEY, { ...CANDIDATE, uid: 'uid-of-twin' })).toBeUndefined();
    expect(expectations.waitUntil(KEY, CANDIDATE)).toBe(10_000);
    seeCandidate('4');
    expect(expectations.waitUntil(KEY, CANDIDATE)).toBeUndefined();
  });

  test('is waited for while the write is under way, however long that takes', async () => {
    expectations.expectAnswer(KEY, LEASE);
    await clock.advance(60_000);
    expect(expectations.waitUntil(KEY, LEASE)).toBe(Number.POSITIVE_INFINITY);
    expect(expectations.giveUp(KEY, LEASE)).toBe(false);
    expect(expectations.waitUntil(KEY, LEASE)).toBe(Number.POSITIVE_INFINITY);
    answered(LEASE, '7');
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
  });

  test('is not waited for when the write has ended without an answer', () => {
    expectations.expectNothing(KEY, LEASE, expectations.expectAnswer(KEY, LEASE));
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
    expect(expectations.giveUp(KEY, LEASE)).toBe(false);
  });

  test.each([
    { name: 'fails', ends: (former: AwaitedAnswer) => expectations.expectNothing(KEY, CANDIDATE, former) },
    {
      name: 'is answered',
      ends: (former: AwaitedAnswer) => expectations.expectChange(KEY, CANDIDATE, former, '3'),
    },
  ])(
    'is waited for whatever comes of a former one, which $name only now: the object was gone meanwhile',
    ({ ends }) => {
      const former = expectations.expectAnswer(KEY, CANDIDATE);
      expectations.forgetObject(KEY, CANDIDATE);
      seeCandidate('7');
      answered(CANDIDATE, '7');
      ends(former);
      expect(expectations.waitUntil(KEY, CANDIDATE)).toBe(10_000);
    },
  );

  test('is waited for though the object was gone meanwhile, where nothing was written since', () => {
    const sent = expectations.expectAnswer(KEY, CANDIDATE);
    expectations.forgetObject(KEY, CANDIDATE);
    seeCandidate('7');
    expectations.expectChange(KEY, CANDIDATE, sent, '7');
    expect(expectations.waitUntil(KEY, CANDIDATE)).toBe(10_000);
  });

  test('of one Lease has nothing to do with another', () => {
    answered(LEASE, undefined);
    expect(expectations.waitUntil('kube-system/other', LEASE)).toBeUndefined();
  });

  test('is forgotten with its Lease', () => {
    answered(LEASE, undefined);
    answered(CANDIDATE, undefined);
    expectations.forget(KEY);
    expect(expectations.waitUntil(KEY, LEASE)).toBeUndefined();
    expect(expectations.waitUntil(KEY, CANDIDATE)).toBeUndefined();
  });
});

describe('a stalled watch', () => {
  test.each([
    { name: 'the Lease', object: LEASE },
    { name: 'a candidate', object: CANDIDATE },
  ])(
    'that should tell of $name is given ten seconds; then the cache has missed something',
    async ({ object }) => {
      seeLease('7');
      seeCandidate('7');
      answered(object, '7');
      await clock.advance(9999);
      expect(expectations.waitUntil(KEY, object)).toBe(10_000);
      await clock.advance(1);
      expect(expectations.waitUntil(KEY, object)).toBeUndefined();
      expect(expectations.giveUp(KEY, object)).toBe(true);
    },
  );

  test('is found out once for each write', async () => {
    seeLease('7');
    answered(LEASE, '7');
    await clock.advance(10_000);
    expect([expectations.giveUp(KEY, LEASE), expectations.giveUp(KEY, LEASE)]).toEqual([true, false]);
  });

  test('that has told of the write in the end has missed nothing', async () => {
    seeLease('7');
    answered(LEASE, '7');
    await clock.advance(10_000);
    seeLease('8');
    expect(expectations.giveUp(KEY, LEASE)).toBe(false);
  });
});
