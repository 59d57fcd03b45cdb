import { timeField } from '../coordination/raw-object.ts';
import { decideElection } from '../election/decide.ts';
import type { Decision } from '../election/decision.ts';
import { grantOf } from '../election/decision-queries.ts';
import type { Outcome } from '../election/outcome.ts';
import type { Reason } from '../election/reason.ts';
import type { CandidateState } from '../election/standing.ts';
import type { Tenure } from '../election/tenure.ts';
import type { Now } from '../election/time.ts';
import { surveyElection, type View } from '../election/view.ts';
import type { ObservedElection } from './elections.ts';
import { countPriorities, type PriorityCount } from './priority-text.ts';
import { reasonTexts } from './reason-text.ts';

/** How one Lease stands, in few words; what `status` shows of it. */
export interface LeaseStatus {
  readonly namespace: string;
  readonly name: string;
  /** Whoever the Lease names, valid or not; '' for nobody. */
  readonly holder: string;
  /** Whether the holder's time is not over, by its renewTime and the clock of whoever looks. */
  readonly isHeld: boolean;
  readonly preferredHolder: string;
  /** What the Lease names; where it names none, what the candidates come to. */
  readonly strategy: string;
  readonly candidates: Readonly<Partial<Record<CandidateState, number>>>;
  /** The priorities that are set for candidates, the highest first. */
  readonly priorities: readonly PriorityCount[];
  /** The strategies that the candidates disagree about, if all that have not been heard of lately live; else undefined. */
  readonly conflictingStrategies: readonly string[] | undefined;
  /** Why the coordinator would do what it would do now. */
  readonly reason: Reason;
  /** Undefined: nothing. */
  readonly waitingFor: string | undefined;
  readonly leaseTransitions: number;
  /** Since its creation; undefined where there is no Lease. */
  readonly ageSeconds: number | undefined;
  readonly renewedSecondsAgo: number | undefined;
}

const STATES: readonly CandidateState[] = [
  'Live',
  'Awaiting',
  'Idle',
  'Lapsed',
  'Withdrawn',
  'Unresponsive',
  'Expired',
  'Deleting',
];

/** Judges one Lease by the controller's own decision. */
export function statusOf(election: ObservedElection, now: Now): LeaseStatus {
  const { input } = election;
  return describeStatus(election, decideElection(input, now), surveyElection(input, now), now);
}

/** The same for whoever has the decision, and the view that it is made on, already. */
export function describeStatus(
  { input, rawLease }: ObservedElection,
  decision: Decision,
  view: View,
  now: Now,
): LeaseStatus {
  const { lease } = input;
  const { tenure } = view;
  // Most candidates have not renewed just now: what they would come to is what matters.
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

function countStates({ standings }: Decision): LeaseStatus['candidates'] {
  const counts = STATES.map((one) => [one, standings.filter(({ state }) => state === one).length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** What has to happen before the Lease is in good order, with names and seconds where they are known. */
function waitingFor(decision: Decision, outcome: Outcome, tenure: Tenure, now: Now): string | undefined {
  const { reason, actions, standings } = decision;
  const general = reasonTexts[reason].waitsFor;
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
      const seconds = Math.max(0, Math.ceil((tenure.expiresAt - now.monotonic) / 1000));
      if (reason === 'PreemptionPending' && tenure.lease.isPreferredHolderNoted)
        return `${tenure.holder} to give way, or to be fenced`;
      return reason === 'HolderLate'
        ? `${tenure.holder} to renew it, or its end in ${seconds}s`
        : `${tenure.holder} to let it run out, in ${seconds}s`;
    }
    case 'LeaseFenced': {
      const until = tenure.kind === 'vacant' ? tenure.reservation?.until : undefined;
      if (until === undefined) return general;
      return `the end of a fence in ${Math.max(0, Math.ceil((until - now.monotonic) / 1000))}s`;
    }
    case 'StrategyConflict':
      return outcome.kind === 'conflict' ? agreementOn(outcome.strategies) : general;
    default: {
      const grant = grantOf(decision);
      return grant ? `the coordinator to give it to ${grant.holder}` : general;
    }
  }
}

/** In one line. */
const MOST_STRATEGIES = 10;

function agreementOn(strategies: readonly string[]): string {
  const named = strategies.slice(0, MOST_STRATEGIES);
  const more = strategies.length - named.length;
  return `agreement on ${[...named, ...(more > 0 ? [`${more} more`] : [])].join(' or ')}`;
}

/** `1 Lease`, `2 Leases` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `a`, `a and b`, `a, b and 3 more` */
export function listed(names: readonly string[]): string {
  if (names.length > 3) return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
  return names.join(', ').replace(/, (?=[^,]*$)/, ' and ');
}

function secondsSince(time: bigint, now: Now): number {
  return Number(now.wall - time) / 1_000_000;
}
