import { describe, expect, test } from 'vitest';
import { Backoff, backoffDelayMs } from '../../src/support/backoff.ts';
import { VirtualClock } from './virtual-clock.ts';

const options = { initialMs: 200, maxMs: 1_000, resetAfterMs: 5_000 };

describe('a backoff', () => {
  test('doubles up to its maximum', () => {
    const backoff = new Backoff(options, new VirtualClock({ random: () => 1 - 2 ** -50 }));
    expect(Array.from({ length: 5 }, () => Math.round(backoff.failed()))).toEqual([
      200, 400, 800, 1_000, 1_000,
    ]);
  });

  test('randomizes at most half', () => {
    const backoff = new Backoff(options, new VirtualClock({ random: () => 0 }));
    expect([backoff.failed(), backoff.failed()]).toEqual([100, 200]);
  });

  test('forgets failures after a time without failures, counted from its beginning', async () => {
    const clock = new VirtualClock({ random: () => 0 });
    const backoff = new Backoff(options, clock);
    backoff.failed();
    backoff.succeeded();
    await clock.advance(3_000);
    backoff.succeeded();
    await clock.advance(2_000);
    expect(backoff.failed()).toBe(100);
  });

  test('remembers failures after a short success, for any duration of an attempt', async () => {
    const clock = new VirtualClock({ random: () => 0 });
    const backoff = new Backoff(options, clock);
    backoff.failed();
    backoff.succeeded();
    await clock.advance(4_999);
    expect(backoff.failed()).toBe(200);
    await clock.advance(60_000);
    expect(backoff.failed()).toBe(400);
  });
});

test.each([
  { failures: 0, want: 0 },
  { failures: 1, want: 100 },
  { failures: 2, want: 200 },
  { failures: 4, want: 800 },
  { failures: 5, want: 1000 },
  { failures: 5000, want: 1000 },
])(
  'the delay after $failures consecutive failures is from half of $want ms to all of it',
  ({ failures, want }) => {
    expect(
      [0, 0.5, 1].map((chance) => backoffDelayMs(failures, { initialMs: 100, maxMs: 1000 }, chance)),
    ).toEqual([want / 2, want * 0.75, want]);
  },
);
