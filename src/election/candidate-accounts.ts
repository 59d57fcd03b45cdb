import type { Decision } from './decision.ts';
import { grantOf, preferredBy } from './decision-queries.ts';
import type { Standing } from './standing.ts';
import { strategies } from './strategies.ts';

/** One candidate of a decision, and why it is not the leader. */
export interface CandidateAccount {
  readonly name: string;
  readonly binaryVersion: string | undefined;
  readonly emulationVersion: string | undefined;
  readonly state: Standing['state'];
  /** The first criterion by which it lost, or what keeps it from taking part; undefined for the one chosen. */
  readonly lostBy: string | undefined;
}

/** Every candidate that a decision considered, in the order of its standings, with what became of it. */
export function explainCandidates(decision: Decision): readonly CandidateAccount[] {
  const { outcome, standings } = decision;
  const chosen =
    grantOf(decision)?.holder ??
    preferredBy(decision) ??
    (outcome.kind === 'leader' ? outcome.leader.name : undefined);
  const winner = standings.find(({ candidate }) => candidate.name === chosen);
  const order = outcome.kind === 'leader' ? strategies.get(outcome.strategy) : undefined;

  /** Nobody asks, or waits for, those who would be worse whatever they answer (rule 6). */
  const isWorse = ({ candidate, state }: Standing): boolean =>
    (state === 'Idle' || state === 'Awaiting') &&
    winner !== undefined &&
    order?.isElectable(winner.candidate) === true &&
    order.isElectable(candidate) &&
    order.compareMerit(winner.candidate, candidate) < 0;
  const lostBy = (standing: Standing): string | undefined => {
    const { candidate, state } = standing;
    if (candidate.name === chosen) return undefined;
    if (state !== 'Live' && !isWorse(standing)) return state;
    if (!order || !winner) return outcome.kind;
    if (!order.isElectable(candidate)) return 'NotElectable';
    if (!order.isElectable(winner.candidate)) return 'NotChosen';
    if (order.compare(winner.candidate, candidate) < 0) return order.explain(winner.candidate, candidate);
    // Age and name never evict (rule 5).
    return winner.isHolder ? 'AsGoodAsHolder' : 'NotChosen';
  };
  return standings.map((standing) => ({
    name: standing.candidate.name,
    binaryVersion: standing.candidate.binaryVersion,
    emulationVersion: standing.candidate.emulationVersion,
    state: standing.state,
    lostBy: lostBy(standing),
  }));
}
