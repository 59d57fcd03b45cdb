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
import type { Instant, LeaseCandidate, Now } from '../election/model.ts';
import { decideOutcome, type Outcome } from '../election/outcome.ts';
import { strategies } from '../election/strategies.ts';
import {
  type CandidateState,
  type ElectionInput,
  possibleCandidates,
  type Standing,
  surveyElection,
  type Tenure,
  type View,
} from '../election/view.ts';
import type { ObservedElection } from './elections.ts';
import {
  countPriorities,
  describeLoss,
  endOf,
  listed,
  type PriorityCount,
  stateTexts,
  waitsFor,
} from './wording.ts';

export interface LeaseStatus {
  readonly namespace: string;
  readonly name: string;
  /** The holderIdentity, valid or not; empty for no holder. */
  readonly holder: string;
  /** Whether the Lease has not expired, according to its renewTime and the clock of this command. */
  readonly isHeld: boolean;
  readonly preferredHolder: string;
  /** The strategy in the Lease. If there is none, the strategy that its candidates agree on. */
  readonly strategy: string;
  readonly candidates: Readonly<Partial<Record<CandidateState, number>>>;
  readonly priorities: readonly PriorityCount[];
  /** The conflicting strategies, if all silent candidates are alive; undefined without a conflict. */
  readonly conflictingStrategies: readonly string[] | undefined;
  readonly reason: Reason;
  /** Undefined if the Lease waits for nothing. */
  readonly waitingFor: string | undefined;
  readonly leaseTransitions: number;
  readonly ageSeconds: number | undefined;
  readonly renewedSecondsAgo: number | undefined;
}

/** Describes a Lease, using the controller's own decision function. */
export function statusOf(election: ObservedElection, now: Now): LeaseStatus {
  const { input } = election;
  return describeStatus(election, decideElection(input, now), surveyElection(input, now), now);
}

/** Like {@link statusOf}, if the caller already has the decision and its view. */
export function describeStatus(
  { input, rawLease }: ObservedElection,
  decision: Decision,
  view: View,
  now: Now,
): LeaseStatus {
  const { lease } = input;
  const { tenure } = view;
  // Most candidates have not renewed just now. Therefore the outcome assumes that all of them answer.
  const { outlook: outcome } = view;
  const created = rawLease && timeField(rawLease.metadata, 'creationTimestamp');
  return {
    namespace: input.namespace,
    name: input.name,
    holder: lease?.holderIdentity ?? '',
    isHeld: tenure.kind === 'held',
    preferredHolder: lease?.preferredHolder ?? '',
    strategy: lease?.strategy || ('strategy' in outcome ? outcome.strategy : ''),
    candidates: countStates(decision),
    priorities: countPriorities(view.standings),
    conflictingStrategies: outcome.kind === 'conflict' ? outcome.strategies : undefined,
    reason: decision.reason,
    waitingFor: waitingFor(decision, outcome, tenure, now),
    leaseTransitions: lease?.leaseTransitions ?? 0,
    ageSeconds: created === undefined ? undefined : secondsSince(created, now),
    renewedSecondsAgo: lease?.renewTime === undefined ? undefined : secondsSince(lease.renewTime, now),
  };
}

export interface RankedCandidate {
  readonly name: string;
  readonly binaryVersion: string | undefined;
  readonly emulationVersion: string | undefined;
  readonly priority: number;
  /** The end of the priority, in RFC 3339; undefined if it has none. */
  readonly priorityUntil: string | undefined;
  readonly state: CandidateState;
  readonly renewedSecondsAgo: number;
  readonly isHolder: boolean;
  readonly isPreferred: boolean;
  /** The criterion by which the candidate lost, or the state that excludes it; undefined for the best candidate. */
  readonly lostBy: string | undefined;
  readonly why: string;
}

/** Returns the decision that follows if all pinged candidates answer. Most of them do. */
export function assumeAnswers(view: View, decision: Decision): Decision {
  const possible = possibleCandidates(view);
  const isPossible = new Set(possible);
  // A leader yields only to a candidate with a better version. A holder that has not taken up its grant
  // yields to every better candidate.
  const outcome = isBeingRevised(decision) ? decideOutcome(possible) : view.outlook;
  const standings = decision.standings.map(
    (standing): Standing => (isPossible.has(standing.candidate) ? { ...standing, state: 'Live' } : standing),
  );
  return { ...decision, actions: [], outcome, standings };
}

