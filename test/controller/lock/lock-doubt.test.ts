import { describe, expect, test } from 'vitest';
import { decideLock, type LockObservation, observeLock } from '../../../src/controller/lock/lock-decision.ts';
import { IDENTITY_PREFIX, type LockRecord } from '../../../src/controller/lock/lock-record.ts';

const OURS = `${IDENTITY_PREFIX}one`;
const OTHER = `${IDENTITY_PREFIX}two`;
const rules = { identity: `${IDENTITY_PREFIX}three`, leaseDurationMs: 15_000, takeOver: true };
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

/** What is known after seeing one record after another, each at its second. */
function seen(
  ...records: readonly (readonly [atSeconds: number, LockRecord | undefined])[]
): LockObservation {
  const first: LockObservation = { record: undefined, seenAt: 0 };
  return records.reduce<LockObservation>(
    (known, [at, record]) => observeLock(known, record, rules, at * SECONDS),
    first,
  );
}

/** From when a claim made at `at` allows to act, in seconds. */
function actFrom(observation: LockObservation, at: number): number {
  const decision = decideLock(observation, rules, at * SECONDS, 0);
  if (decision.kind !== 'claim') throw new Error(`the lock is not free: ${decision.kind}`);
  return decision.actFrom / SECONDS;
}

describe('a release of the lock may be the work of a former holder that slept through its loss (rules 8 and 10)', () => {
  test('is not doubted where one of our replicas wrote it, whoever held the lock before', () => {
    const known = seen([0, heldBy('built-in')], [15, heldBy(OTHER)], [16, emptied(true)]);
    expect(actFrom(known, 16)).toBe(16);
  });

  test('is not our replica’s where field ownership says so: it acts on', () => {
    expect(actFrom(seen([0, heldBy(OTHER)], [60, emptied(false)]), 60)).toBe(75);
  });

  test('is doubted for two durations after one that is not ours has lost the lock', () => {
    const lost = [
      [0, heldBy('built-in')],
      [15, heldBy('another')],
    ] as const;
    const renewed = (at: number) => [...lost, [at, heldBy('another')]] as const;
    // It was written at any time since the last renewal that was seen.
    expect(actFrom(seen(...renewed(44), [46, emptied(undefined)]), 46)).toBe(61);
    expect(actFrom(seen(...renewed(45), [46, emptied(undefined)]), 46)).toBe(46);
  });

  test('is believed of a holder that had the lock all along', () => {
    expect(actFrom(seen([0, heldBy('built-in')], [2, emptied(false)]), 2)).toBe(2);
  });

  test('is not doubted after our own replicas, which release no lock but their own', () => {
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

test('who has had the lock, and released it, since another may have been robbed of it changes nothing for that one', () => {
  const robbed = seen([0, heldBy(OTHER)], [10, emptied(false)], [11, { ...emptied(true) }]);
  expect(actFrom(robbed, 11)).toBe(25);
});

test('who has had the lock before its holder’s time was over, and released it, has taken it from one that may go on', () => {
  const taken = seen([0, heldBy(OTHER)], [10, heldBy('kube-apiserver')], [11, emptied(false)]);
  expect(actFrom(taken, 11)).toBe(25);
  const late = seen([0, heldBy(OTHER)], [15, heldBy('kube-apiserver')], [16, emptied(false)]);
  expect(actFrom(late, 16)).toBe(16);
});

test('our own replicas that take the lock one after the other each act at once, though a third one has not seen the releases', () => {
  const replaced = seen([0, heldBy(OTHER)], [2, heldBy(OURS)], [6, emptied(true)]);
  expect(actFrom(replaced, 6)).toBe(6);
});
