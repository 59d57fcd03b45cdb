import { ackDueAt, liveUntil, type PingPurpose, pingTimeFor } from './candidate-observation.ts';
import type { Action, Decision, PingCandidate, Reason } from './decision.ts';
import type { LeaseCandidate } from './model.ts';
import { decideOutcome, essentials, type Outcome } from './outcome.ts';
import {
  type CandidateState,
  type ElectionInput,
  lapsedUntil,
  type Standing,
  surveyCandidates,
  surveyTenure,
  type Tenure,
} from './survey.ts';
import { backoffMs, earliest, type Instant, type Now } from './time.ts';

/** The input of a decision, looked at from one moment: what each policy is given. */
export interface View<T extends Tenure = Tenure> {
  readonly input: ElectionInput;
  readonly now: Now;
  readonly at: Instant;
  readonly tenure: T;
  readonly standings: readonly Standing[];
  /** What an election among the live comes to. */
  readonly outcome: Outcome;
  /** What it would come to if all answered who still may. */
  readonly outlook: Outcome;
}

/** What a policy decides; the rest of a Decision is the same for all of them. */
export interface Verdict {
  readonly reason: Reason;
  readonly actions?: readonly Action[];
  /** Moments at which the verdict may change by itself. */
  readonly recheckAt?: readonly (Instant | undefined)[];
  readonly isRound?: boolean;
  readonly isAsking?: boolean;
  readonly conflict?: string;
}

const MAY_ANSWER = ['Live', 'Awaiting', 'Idle'] as const;

export function surveyElection(input: ElectionInput, now: Now): View {
  const tenure = surveyTenure(input, now.monotonic);
  const standings = surveyCandidates(input, tenure, now);
  const incumbent = tenure.kind === 'held' ? tenure.holder : undefined;
  const outcome = decideOutcome(candidatesIn(standings, 'Live'), incumbent);
  const outlook = decideOutcome(essentials(candidatesIn(standings, ...MAY_ANSWER), incumbent), incumbent);
  return { input, now, at: now.monotonic, tenure, standings, outcome, outlook };
}

export function isHeld(view: View): view is View<Extract<Tenure, { kind: 'held' }>> {
  return view.tenure.kind === 'held';
}

export function isVacant(view: View): view is View<Extract<Tenure, { kind: 'vacant' }>> {
  return view.tenure.kind === 'vacant';
}

export function standingsIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly Standing[] {
  return standings.filter(({ state }) => states.includes(state));
}

export function candidatesIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly LeaseCandidate[] {
  return standingsIn(standings, ...states).map(({ candidate }) => candidate);
}

/** The candidates that would take part if all answered. */
export function possibleCandidates({ standings }: View): readonly LeaseCandidate[] {
  return candidatesIn(standings, ...MAY_ANSWER);
}

/** A ping to each of `standings`. */
export function pingEach(
  view: View,
  standings: readonly Standing[],
  purpose: PingPurpose,
): readonly PingCandidate[] {
  return standings.map(({ candidate, observation }) => ({
    kind: 'PingCandidate',
    name: candidate.name,
    uid: candidate.uid,
    resourceVersion: candidate.resourceVersion,
    pingTime: pingTimeFor(candidate, observation, view.now),
    purpose,
  }));
}

/** True while a ping of ours is neither answered nor given up on. */
export function isPingPending(view: View, { observation: { ping } }: Standing): boolean {
  return ping !== undefined && ping.ackedAt === undefined && view.at < ackDueAt(ping, view.input.settings);
}

/** When the wait for the next of the answers that are awaited is over. */
export function ackDeadline(view: View): Instant | undefined {
  return earliest(
    standingsIn(view.standings, 'Awaiting').map(
      ({ observation: { ping } }) => ping && ackDueAt(ping, view.input.settings),
    ),
  );
}

/** Moments at which the word of one who is alive by it, and not by holding the Lease, is no longer good. */
export function endsOfWords({ standings, input: { memory, settings } }: View): readonly Instant[] {
  return standings
    .filter(({ isAlive, isHolder }) => isAlive && !isHolder)
    .map(({ observation }) => liveUntil(observation, memory.decidedAt, settings));
}

