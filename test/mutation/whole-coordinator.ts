import { expect, test } from 'vitest';
import { makePlan } from '../simulation/sim-plan.ts';
import { runPlan } from '../simulation/sim-run.ts';

/** Each takes a hundred times longer than another test: it is run only for mutants that survive all others. */
const SEEDS = [1, 2, 3, 4];

test.each(SEEDS)('a cluster in which everything fails goes on as it has to (seed %i)', async (seed) => {
  const { problems } = await runPlan(makePlan(seed));
  expect(problems).toEqual([]);
});
