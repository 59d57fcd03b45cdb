import { type AnyStep, type Exploration, explore, type Limits, type Model } from './explore.ts';
import { lockModelOf } from './lock-model.ts';
import { lockScenarios } from './lock-scenarios.ts';
import { modelOf } from './model.ts';
import { type Replay, replay } from './replay.ts';
import { scenarios } from './scenarios.ts';
import { lockTranscriptOf, transcriptOf, twinTranscriptOf } from './transcript.ts';
import { twinModel, twinScenario } from './twin-model.ts';

/** A scenario of any kind. */
export interface Job {
  readonly name: string;
  readonly about: string;
  readonly explore: (
    limits: Limits,
  ) => Omit<Exploration<unknown>, 'violation'> & { readonly violation: Violation | undefined };
  readonly replay: (choices: readonly string[]) => Replay;
}

/** A broken promise, and the shortest path to it as text. */
export interface Violation {
  readonly text: string;
  readonly transcript: string;
}

interface AnyScenario {
  readonly name: string;
  readonly about: string;
}

function job<S extends AnyScenario, State>(
  scenario: S,
  modelFor: (scenario: S) => Model<State>,
  describe: (path: readonly AnyStep<State>[]) => string,
): Job {
  const { name, about } = scenario;
  return {
    name,
    about,
    explore: (limits) => {
      const found = explore(modelFor(scenario), limits);
      const { violation } = found;
      return {
        ...found,
        violation: violation && { text: violation.text, transcript: describe(violation.path) },
      };
    },
    replay: (choices) => replay(modelFor(scenario), choices),
  };
}

export const jobs: readonly Job[] = [
  ...scenarios.map((scenario) => job(scenario, modelOf, transcriptOf)),
  ...lockScenarios.map((scenario) => job(scenario, lockModelOf, lockTranscriptOf)),
  job(twinScenario, twinModel, twinTranscriptOf),
];
