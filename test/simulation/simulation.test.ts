import { describe, expect, test } from 'vitest';
import { makePlan } from './sim-plan.ts';
import { runPlan } from './sim-run.ts';

/** `npm run simulate` runs more of them, and shrinks a failing seed to a minimal plan. */
const SEEDS = 300;
const SEEDS_PER_TEST = 25;
const blocks = Array.from({ length: SEEDS / SEEDS_PER_TEST }, (_, block) => ({
  from: 1 + block * SEEDS_PER_TEST,
  to: (block + 1) * SEEDS_PER_TEST,
}));

describe('a cluster in which everything fails', () => {
  test.each(blocks)(
    'never has two leaders or two coordinators, and is in order soon after (seeds $from to $to)',
    { timeout: 120_000 },
    async ({ from, to }) => {
      const wrong: string[] = [];
      for (let seed = from; seed <= to; seed++) {
        const { problems } = await runPlan(makePlan(seed));
        wrong.push(...problems.map((problem) => `${problem}: npm run simulate -- --seed ${seed}`));
      }
      expect(wrong).toEqual([]);
    },
  );

  test('has the same history each time for a seed', async () => {
    const plan = makePlan(2);
    expect(plan.slots.some(({ isParticipant }) => isParticipant)).toBe(true);
    const [first, second] = [await runPlan(plan, true), await runPlan(plan, true)];
    expect(first.trace.length).toBeGreaterThan(5000);
    expect(second.trace).toBe(first.trace);
  });
});
