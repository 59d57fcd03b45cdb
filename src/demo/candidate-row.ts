import type { LeaseCandidate } from '../election/model.ts';
import { strategies } from '../election/strategies.ts';
import type { CandidateRow, Condition, LeaseState } from './demo-state.ts';
import type { SampleLife } from './sample-candidate.ts';

/** What is known of the program behind a candidate. */
export interface SampleProgram {
  readonly life: SampleLife;
  readonly isLeading: boolean;
}

/**
 * What to show of a candidate.
 *
 * @param program undefined for a candidate that is none of the demo's own.
 * @param isFresh whether it has renewed within the time that an election waits for answers.
 */
export function candidateRow(
  candidate: LeaseCandidate,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
  isFresh: boolean,
): CandidateRow {
  const { name, binaryVersion = '', emulationVersion = '', preference } = candidate;
  return {
    name,
    binaryVersion,
    emulationVersion,
    strategy: preference.kind === 'strategy' ? preference.strategy : preference.strategies.join(' > '),
    condition: conditionOf(candidate, program, lease, isFresh),
    isHolder: lease?.holder === name,
    isPreferred: lease?.preferredHolder === name,
  };
}

/** The order of the election: the best first, and last those that could never lead. */
export function compareForElection(a: LeaseCandidate, b: LeaseCandidate): number {
  const order = strategies.get('OldestEmulationVersion');
  const [isElectableA, isElectableB] = [order?.isElectable(a) ?? false, order?.isElectable(b) ?? false];
  if (order && isElectableA && isElectableB) return order.compare(a, b);
  if (isElectableA !== isElectableB) return isElectableA ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function conditionOf(
  { name, pingTime, renewTime }: LeaseCandidate,
  program: SampleProgram | undefined,
  lease: LeaseState | undefined,
  isFresh: boolean,
): Condition {
  if (program?.life === 'crashed' || program?.life === 'paused') return program.life;
  const isHolding = lease?.holder === name && lease.remainingMs > 0;
  // Of a program that is not ours, all that can be said is what the Lease says.
  const isLeading = program?.isLeading ?? isHolding;
  if (isLeading) return isHolding && lease.preferredHolder !== '' ? 'yielding' : 'leading';
  if (isHolding) return 'elected';
  if (lease?.preferredHolder === name) return 'preferred';
  if (pingTime !== undefined && pingTime > (renewTime ?? 0n)) return 'pinged';
  return isFresh ? 'fresh' : 'idle';
}
