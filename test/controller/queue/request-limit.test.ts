import { beforeEach, describe, expect, test } from 'vitest';
import { RequestLimit } from '../../../src/controller/queue/request-limit.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

/** So many requests are sent together, and answered together so long after. */
async function round(
  limit: RequestLimit,
  requests: number,
  tookMs: number,
  isAnswered = true,
): Promise<void> {
  const sentAt = clock.now();
  await clock.advance(tookMs);
  for (let answers = 0; answers < requests; answers++) limit.answered(sentAt, isAnswered);
}

describe('the limit of requests under way (rule 9)', () => {
  test.each<{ name: string; tookMs: number; isAnswered?: boolean; want: number }>([
    { name: 'stays when answers come in good time', tookMs: 10, want: 16 },
    { name: 'stays when they take a while', tookMs: 1000, want: 16 },
    { name: 'shrinks by a quarter when they are slow', tookMs: 1001, want: 12 },
    { name: 'shrinks by a quarter when the server is overloaded', tookMs: 10, isAnswered: false, want: 12 },
    { name: 'shrinks by a quarter when nothing comes back', tookMs: 5000, isAnswered: false, want: 12 },
  ])('$name', async ({ tookMs, isAnswered = true, want }) => {
    const limit = new RequestLimit(clock, 16);
    expect(limit.current).toBe(16);
    await round(limit, 16, tookMs, isAnswered);
    expect(limit.current).toBe(want);
  });

  test('shrinks once for all that was under way together, and again for what was sent after that', async () => {
    const limit = new RequestLimit(clock, 16);
    const sentAt = clock.now();
    await clock.advance(1500);
    limit.answered(sentAt, true);
    await clock.advance(1500);
    for (let answers = 1; answers < 16; answers++) limit.answered(sentAt, true);
    expect(limit.current).toBe(12);
    await round(limit, 12, 1500);
    expect(limit.current).toBe(9);
  });

  test('never falls below eight, so that we are heard beside others who overload the server', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let rounds = 0; rounds < 20; rounds++) await round(limit, 8, 2000, false);
    expect(limit.current).toBe(8);
  });

  test('never was more than it was set to, be that fewer than eight', async () => {
    const limit = new RequestLimit(clock, 2);
    await round(limit, 2, 2000);
    expect(limit.current).toBe(2);
    for (let rounds = 0; rounds < 5; rounds++) await round(limit, 2, 10);
    expect(limit.current).toBe(2);
  });

  test('grows by about one for each round of good answers, back to what it was', async () => {
    const limit = new RequestLimit(clock, 16);
    await round(limit, 16, 2000);
    const sizes: number[] = [];
    while (limit.current < 16 && sizes.length < 20) {
      await round(limit, limit.current, 10);
      sizes.push(limit.current);
    }
    expect(sizes.at(-1)).toBe(16);
    expect(sizes.length).toBeGreaterThanOrEqual(4);
    expect(sizes.length).toBeLessThanOrEqual(6);
    await round(limit, 16, 10);
    expect(limit.current).toBe(16);
  });

  test.each([
    { tookMs: 249, want: 16 },
    { tookMs: 250, want: 12 },
    { tookMs: 1000, want: 12 },
    { tookMs: 1001, want: 8 },
  ])(
    'grows by answers below 250 ms, shrinks by those above a second, and by no others: $tookMs ms',
    async ({ tookMs, want }) => {
      const limit = new RequestLimit(clock, 16);
      await round(limit, 16, 2000);
      for (let rounds = 0; rounds < 10; rounds++) await round(limit, 12, tookMs);
      expect(limit.current).toBe(want);
    },
  );

  test('goes by how quick the server is when it has little to do: one that always takes long is not overloaded', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let second = 0; second < 120; second += 2) await round(limit, limit.current, 1500);
    expect(limit.current).toBe(16);
    // And then it is.
    await round(limit, 16, 3500);
    expect(limit.current).toBe(12);
  });

  test('goes by its quickest answers, whatever the others take', async () => {
    const limit = new RequestLimit(clock, 16);
    for (let rounds = 0; rounds < 30; rounds++) {
      await round(limit, limit.current, 1500);
      await round(limit, limit.current, 2900);
    }
    expect(limit.current).toBe(16);
    await round(limit, 16, 3500);
    expect(limit.current).toBe(12);
  });

  test('shrinks again for what was sent the moment after it shrank', async () => {
    const limit = new RequestLimit(clock, 16);
    await round(limit, 1, 1500);
    const sentAt = clock.now();
    await clock.advance(1500);
    limit.answered(sentAt, true);
    expect(limit.current).toBe(9);
  });
});
