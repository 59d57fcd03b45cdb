import type { Model } from './explore.ts';
import { type Rules, realRules } from './rules.ts';
import type { Scenario } from './scenario.ts';
import { writeWorld } from './shapes.ts';
import { canBeLed, initialWorld, steps } from './steps.ts';
import { believers, type World } from './world.ts';

/** Returns a scenario as a system to explore. Tests of the explorer replace `rules`. */
export function modelOf(scenario: Scenario, rules: Rules = realRules): Model<World> {
  const setting = { scenario, rules };
  return {
    initial: initialWorld(setting),
    steps: (world) => steps(world, setting),
    write: writeWorld,
    ...(scenario.isLedAgain && {
      isStuck: (world) => canBeLed(world) && believers(world).length === 0,
      isTick: ({ choice }) => choice === 'a tick passes',
    }),
  };
}
