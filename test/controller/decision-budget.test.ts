import { beforeEach, describe, expect, test } from 'vitest';
import { DecisionBudget } from '../../src/controller/decision-budget.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const KEY = 'default/scheduler';

let clock: VirtualClock;
let budget: DecisionBudget;

beforeEach(() => {
  clock = new VirtualClock();
  budget = new DecisionBudget(clock);
});

/** How often the Lease is decided on when somebody asks for it every millisecond. */
async function decisionsWithin(ms: number, candidates: number): Promise<number> {
  let decisions = 0;
  for (let index = 0; index < ms; index++) {
    for (; budget.opensAt(KEY) === undefined && decisions < 100_000; decisions++)
      budget.spend(KEY, candidates);
    await clock.advance(1);
  }
  return decisions;
}

describe('a Lease that somebody changes all the time', () => {
  test.each([
    { candidates: 3, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 10, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 100, wantAtOnce: 100, wantPerSecond: 100 },
    { candidates: 1000, wantAtOnce: 10, wantPerSecond: 10 },
  ])('is decided on less often, the more candidates it has: $candidates', async (row) => {
    const atOnce = await decisionsWithin(1, row.candidates);
    expect(atOnce - row.wantAtOnce).toBeLessThanOrEqual(1);
    expect(atOnce).toBeGreaterThanOrEqual(row.wantAtOnce);
    const later = await decisionsWithin(2000, row.candidates);
    expect(later / 2).toBeCloseTo(row.wantPerSecond, -1);
  });

  test('says when it may be decided on again, and may at once when nobody asked for a while', async () => {
    for (let index = 0; index <= 100; index++) budget.spend(KEY, 100);
    expect(budget.opensAt(KEY)).toBe(10);
    await clock.advance(10);
    expect(budget.opensAt(KEY)).toBeUndefined();
    await clock.advance(10_000);
    expect(await decisionsWithin(1, 100)).toBe(101);
  });

  test('costs no other Lease anything, and is forgotten', async () => {
    await decisionsWithin(1, 100);
    expect(budget.opensAt(KEY)).toBeDefined();
    expect(budget.opensAt('default/other')).toBeUndefined();
    budget.forget(KEY);
    expect(budget.opensAt(KEY)).toBeUndefined();
    expect(budget.size).toBe(0);
  });
});