/** Ranks the candidates, the next leader first, and explains their ranks. Returns at most `most`. */
export function rank(
  supposed: Decision,
  { standings }: Decision,
  input: ElectionInput,
  now: Now,
  most?: number,
): readonly RankedCandidate[] {
  const states = new Map(standings.map(({ candidate, state }) => [candidate, state]));
  const ranked = rankCandidates(supposed, most);
  const accounts = explainCandidates({ ...supposed, standings: ranked });
  return ranked.map(({ candidate, isHolder, observation }, index): RankedCandidate => {
    const state = states.get(candidate) ?? 'Idle';
    const lostBy = accounts[index]?.lostBy;
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

export function verdictOn(
  holder: string | undefined,
  { outcome, standings }: Decision,
  decision: Decision,
): string {
  const meaning = REASONS[decision.reason];
  if (outcome.kind !== 'leader') {
    return `${holder ?? 'No candidate'} leads. ${meaning}`;
  }
  const best = outcome.leader.name;
  const rivals = standings.filter(({ candidate: { name } }) => holder === best || name === holder);
  const under = `under ${outcome.strategy}${forItsPriority(outcome.leader, outcome.strategy, rivals)}`;
  if (holder === undefined) return `No candidate leads. ${meaning} ${best} is the best candidate.`;
  if (holder === best) {
    return `${holder} leads, as it is the best candidate ${under}.`;
  }
  if (isBeingRevised(decision)) {
    return `No candidate leads yet: ${holder} got the Lease and has not renewed it, and ${best} is better ${under}.`;
  }
  const isCandidate = standings.some(({ candidate }) => candidate.name === holder);
  if (!isCandidate)
    return `${holder} leads and is not a candidate; ${best} is the best candidate. ${meaning}`;
  return `${holder} leads, but ${best} is better ${under}. ${meaning}`;
}

function countStates({ standings }: Decision): LeaseStatus['candidates'] {
  const counts = Object.keys(stateTexts).map(
    (one) => [one, standings.filter(({ state }) => state === one).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Describes what must happen before the best candidate leads, with names and seconds if they are known. */
function waitingFor(decision: Decision, outcome: Outcome, tenure: Tenure, now: Now): string | undefined {
  const { reason, actions, standings } = decision;
  const general = waitsFor(reason);
  switch (reason) {
    case 'AwaitingAcks': {
      const asked = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
      const awaited = standings.flatMap(({ state, candidate }) =>
        state === 'Awaiting' ? [candidate.name] : [],
      );
      const names = [...new Set([...awaited, ...asked])].sort();
      const answers = names.length === 0 ? general : `${listed(names)} to answer`;
      return outcome.kind === 'conflict' ? `${answers}, and ${agreementOn(outcome.strategies)}` : answers;
    }
    case 'PreemptionPending':
    case 'HolderLate': {
      if (tenure.kind !== 'held') return general;
      const seconds = secondsUntil(tenure.expiresAt, now);
      if (reason === 'PreemptionPending' && tenure.lease.isPreferredHolderNoted)
        return `${tenure.holder} to yield, or to be fenced`;
      return reason === 'HolderLate'
        ? `${tenure.holder} to renew it, or its expiry in ${seconds}s`
        : `${tenure.holder} to let it expire, in ${seconds}s`;
    }
    case 'LeaseFenced': {
      const until = tenure.kind === 'vacant' ? tenure.reservation?.until : undefined;
      if (until === undefined) return general;
      return `the end of a fence in ${secondsUntil(until, now)}s`;
    }
    case 'StrategyConflict':
      return outcome.kind === 'conflict' ? agreementOn(outcome.strategies) : general;
    default: {
      const grant = grantOf(decision);
      return grant ? `the coordinator to give it to ${grant.holder}` : general;
    }
  }
}

function agreementOn(strategies: readonly string[]): string {
  return `agreement on one of ${listed(strategies)}`;
}

function secondsUntil(at: Instant, now: Now): number {
  return Math.max(0, Math.ceil((at - now.monotonic) / 1000));
}

function secondsSince(time: bigint, now: Now): number {
  return Number(now.wall - time) / 1_000_000;
}

function isBeingRevised({ reason }: Decision): boolean {
  return reason === 'GrantRevised' || reason === 'RevisionPending';
}

/** Explains that the best candidate wins because of its priority, if another candidate would win without it. */
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
