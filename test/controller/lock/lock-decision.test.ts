import { describe, expect, test } from 'vitest';
import { decideLock, type LockObservation, observeLock } from '../../../src/controller/lock/lock-decision.ts';
import { IDENTITY_PREFIX, type LockRecord } from '../../../src/controller/lock/lock-record.ts';

const OURS = 'coordinated-leader-election_this_1';
const SIBLING = 'coordinated-leader-election_other_2';
const BUILT_IN = 'apiserver-x';
const NOW = 100_000;

function makeRecord(fields: Partial<LockRecord> = {}): LockRecord {
  return { holder: SIBLING, leaseDurationMs: 15_000, renewTime: 't0', leaseTransitions: 0, ...fields };
}

function makeRules(takeOver = true) {
  return { identity: OURS, takeOver };
}

describe('decideLock (rule 10)', () => {
  const seenAt = NOW - 1000;
  test.each([
    {
      name: 'claims a Lease that does not exist',
      observation: { record: undefined, seenAt },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'claims a free Lease',
      observation: { record: makeRecord({ holder: '' }), seenAt },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'claims a deleted Lease, but lets its last holder find out before acting',
      observation: { record: undefined, seenAt, formerHolderUntil: NOW + 14_000 },
      want: { kind: 'claim', actFrom: NOW + 14_000 },
    },
    {
      name: 'acts at once on a deleted Lease after the time of its last holder',
      observation: { record: undefined, seenAt, formerHolderUntil: NOW - 1 },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'renews its own',
      observation: { record: makeRecord({ holder: OURS }), seenAt },
      want: { kind: 'renew' },
    },
    {
      name: 'renews its own, of any age, if no other has claimed it since',
      observation: { record: makeRecord({ holder: OURS }), seenAt: NOW - 60_000 },
      want: { kind: 'renew' },
    },
    {
      name: 'waits for a sibling',
      observation: { record: makeRecord(), seenAt },
      want: { kind: 'wait', until: seenAt + 15_000 },
    },
    {
      name: 'waits a sibling out to the very end',
      observation: { record: makeRecord(), seenAt: NOW - 14_999.9 },
      want: { kind: 'wait', until: NOW + 0.1 },
    },
    {
      name: "claims a sibling's that has expired",
      observation: { record: makeRecord(), seenAt: NOW - 15_000 },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'judges expiry by the duration found',
      observation: { record: makeRecord({ leaseDurationMs: 60_000 }), seenAt: NOW - 15_000 },
      want: { kind: 'wait', until: NOW + 45_000 },
    },
    {
      name: 'takes its own duration for a record that lacks one',
      observation: { record: makeRecord({ leaseDurationMs: undefined }), seenAt },
      want: { kind: 'wait', until: seenAt + 15_000 },
    },
    {
      name: 'ousts the built-in, and lets its own duration pass before acting',
      observation: { record: makeRecord({ holder: BUILT_IN, leaseDurationMs: 5000 }), seenAt },
      want: { kind: 'force', actFrom: NOW + 15_000, ousted: BUILT_IN },
    },
    {
      name: 'takes it from the built-in coordinator, and waits for the found duration before it acts, if that is longer',
      observation: { record: makeRecord({ holder: BUILT_IN, leaseDurationMs: 60_000 }), seenAt },
      want: { kind: 'force', actFrom: NOW + 60_000, ousted: BUILT_IN },
    },
    {
      name: 'takes nothing by force if the Lease has expired',
      observation: { record: makeRecord({ holder: BUILT_IN }), seenAt: NOW - 15_000 },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'waits for the built-in coordinator without take-over',
      takeOver: false,
      observation: { record: makeRecord({ holder: BUILT_IN }), seenAt },
      want: { kind: 'wait', until: seenAt + 15_000 },
    },
    {
      name: 'claims a Lease that the built-in coordinator let expire, without take-over',
      takeOver: false,
      observation: { record: makeRecord({ holder: BUILT_IN }), seenAt: NOW - 15_000 },
      want: { kind: 'claim', actFrom: NOW },
    },
    {
      name: 'does not force again during its backoff',
      forceNotBefore: NOW + 3000,
      observation: { record: makeRecord({ holder: BUILT_IN }), seenAt },
      want: { kind: 'wait', until: NOW + 3000 },
    },
    {
      name: 'reads again at the expiry if that is before the end of the backoff',
      forceNotBefore: NOW + 30_000,
      observation: { record: makeRecord({ holder: BUILT_IN }), seenAt },
      want: { kind: 'wait', until: seenAt + 15_000 },
    },
    {
      name: 'takes its own from a restored backup, but waits until its later holder has noticed',
      observation: { record: makeRecord({ holder: OURS }), seenAt, formerHolderUntil: NOW + 14_000 },
      want: { kind: 'claim', actFrom: NOW + 14_000 },
    },
  ])('$name', ({ observation, want, takeOver, forceNotBefore = Number.NEGATIVE_INFINITY }) => {
    expect(decideLock(observation, makeRules(takeOver), NOW, forceNotBefore)).toEqual(want);
  });
});