/** Moments at which a candidate that is held back takes part again. */
export function returns(view: View): readonly (Instant | undefined)[] {
  const { input, at } = view;
  const { withdrawals } = input.memory;
  return [
    ...standingsIn(view.standings, 'Withdrawn').map(
      ({ candidate }) => (withdrawals.get(candidate.name) ?? at) + input.settings.electionDurationMs,
    ),
    ...standingsIn(view.standings, 'Lapsed').map(({ candidate }) => lapsedUntil(input, candidate.name, at)),
  ];
}

const ROUND_BACKOFF_CAP_MS = 60_000;

/** When silent candidates are asked again, while nobody leads. */
export function nextRoundAt(view: View): Instant {
  return view.input.memory.rounds.lastAt + roundBackoffMs(view);
}

/** How long the round that is `ahead` of the next one comes after the one before it, in milliseconds. */
export function roundBackoffMs({ input: { memory, settings } }: View, ahead = 0): number {
  return backoffMs(
    Math.max(1, memory.rounds.count + ahead),
    settings.electionDurationMs,
    ROUND_BACKOFF_CAP_MS,
  );
}

/** Tells one set of candidates, with what they ask for, from another. */
export function partiesOf(candidates: readonly LeaseCandidate[]): string {
  const parties = candidates.map(({ uid, binaryVersion, preference }) =>
    JSON.stringify([
      uid,
      binaryVersion,
      preference.kind === 'strategy' ? preference.strategy : preference.strategies,
    ]),
  );
  return parties.sort().join();
}

/** A Lease that is left alone must not keep a preferredHolder of ours: its holder would stop renewing for nothing. */
export function removeOwnPreference(view: View): readonly Action[] {
  const { lease, memory } = view.input;
  if (!lease || !hasOwnPreference(view)) return [];
  return [updateLease(lease, { kind: 'unprefer', hasFailed: memory.written.preferredHolder !== undefined })];
}

export function hasOwnPreference({ input: { lease } }: View): boolean {
  return lease?.preferredHolder !== undefined && lease.isPreferredHolderOurs;
}

export function updateLease(
  lease: { uid: string; resourceVersion: string },
  change: Extract<Action, { kind: 'UpdateLease' }>['change'],
): Action {
  return { kind: 'UpdateLease', uid: lease.uid, resourceVersion: lease.resourceVersion, change };
}

const order: Record<Action['kind'], number> = {
  CreateLease: 0,
  UpdateLease: 0,
  PingCandidate: 1,
  DeleteCandidate: 2,
};

/** A verdict, made whole. */
export function toDecision(
  view: View,
  verdict: Verdict,
  housekeeping: Pick<Verdict, 'actions' | 'recheckAt'>,
): Decision {
  // A ping would change the resourceVersion that a deletion rests on; whoever is to be deleted had its ping.
  const doomed = new Set(
    housekeeping.actions?.map((action) => (action.kind === 'DeleteCandidate' ? action.name : undefined)),
  );
  const actions = (verdict.actions ?? []).filter(
    (action) => action.kind !== 'PingCandidate' || !doomed.has(action.name),
  );
  const busy = new Set(actions.map((action) => (action.kind === 'PingCandidate' ? action.name : '')));
  for (const action of housekeeping.actions ?? []) {
    if (action.kind !== 'PingCandidate' || !busy.has(action.name)) actions.push(action);
  }
  actions.sort((a, b) => order[a.kind] - order[b.kind]);
  const time = earliest(
    [...(verdict.recheckAt ?? []), ...(housekeeping.recheckAt ?? [])].map((instant) =>
      instant !== undefined && instant > view.at && instant < Number.POSITIVE_INFINITY ? instant : undefined,
    ),
  );
  return {
    reason: verdict.reason,
    actions,
    requeue: time === undefined ? { kind: 'awaitChange' } : { kind: 'at', time },
    tenure: view.tenure,
    outcome: view.outcome,
    standings: view.standings,
    isRound: verdict.isRound ?? false,
    isAsking: verdict.isAsking ?? false,
    conflict: verdict.conflict,
  };
}
