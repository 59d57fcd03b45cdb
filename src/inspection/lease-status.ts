import { unledSince } from '../controller/elections-survey.ts';
import { timeField } from '../coordination/raw-object.ts';
import { sinceRenewalMs } from '../election/candidate-observation.ts';
import { decideElection } from '../election/decide.ts';
import {
  type Decision,
  explainCandidates,
  grantOf,
  REASONS,
  type Reason,
  rankCandidates,
} from '../election/decision.ts';
import type { Instant, LeaseCandidate, MicroTime, Now } from '../election/model.ts';
import { decideOutcome } from '../election/outcome.ts';
import { strategies } from '../election/strategies.ts';
import {
  type CandidateState,
  possibleCandidates,
  type Standing,
  standingsIn,
  surveyElection,
  surveyTenure,
  type View,
} from '../election/view.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import type { ObservedElection } from './elections.ts';
import {
  countPriorities,
  describeLoss,
  endOf,
  listed,
  stateTexts,
  vacancyNotes,
  waitsFor,
} from './wording.ts';

export interface LeaseStatus {
  readonly namespace: string;
  readonly name: string;
  /** The holderIdentity, even if the Lease has expired; empty if the Lease has no holder. */
  readonly holder: string;
  /** Whether the Lease has a valid holder. False for an expired Lease and for a fenced Lease (rule 14). */
  readonly isHeld: boolean;
  /** Why the holder is not valid, such as `expired`; undefined if it is valid, or if there is no holder. */
  readonly holderNote: string | undefined;
  readonly preferredHolder: string;
  /** The strategy in the Lease. If the Lease has none, the strategy on which its candidates agree; may be empty. */
  readonly strategy: string;
  readonly candidates: Readonly<Partial<Record<CandidateState, number>>>;
  readonly priorities: ReturnType<typeof countPriorities>;
  /** The conflicting strategies of candidates that can take part now or after a ping; undefined without a conflict. */
  readonly conflictingStrategies: readonly string[] | undefined;
  readonly reason: Reason;
  /** What the Lease waits for, as text that follows the words `waits for`; undefined if it waits for nothing. */
  readonly waitingFor: string | undefined;
  readonly leaseTransitions: number;
  readonly ageSeconds: number | undefined;
  readonly renewedSecondsAgo: number | undefined;
}

/** Returns the status of a Lease, using the controller's own decision function. */
export function statusOf({ input, rawLease }: ObservedElection, now: Now): LeaseStatus {
  return describeStatus(decideElection(input, now), surveyElection(input, now), rawLease);
}

/** The time after which a coordinator must have decided on a Lease with candidates and without a leader, in ms. */
const OVERDUE_MS = 60_000;

/** True if there has been no leader for OVERDUE_MS, although one of the candidates has existed for that long. */
export function isOverdue({ input }: ObservedElection, { wall, monotonic }: Now): boolean {
  const tenure = surveyTenure(input, monotonic);
  const unledAt = unledSince(input, tenure) ?? Number.NEGATIVE_INFINITY;
  if (tenure.kind === 'held' || monotonic - unledAt <= OVERDUE_MS) return false;
  const since = wall - BigInt(OVERDUE_MS) * 1000n;
  return input.candidates.some(({ candidate }) => (candidate.creationTimestamp ?? wall) < since);
}

/** Returns the status of a Lease from a decision and a view that the caller already has. */
export function describeStatus(decision: Decision, view: View, rawLease?: KubernetesObject): LeaseStatus {
  // Use the outlook: it includes the candidates that may still answer a ping. Without them, most candidates would be
  // missing, because few have just renewed or answered.
  const { input, outlook: outcome } = view;
  const { namespace, name, lease } = input;
  const created = rawLease && timeField(rawLease.metadata, 'creationTimestamp');
  const secondsSince = (time: MicroTime) => Number(view.now.wall - time) / 1_000_000;
  return {
    namespace,
    name,
    holder: lease?.holderIdentity ?? '',
    isHeld: view.tenure.kind === 'held',
    holderNote: view.tenure.kind === 'vacant' ? vacancyNotes[view.tenure.need] : undefined,
    preferredHolder: lease?.preferredHolder ?? '',
    strategy: lease?.strategy || ('strategy' in outcome ? outcome.strategy : ''),
    candidates: countStates(view),
    priorities: countPriorities(view.standings),
    conflictingStrategies: outcome.kind === 'conflict' ? outcome.strategies : undefined,
    reason: decision.reason,
    waitingFor: waitingFor(decision, view),
    leaseTransitions: lease?.leaseTransitions ?? 0,
    ageSeconds: created === undefined ? undefined : secondsSince(created),
    renewedSecondsAgo: lease?.renewTime === undefined ? undefined : secondsSince(lease.renewTime),
  };
}

/**
 * Treats each candidate that may still answer a ping as if it had answered. Returns the decision without actions, and
 * with the outcome and the states that result.
 */
