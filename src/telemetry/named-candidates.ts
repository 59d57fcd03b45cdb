import { type CandidateAccount, explainCandidates } from '../election/candidate-accounts.ts';
import type { Decision } from '../election/decision.ts';
import { grantOf, preferredBy } from '../election/decision-queries.ts';
import { firstOf } from '../election/first-of.ts';
import type { Standing } from '../election/standing.ts';
import { strategies } from '../election/strategies.ts';

/** Of candidates, and of whatever else there may be any number of, logs and Events name so many and count the others (rule 9). */
export const MOST_NAMED = 10;

/** The candidates of a decision that are named, and how many more there are. */
export interface NamedCandidates {
  readonly named: readonly CandidateAccount[];
  readonly more: number;
}

/**
 * Whom to name of the candidates of a decision: where there are more than `most`, the one that was chosen, those that came
 * closest, and only then those that did not even take part. Takes time in proportion to their number.
 */
export function nameCandidates(decision: Decision, most = MOST_NAMED): NamedCandidates {
  const { standings } = decision;
  if (standings.length <= most) {
    const sorted = standings.toSorted((a, b) => (a.candidate.name < b.candidate.name ? -1 : 1));
    return { named: explainCandidates({ ...decision, standings: sorted }), more: 0 };
  }
  const first = firstOf(standings, most, orderOf(decision));
  return {
    named: explainCandidates({ ...decision, standings: first }),
    more: standings.length - first.length,
  };
}

/** The first of `words`, and how many more there are. */
export function nameSome(words: readonly string[]): string {
  const more = words.length - MOST_NAMED;
  const named = words.slice(0, MOST_NAMED).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}

function orderOf(decision: Decision): (a: Standing, b: Standing) => number {
  const { outcome } = decision;
  const chosen =
    grantOf(decision)?.holder ??
    preferredBy(decision) ??
    (outcome.kind === 'leader' ? outcome.leader.name : undefined);
  const strategy = outcome.kind === 'leader' ? strategies.get(outcome.strategy) : undefined;
  const isContender = ({ state, candidate }: Standing) =>
    state === 'Live' && (strategy === undefined || strategy.isElectable(candidate));
  const placeOf = (standing: Standing): number => {
    if (standing.candidate.name === chosen) return 0;
    if (isContender(standing)) return 1;
    return standing.state === 'Live' || standing.isHolder ? 2 : 3;
  };
  return (a, b) => {
    const place = placeOf(a);
    const difference = place - placeOf(b);
    if (difference !== 0 || place !== 1) return difference;
    return strategy?.compare(a.candidate, b.candidate) ?? 0;
  };
}