describe('the observation of the lock', () => {
  const first: LockObservation = { record: makeRecord(), seenAt: 10 };

  test.each([
    { name: 'an unchanged record keeps its age', record: makeRecord(), want: 10 },
    { name: 'transitions do not matter to its age', record: makeRecord({ leaseTransitions: 7 }), want: 10 },
    { name: 'a renewal restarts its age', record: makeRecord({ renewTime: 't1' }), want: 50 },
    { name: 'a renewTime set back does too', record: makeRecord({ renewTime: 's9' }), want: 50 },
    { name: 'another holder does too', record: makeRecord({ holder: BUILT_IN }), want: 50 },
    { name: 'another duration does too', record: makeRecord({ leaseDurationMs: 1 }), want: 50 },
  ])('$name', ({ record, want }) => {
    expect(observeLock(first, record, 50)).toMatchObject({ record, seenAt: want });
  });

  test.each([
    { name: 'deleted', record: undefined, want: 15_050 },
    { name: 'emptied by hand', record: makeRecord({ holder: '' }), want: 15_050 },
    { name: 'released', record: makeRecord({ holder: '', leaseDurationMs: 1000 }), want: undefined },
  ])(
    'a Lease that was $name is remembered for its holder while that may believe that it holds it',
    ({ record, want }) => {
      expect(observeLock(first, record, 50).formerHolderUntil).toBe(want);
    },
  );

  test.each([
    { name: 'ours', record: makeRecord({ holder: OURS, leaseTransitions: 4 }) },
    { name: "another's", record: makeRecord({ holder: BUILT_IN, leaseTransitions: 4 }) },
    { name: 'released', record: makeRecord({ holder: '', leaseDurationMs: 1000, leaseTransitions: 4 }) },
  ])(
    'a Lease that a restored backup has made $name again is remembered for its last holder while that may believe that it holds it',
    ({ record }) => {
      const since = { record: makeRecord({ leaseTransitions: 5 }), seenAt: 10 };
      expect(observeLock(since, record, 50).formerHolderUntil).toBe(15_050);
    },
  );

  test.each([
    { name: 'emptied and then deleted', former: makeRecord({ holder: '' }), record: undefined },
    { name: 'deleted, and created again, emptied', former: undefined, record: makeRecord({ holder: '' }) },
    {
      name: 'released and then deleted',
      former: makeRecord({ holder: '', leaseDurationMs: 1000 }),
      record: undefined,
    },
  ])('a Lease that was $name may have had an unseen holder in the meantime', ({ former, record }) => {
    const before = observeLock(first, former, 50);
    expect(observeLock(before, record, 60).formerHolderUntil).toBe(15_060);
  });

  test('a Lease of our own that was deleted may have been claimed by another before', () => {
    const own = { record: makeRecord({ holder: OURS }), seenAt: 10 };
    expect(observeLock(own, undefined, 50).formerHolderUntil).toBe(15_050);
  });

  test('a Lease that never existed has no former holder', () => {
    expect(observeLock(undefined, undefined, 50)).toEqual({ record: undefined, seenAt: 50 });
  });

  test.each([
    { name: 'emptied by hand', record: makeRecord({ holder: '' }), want: 15_050 },
    { name: 'released', record: makeRecord({ holder: '', leaseDurationMs: 1000 }), want: undefined },
    {
      name: 'created without a holder',
      record: makeRecord({ holder: '', renewTime: undefined }),
      want: undefined,
    },
  ])(
    'a lock that was $name before this process started: its holder may act until $want',
    ({ record, want }) => {
      expect(observeLock(undefined, record, 50).formerHolderUntil).toBe(want);
    },
  );
});

test('a lock of ours is renewed, and not claimed again, after its former holder cannot act any more', () => {
  const observation = { record: makeRecord({ holder: OURS }), seenAt: NOW, formerHolderUntil: NOW + 5000 };
  const decideAt = (now: number) => decideLock(observation, makeRules(), now, 0).kind;
  expect([NOW + 4999, NOW + 5000, NOW + 5001].map(decideAt)).toEqual(['claim', 'renew', 'renew']);
});

const OTHER = `${IDENTITY_PREFIX}two`;
const rules = { identity: `${IDENTITY_PREFIX}three`, takeOver: true };
const SECONDS = 1000;

let renewals = 0;
const heldBy = (holder: string): LockRecord => {
  renewals += 1;
  return { holder, leaseDurationMs: 15_000, renewTime: String(renewals), leaseTransitions: 0 };
};
const emptied = (isWrittenByOurs: boolean | undefined): LockRecord => ({
  ...heldBy(''),
  leaseDurationMs: 1000,
  isWrittenByOurs,
});

