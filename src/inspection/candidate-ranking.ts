import { explainCandidates } from '../election/candidate-accounts.ts';
import { sinceRenewalMs } from '../election/candidate-observation.ts';
import type { Decision } from '../election/decision.ts';
import type { ElectionInput } from '../election/election-input.ts';
import { firstOf } from '../election/first-of.ts';
import type { LeaseCandidate } from '../election/model.ts';
import { decideOutcome } from '../election/outcome.ts';
import { REASONS } from '../election/reason.ts';
import type { CandidateState, Standing } from '../election/standing.ts';
import { strategies } from '../election/strategies.ts';
import type { Now } from '../election/time.ts';
import { possibleCandidates, type View } from '../election/view.ts';
import { describeLoss } from './candidate-text.ts';
import { endOf } from './priority-text.ts';

/** One candidate, in the order in which they would lead. */
export interface RankedCandidate {
  readonly name: string;
  readonly binaryVersion: string | undefined;
  readonly emulationVersion: string | undefined;
  readonly priority: number;
  /** When that priority ends, in RFC 3339; undefined: it lasts. */
  readonly priorityUntil: string | undefined;
  readonly state: CandidateState;
  readonly renewedSecondsAgo: number;
  readonly isHolder: boolean;
  readonly isPreferred: boolean;
  /** The criterion by which it lost, or the state that keeps it out; undefined for the best. */
  readonly lostBy: string | undefined;
  /** The same in words. */
  readonly why: string;
}

/** The decision that all candidates would be part of whose answers are still to come: most have not renewed just now. */
export function supposeAnswers(view: View, decision: Decision): Decision {
  const possible = possibleCandidates(view);
  const isPossible = new Set(possible);
  // One that leads gives way only to somebody better by version; one that has yet to take the Lease up, to anybody better.
  const outcome = isBeingRevised(decision) ? decideOutcome(possible) : view.outlook;
  const standings = decision.standings.map(
    (standing): Standing => (isPossible.has(standing.candidate) ? { ...standing, state: 'Live' } : standing),
  );
  return { ...decision, actions: [], outcome, standings };
}

function isBeingRevised({ reason }: Decision): boolean {
  return reason === 'GrantRevised' || reason === 'RevisionPending';
}

/**
 * Every candidate, or the first `most` of them, with what became of it: the leader to be first, then the best of the
 * others, those that take no part last, in the order of names.
 */
export function rank(
  supposed: Decision,
  { standings }: Decision,
  input: ElectionInput,
  now: Now,
  most = Number.POSITIVE_INFINITY,
): readonly RankedCandidate[] {
  const states = new Map(standings.map(({ candidate, state }) => [candidate, state]));
  const order = supposed.outcome.kind === 'leader' ? strategies.get(supposed.outcome.strategy) : undefined;
  const placeOf = ({ state, candidate }: Standing) =>
    state !== 'Live' ? 2 : order === undefined || order.isElectable(candidate) ? 0 : 1;
  const leader = supposed.outcome.kind === 'leader' ? supposed.outcome.leader : undefined;
  const compare = (a: Standing, b: Standing): number => {
    if (a.candidate === leader || b.candidate === leader) return a.candidate === leader ? -1 : 1;
    const places = placeOf(a) - placeOf(b);
    if (places !== 0 || placeOf(a) > 0) return places;
    return order?.compare(a.candidate, b.candidate) ?? 0;
  };
  const ranked =
    most < supposed.standings.length
      ? firstOf(supposed.standings, most, compare)
      : supposed.standings.toSorted(compare);
  const accounts = new Map(
    explainCandidates({ ...supposed, standings: ranked }).map((account) => [account.name, account]),
  );
  return ranked.map(({ candidate, isHolder, observation }): RankedCandidate => {
    const state = states.get(candidate) ?? 'Idle';
    const lostBy = accounts.get(candidate.name)?.lostBy;
    return {
      name: candidate.name,
      binaryVersion: candidate.binaryVersion,
      emulationVersion: candidate.emulationVersion,
      priority: candidate.priority.value,
      priorityUntil: endOf(candidate.priority),
      state,
      renewedSecondsAgo: sinceRenewalMs(observation, now.monotonic) / 1000,
      isHolder,
      isPreferred: input.lease?.preferredHolder === candidate.name,
      lostBy,
      why: lostBy === undefined ? 'the best candidate' : describeLoss(lostBy),
    };
  });
}

/** Who leads and why, in words. */
export function verdictOn(
  holder: string | undefined,
  { outcome, standings }: Decision,
  decision: Decision,
): string {
  const meaning = REASONS[decision.reason];
  if (outcome.kind !== 'leader') {
    return holder === undefined ? `Nobody leads. ${meaning}` : `${holder} leads. ${meaning}`;
  }
  const best = outcome.leader.name;
  const rivals = standings.filter(({ candidate: { name } }) => holder === best || name === holder);
  const under = `under ${outcome.strategy}${forItsPriority(outcome.leader, outcome.strategy, rivals)}`;
  if (holder === undefined) return `Nobody leads. ${meaning} ${best} is the best candidate.`;
  if (holder === best) {
    return `${holder} leads, as it is the best candidate ${under}.`;
  }
  if (isBeingRevised(decision)) {
    return `Nobody leads yet: ${holder} was given the Lease and has not taken it up, and ${best} is better ${under}.`;
  }
  const isCandidate = standings.some(({ candidate }) => candidate.name === holder);
  if (!isCandidate) return `${holder} leads and is no candidate; ${best} is the best candidate. ${meaning}`;
  return `${holder} leads, but ${best} is better ${under}. ${meaning}`;
}

/** Says so where one of `rivals` would come before the best if both had the same priority. */
function forItsPriority(best: LeaseCandidate, strategy: string, rivals: readonly Standing[]): string {
  const order = strategies.get(strategy);
  const { priority } = best;
  const isBehindByPriority = rivals.some(
    ({ state, candidate }) =>
      state === 'Live' &&
      candidate.priority.value < priority.value &&
      order?.isElectable(candidate) &&
      order.compare({ ...candidate, priority }, best) < 0,
  );
  return isBehindByPriority ? ', for its higher priority' : '';
}
