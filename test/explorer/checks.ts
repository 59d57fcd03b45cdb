import type { Scenario } from './scenario.ts';
import { believes, type PastTerm, type Program, type Step, type World } from './world.ts';

/** Returns the promise that the begin of a term breaks, if any. */
export function leads(
  world: World,
  program: Program,
  term: PastTerm,
  scenario: Scenario,
): Pick<Step, 'world' | 'violation'> {
  const { programs, tick, grantor } = world;
  const others = programs
    .filter((other) => other !== program && believes(other, tick))
    .map(({ name }) => name);
  // The effects of a vandal or of the built-in coordinator are not covered by the promises.
  const isTwo = others.length > 0 && grantor === 'coordinator';
  const terms = laterTerms(world, term.number);
  const isUsed = terms.some(
    ({ who, number }) => number === term.number && (program.kind === 'participant' || who !== term.who),
  );
  const isCounted = countsTerms(program, scenario);
  const past = isCounted ? [...terms.filter(({ number }) => number !== term.number), term] : [];
  const next = { ...world, terms: past, unledTicks: 0 };
  if (isTwo) return { world: next, violation: `${program.name} leads while ${others.join(' and ')} leads` };
  return {
    world: next,
    violation:
      isUsed && isCounted
        ? `${program.name} leads under a number that was led before: ${term.number}`
        : undefined,
  };
}

/**
 * Whether a program's terms are promised to have unique numbers: always for a participant unless the Lease is
 * deleted; for others, if no client writes a holder without a new number.
 */
function countsTerms({ kind }: Program, { faults, hasBuiltIn }: Scenario): boolean {
  return kind === 'participant' || !(faults.thefts || hasBuiltIn);
}

/** Returns the terms of the Lease whose numbers may still occur. */
function laterTerms({ terms, lease }: World, number: number): readonly PastTerm[] {
  return terms.filter((term) => term.uid === lease?.uid && term.number >= number);
}
