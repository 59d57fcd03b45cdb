import { describe, expect, test } from 'vitest';
import { SimScenario } from './sim-scenario.ts';

/** To replay one run: CLE_SIM_SEED=7. To run more of them: CLE_SIM_RUNS=1000, from seed CLE_SIM_FROM=5000 on. */
const onlySeed = process.env['CLE_SIM_SEED'];
const first = Number(onlySeed ?? process.env['CLE_SIM_FROM'] ?? 1);
const runs = onlySeed === undefined ? Number(process.env['CLE_SIM_RUNS'] ?? 24) : 1;
const seeds = Array.from({ length: runs }, (_, index) => first + index);

describe('a cluster in which everything fails', () => {
  test.each(seeds)(
    'never has two leaders or two coordinators, and has its leaders back soon after (seed %i)',
    { timeout: 60_000 },
    async (seed) => {
      const scenario = new SimScenario(seed);
      const problems = await scenario.run();
      expect(problems, `CLE_SIM_SEED=${seed}\n${scenario.world.trace}`).toEqual([]);
    },
  );
});
