import type { Decision } from '../election/decision.ts';
import { grantOf, isLeaseWrite, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Reason } from '../election/reason.ts';
import { strategies } from '../election/strategies.ts';
import { parseVersion } from '../election/version.ts';

/**
 * How an election ended, each with the reasons that a decision can have then.
 *
 * granted: the Lease was given to somebody. revised: it was given to somebody else before its new holder had taken it up,
 * as that one was gone or a better candidate had come. preferred: its valid holder was asked to yield to a better candidate.
 * delegated: the strategy is somebody else's, and the Lease says so. undecided: nobody can be elected; counted when it
 * begins. failed: somebody was elected, but the Lease could not be written; it is tried again.
 */
export const electionResults = {
  granted: ['LeaseMissing', 'LeaseExpired', 'LeaseReleased', 'FormerHolderAnswered'],
  revised: ['GrantRevised'],
  preferred: ['BetterCandidate'],
  delegated: ['ThirdPartyStrategy'],
  undecided: ['NoLiveCandidates', 'NoElectableCandidates', 'StrategyConflict'],
  failed: [
    'LeaseMissing',
    'LeaseExpired',
    'LeaseReleased',
    'FormerHolderAnswered',
    'GrantRevised',
    'BetterCandidate',
    'ThirdPartyStrategy',
  ],
} as const satisfies Readonly<Record<string, readonly Reason[]>>;

export type ElectionResult = keyof typeof electionResults;

/** What has come of an election once the decision's writes have succeeded; undefined when it elected nobody. */
export function resultOf(decision: Decision): Exclude<ElectionResult, 'undecided' | 'failed'> | undefined {
  const grant = grantOf(decision);
  if (grant) return grant.revises ? 'revised' : 'granted';
  if (preferredBy(decision) !== undefined) return 'preferred';
  const isDelegation = decision.reason === 'ThirdPartyStrategy' && decision.actions.some(isLeaseWrite);
  return isDelegation ? 'delegated' : undefined;
}

/** Whether a Lease that is left as it is for this reason is one that an election found nobody for. */
export function isUndecided(reason: Reason): boolean {
  const undecided: readonly Reason[] = electionResults.undecided;
  return undecided.includes(reason);
}

/** Whom a decision that grants a Lease gives it away from, where that is known; undefined when it grants none. */
export function formerHolderOf(decision: Decision, { memory }: ElectionInput): string | undefined {
  const grant = grantOf(decision);
  const released = decision.reason === 'LeaseReleased' ? [...memory.withdrawals.keys()].at(-1) : undefined;
  return grant && (grant.former ?? released);
}

/**
 * Whether an election kept a Lease from going to a newer version too early: under OldestEmulationVersion somebody was
 * elected, or preferred, though an electable candidate with a higher binaryVersion, and no lower priority, took part.
 */
export function isSkewPrevention(decision: Decision): boolean {
  const { outcome, standings } = decision;
  const elected = grantOf(decision)?.holder ?? preferredBy(decision);
  if (outcome.kind !== 'leader' || outcome.strategy !== 'OldestEmulationVersion') return false;
  const winner = standings.find(({ candidate }) => candidate.name === elected)?.candidate;
  const version = parseVersion(winner?.binaryVersion);
  if (!winner || !version) return false;
  const order = strategies.get(outcome.strategy);
  return standings.some(({ state, candidate }) => {
    const other = parseVersion(candidate.binaryVersion);
    const isNewer = other !== undefined && other.compare(version) > 0;
    const isBehind = candidate.priority.value < winner.priority.value;
    return state === 'Live' && order?.isElectable(candidate) && isNewer && !isBehind;
  });
}
