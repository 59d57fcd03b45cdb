import { expect, test } from 'vitest';
import { DEFAULT_LOCK_TIMING, LONGEST_WRITE_MS } from '../../../src/controller/lock/lock-settings.ts';

/** See docs/reliability.md. */
const SLOW = 0.95;
const FAST = 1.05;

test('a write of who has just lost the lock ends before another acts, though its clock runs slow and the other’s fast', () => {
  const { leaseDurationMs, renewDeadlineMs } = DEFAULT_LOCK_TIMING;
  expect((renewDeadlineMs + LONGEST_WRITE_MS) / SLOW).toBeLessThan(leaseDurationMs / FAST);
});
