import type { ElectionInput } from './election-input.ts';
import type { LeaseCandidate } from './model.ts';
import { decideOutcome, essentials, type Outcome } from './outcome.ts';
import { candidatesIn, type Standing, surveyStandings, surveyTwins } from './standing.ts';
import { surveyTenure, type Tenure } from './tenure.ts';
import type { Instant, Now } from './time.ts';

/** The input of a decision, looked at from one moment: what each policy is given. */
export interface View<T extends Tenure = Tenure> {
  readonly input: ElectionInput;
  readonly now: Now;
  readonly at: Instant;
  readonly tenure: T;
  readonly standings: readonly Standing[];
  /** The twins of candidates, which take no part: what is due to them is housekeeping (rule 13). */
  readonly twins: readonly Standing[];
  /** Those who stand for all that are live. */
  readonly live: readonly LeaseCandidate[];
  /** What an election among the live comes to. */
  readonly outcome: Outcome;
  /** What it would come to if all answered who still may. */
  readonly outlook: Outcome;
}

/** A view of a Lease with a valid holder. */
export type HeldView = View<Extract<Tenure, { kind: 'held' }>>;

/** A view of a Lease without one. */
export type VacantView = View<Extract<Tenure, { kind: 'vacant' }>>;

export function surveyElection(input: ElectionInput, now: Now): View {
  const tenure = surveyTenure(input, now.monotonic);
  const standings = surveyStandings(input, tenure, now);
  const incumbent = tenure.kind === 'held' ? tenure.holder : undefined;
  const live = essentials(candidatesIn(standings, 'Live'), incumbent);
  const others = essentials(candidatesIn(standings, 'Awaiting', 'Idle'), incumbent);
  const outcome = decideOutcome(live, incumbent);
  const outlook = others.length === 0 ? outcome : decideOutcome([...live, ...others], incumbent);
  const twins = surveyTwins(input, now);
  return { input, now, at: now.monotonic, tenure, standings, twins, live, outcome, outlook };
}

export function isHeld(view: View): view is HeldView {
  return view.tenure.kind === 'held';
}

export function isVacant(view: View): view is VacantView {
  return view.tenure.kind === 'vacant';
}

/** The candidates that would take part if all answered. */
export function possibleCandidates({ standings }: View): readonly LeaseCandidate[] {
  return candidatesIn(standings, 'Live', 'Awaiting', 'Idle');
}
