import { COORDINATOR_MUTANTS } from './coordinator-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PARTICIPANT_MUTANTS } from './participant-mutants.ts';

/** The subject of the sentence about a mutant. */
export const MUTANTS_OF: Readonly<Record<string, readonly Mutant[]>> = {
  'the coordinator': COORDINATOR_MUTANTS,
  'a participant': PARTICIPANT_MUTANTS,
};

export const MUTANTS: readonly Mutant[] = Object.values(MUTANTS_OF).flat();