export function assumeAnswers(view: View, decision: Decision): Decision {
  const possible = possibleCandidates(view);
  const isPossible = new Set(possible);
  // The outlook keeps a holder that need not yield (rule 5). But a revision can replace such a holder (rule 12). So when
  // the coordinator revises the grant, take the best candidate.
  const outcome = isBeingRevised(decision) ? decideOutcome(possible) : view.outlook;
  const standings = decision.standings.map(
    (standing): Standing => (isPossible.has(standing.candidate) ? { ...standing, state: 'Live' } : standing),
  );
  return { ...decision, actions: [], outcome, standings };
}

export type RankedCandidate = ReturnType<typeof rank>[number];

/** Ranks the candidates, the best first, and explains their ranks. Returns at most `most` candidates. */
export function rank(supposed: Decision, { standings }: Decision, { input, at }: View, most?: number) {
  const states = new Map(standings.map(({ candidate, state }) => [candidate, state]));
  const ranked = rankCandidates(supposed, most);
  const accounts = explainCandidates({ ...supposed, standings: ranked });
  return ranked.map(({ candidate, isHolder, observation }, index) => {
    const { name, binaryVersion, emulationVersion, priority } = candidate;
    const lostBy = accounts[index]?.lostBy;
    return {
      ...{ name, binaryVersion, emulationVersion, priority: priority.value, priorityUntil: endOf(priority) },
      state: states.get(candidate) ?? 'Idle',
      renewedSecondsAgo: sinceRenewalMs(observation, at) / 1000,
      isHolder,
      isPreferred: input.lease?.preferredHolder === name,
      lostBy,
      why: lostBy === undefined ? 'the best candidate' : describeLoss(lostBy),
    };
  });
}

/** Returns a text that says who leads, and why. The first argument is the result of {@link assumeAnswers}. */
export function verdictOn({ outcome, standings }: Decision, decision: Decision): string {
  const { tenure, reason } = decision;
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  const meaning = REASONS[reason];
  if (outcome.kind !== 'leader') return `${holder ?? 'No candidate'} leads. ${meaning}`;
  const best = outcome.leader.name;
  const rivals = standings.filter(({ candidate: { name } }) => holder === best || name === holder);
  const under = `under ${outcome.strategy}${forItsPriority(outcome.leader, outcome.strategy, rivals)}`;
  if (holder === undefined) return `No candidate leads. ${meaning} ${best} is the best candidate.`;
  if (holder === best) return `${holder} leads, as it is the best candidate ${under}.`;
  if (isBeingRevised(decision))
    return `No candidate leads yet: ${holder} got the Lease and has not renewed it, and ${best} is better ${under}.`;
  if (!standings.some(({ candidate }) => candidate.name === holder))
    return `${holder} leads and is not a candidate; ${best} is the best candidate. ${meaning}`;
  return `${holder} leads, but ${best} is better ${under}. ${meaning}`;
}

function countStates({ standings }: View): LeaseStatus['candidates'] {
  const counts = Object.keys(stateTexts).map(
    (one) => [one, standings.filter(({ state }) => state === one).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Reasons for which {@link waitingFor} may contain a countdown in seconds. */
export const COUNTING_DOWN: ReadonlySet<Reason> = new Set(['PreemptionPending', 'HolderLate', 'LeaseFenced']);

/** Describes what the Lease waits for, with names and seconds if they are known; undefined if it waits for nothing. */
function waitingFor(decision: Decision, { outlook: outcome, tenure, at }: View): string | undefined {
  const { reason } = decision;
  const agreement = outcome.kind === 'conflict' && `agreement on one of ${listed(outcome.strategies)}`;
  if (reason === 'StrategyConflict' && agreement) return agreement;
  if (reason === 'AwaitingAcks') {
    const names = unansweredIn(decision);
    const answers = names.length === 0 ? waitsFor(reason) : `${listed(names)} to answer`;
    return agreement ? `${answers}, and ${agreement}` : answers;
  }
  const secondsUntil = (end: Instant) => Math.max(0, Math.ceil((end - at) / 1000));
  if (reason === 'LeaseFenced' && tenure.kind === 'vacant' && tenure.reservation)
    return `the end of a fence in ${secondsUntil(tenure.reservation.until)}s`;
  if (tenure.kind === 'held' && reason === 'HolderLate')
    return `${tenure.holder} to renew it, or its expiry in ${secondsUntil(tenure.expiresAt)}s`;
  if (tenure.kind === 'held' && reason === 'PreemptionPending') {
    if (tenure.lease.isPreferredHolderNoted) return `${tenure.holder} to yield, or to be fenced`;
    return `${tenure.holder} to let it expire, in ${secondsUntil(tenure.expiresAt)}s`;
  }
  const grant = grantOf(decision);
  return grant ? `the coordinator to give it to ${grant.holder}` : waitsFor(reason);
}

/** Returns the names of the candidates that are `Awaiting` or that the decision will ping. */
function unansweredIn({ actions, standings }: Decision): readonly string[] {
  const asked = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
  const awaited = standingsIn(standings, 'Awaiting').map(({ candidate }) => candidate.name);
  return [...new Set([...awaited, ...asked])].sort();
}

function isBeingRevised({ reason }: Decision): boolean {
  return reason === 'GrantRevised' || reason === 'RevisionPending';
}

/** Returns `, for its higher priority` if a rival with a lower priority would win at equal priority; otherwise ''. */
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
