import { expect, test } from 'vitest';
import {
  isSameState,
  LEASE_DURATION_MS,
  LONGEST_WRITE_MS,
  type LockState,
  RENEW_DEADLINE_MS,
  RETRY_PERIOD_MS,
  stateOf,
} from '../../../src/controller/lock/lock-settings.ts';
import { CALL_TIMEOUT_MS } from '../../../src/controller/lock/lock-storage.ts';

const OURS = 'coordinated-leader-election_host_1';

test.each<{ name: string; state: LockState; want: LockState }>([
  {
    name: 'settling while somebody ousted may still act',
    state: stateOf(OURS, true, 2000, 1999),
    want: { kind: 'settling', holder: OURS, since: 1999, activeAt: 2000 },
  },
  {
    name: 'active from that moment on',
    state: stateOf(OURS, true, 2000, 2000),
    want: { kind: 'active', holder: OURS, since: 2000 },
  },
  {
    name: 'standby while nobody holds the lock',
    state: stateOf('', false, 0, 5),
    want: { kind: 'standby', since: 5 },
  },
  {
    name: 'standby behind one of our own',
    state: stateOf(OURS, false, 0, 5),
    want: { kind: 'standby', holder: OURS, since: 5 },
  },
  {
    name: 'waiting for somebody else',
    state: stateOf('built-in', false, 0, 5),
    want: { kind: 'waiting', holder: 'built-in', since: 5 },
  },
])('a replica is $name', ({ state, want }) => {
  expect(state).toEqual(want);
});

test('states are equal if they differ only in their start', () => {
  const state: LockState = { kind: 'settling', holder: OURS, since: 1, activeAt: 10 };
  expect(isSameState(state, { ...state, since: 2 })).toBe(true);
  expect(isSameState(state, { ...state, kind: 'active' })).toBe(false);
  expect(isSameState(state, { ...state, holder: 'other' })).toBe(false);
  expect(isSameState(state, { ...state, activeAt: 11 })).toBe(false);
});

/** See docs/concepts/reliability.md. */
const SLOW = 0.95;
const FAST = 1.05;

test('a write by a replica that has just lost the lock ends before another acts, even with a slow and a fast clock', () => {
  expect((RENEW_DEADLINE_MS + LONGEST_WRITE_MS) / SLOW).toBeLessThan(LEASE_DURATION_MS / FAST);
});

test('a holder that fails to renew once has time for another attempt', () => {
  expect(RETRY_PERIOD_MS + CALL_TIMEOUT_MS).toBeLessThan(RENEW_DEADLINE_MS);
});
