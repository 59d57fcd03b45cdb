import { describe, expect, test } from 'vitest';
import { ClusterClock } from '../../src/inspection/cluster-clock.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { WALL_START } from '../support/election-builders.ts';

const SECOND = 1_000_000n;

function heard(date: string, tookSeconds = 0n): ClusterClock {
  const clock = new ClusterClock({ ...systemClock, wallTime: () => WALL_START });
  clock.hear({ date, sentAt: WALL_START - tookSeconds * SECOND, answeredAt: WALL_START });
  return clock;
}

describe("a cluster's clock", () => {
  test.each([
    { name: 'both agree', date: 'Thu, 01 Jan 2026 00:00:00 GMT', want: 0n },
    { name: 'the server is a little ahead', date: 'Thu, 01 Jan 2026 00:00:02 GMT', want: 0n },
    {
      name: 'the server is far ahead',
      date: 'Thu, 01 Jan 2026 00:01:00 GMT',
      want: 60n * SECOND + SECOND / 2n,
    },
    {
      name: 'the server is far behind',
      date: 'Wed, 31 Dec 2025 23:59:00 GMT',
      want: -60n * SECOND + SECOND / 2n,
    },
    { name: 'the answer was long in coming', date: 'Wed, 31 Dec 2025 23:59:52 GMT', took: 8n, want: 0n },
    { name: 'the date is none', date: 'yesterday', want: 0n },
  ])('is off ours by $want microseconds when $name', ({ date, took, want }) => {
    expect(heard(date, took).wallTime() - WALL_START).toBe(want);
  });

  test('is ours as long as the server has not told its time', () => {
    const clock = new ClusterClock({ ...systemClock, wallTime: () => WALL_START });
    expect({ time: clock.wallTime(), ahead: clock.serverAheadMs }).toEqual({
      time: WALL_START,
      ahead: undefined,
    });
  });
});