/** Returns the observation after seeing one record per second. */
function seen(
  ...records: readonly (readonly [atSeconds: number, LockRecord | undefined])[]
): LockObservation {
  const first: LockObservation = { record: undefined, seenAt: 0 };
  return records.reduce<LockObservation>(
    (known, [at, record]) => observeLock(known, record, at * SECONDS),
    first,
  );
}

/** Returns when a claim at `at` allows to act, in seconds. */
function actFrom(observation: LockObservation, at: number): number {
  const decision = decideLock(observation, rules, at * SECONDS, 0);
  if (decision.kind !== 'claim') throw new Error(`the lock is not free: ${decision.kind}`);
  return decision.actFrom / SECONDS;
}

describe('a release of the lock may come from a former holder that slept during its loss (rules 8 and 10)', () => {
  test('is not doubted if one of our replicas wrote it, whatever the former holder', () => {
    const known = seen([0, heldBy('built-in')], [15, heldBy(OTHER)], [16, emptied(true)]);
    expect(actFrom(known, 16)).toBe(16);
  });

  test('is not by our replica if field ownership says so: it continues', () => {
    expect(actFrom(seen([0, heldBy(OTHER)], [60, emptied(false)]), 60)).toBe(75);
  });

  test('is doubted for two durations after a foreign holder has lost the lock', () => {
    const lost = [
      [0, heldBy('built-in')],
      [15, heldBy('another')],
    ] as const;
    const renewed = (at: number) => [...lost, [at, heldBy('another')]] as const;
    // The record was written at any time since the last seen renewal.
    expect(actFrom(seen(...renewed(44), [46, emptied(undefined)]), 46)).toBe(61);
    expect(actFrom(seen(...renewed(45), [46, emptied(undefined)]), 46)).toBe(46);
  });

  test('is doubted in this time if the lock was empty before: another holder may have had it, unseen', () => {
    const lost = [
      [0, heldBy('built-in')],
      [15, heldBy('another')],
      [16, emptied(undefined)],
    ] as const;
    expect(actFrom(seen(...lost, [20, emptied(undefined)]), 20)).toBe(35);
    expect(actFrom(seen(...lost, [20, emptied(true)]), 20)).toBe(31);
  });

  test('is trusted for a lock that was empty, if no holder has lost it lately', () => {
    expect(actFrom(seen([0, emptied(undefined)], [20, emptied(false)]), 20)).toBe(20);
  });

  test('is trusted for a holder that had the lock all the time', () => {
    expect(actFrom(seen([0, heldBy('built-in')], [2, emptied(false)]), 2)).toBe(2);
  });

  test('is not doubted after our own replicas, which release only their own lock', () => {
    const known = seen([0, heldBy(OURS)], [15, heldBy('built-in')], [16, emptied(false)]);
    expect(actFrom(known, 16)).toBe(16);
  });
});

test.each([
  { name: 'deleted', record: undefined },
  { name: 'emptied', record: heldBy('') },
])('a lock of our own that was $name may have been claimed by another before', ({ record }) => {
  const own = heldBy(rules.identity);
  expect(actFrom(seen([0, own], [1, record]), 1)).toBe(16);
});

test('a later holder that released the lock does not change what its former holder may believe', () => {
  const robbed = seen([0, heldBy(OTHER)], [10, emptied(false)], [11, { ...emptied(true) }]);
  expect(actFrom(robbed, 11)).toBe(25);
});

test('a holder that took the lock too early and released it has taken it from one that may continue', () => {
  const taken = seen([0, heldBy(OTHER)], [10, heldBy('kube-apiserver')], [11, emptied(false)]);
  expect(actFrom(taken, 11)).toBe(25);
  const late = seen([0, heldBy(OTHER)], [15, heldBy('kube-apiserver')], [16, emptied(false)]);
  expect(actFrom(late, 16)).toBe(16);
});

test('our own replicas that take the lock one after the other each act at once, although a third one has not seen the releases', () => {
  const replaced = seen([0, heldBy(OTHER)], [2, heldBy(OURS)], [6, emptied(true)]);
  expect(actFrom(replaced, 6)).toBe(6);
});

test('a foreign holder that has renewed and released the lock leaves it free, also for a next one at once', () => {
  const released = [
    [0, heldBy('built-in')],
    [2, heldBy('built-in')],
    [4, emptied(undefined)],
  ] as const;
  expect(actFrom(seen(...released), 4)).toBe(4);
  const next = seen(...released, [4.4, heldBy('another')], [4.8, emptied(undefined)]);
  expect(actFrom(next, 4.8)).toBe(4.8);
});
