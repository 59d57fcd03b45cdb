import { ownersOf } from '../coordination/raw-object.ts';
import { decideElection } from '../election/decide.ts';
import { type Decision, REASONS, type Reason } from '../election/decision.ts';
import type { LeaseCandidate, Now } from '../election/model.ts';
import { surveyElection } from '../election/view.ts';
import type { ObservedElection } from './elections.ts';
import type { LockHolder } from './evidence.ts';
import type { ConditionAccount } from './evidence-account.ts';
import { checkCandidates, checkPriorities, type ObservedAt } from './findings.ts';
import {
  assumeAnswers,
  describeStatus,
  type LeaseStatus,
  type RankedCandidate,
  rank,
  verdictOn,
} from './lease-status.ts';
import { type Rehearsal, rehearse } from './rehearsal.ts';
import { adviceOn, describeLoss, listed } from './wording.ts';

export interface Blocker {
  readonly what: string;
  readonly advice: string;
}

/** The strategy of a Lease and its origin. */
export interface StrategyAccount {
  /** The strategy that the candidates agree on; undefined if they conflict or name none. */
  readonly resolved: string | undefined;
  /** Candidates whose first choice is the resolved strategy. */
  readonly askedBy: readonly string[];
  /** Candidates whose first choice is another strategy. */
  readonly others: readonly { readonly name: string; readonly asksFor: readonly string[] }[];
  /** The strategy in the Lease; empty for none. */
  readonly onLease: string;
  /** The field managers of the strategy field. */
  readonly writtenBy: readonly string[];
}

export interface LeaseAccount {
  readonly status: LeaseStatus;
  readonly verdict: string;
  /** Time until the Lease expires, in seconds; undefined if it has expired or has no holder. */
  readonly expiresInSeconds: number | undefined;
  readonly reason: Reason;
  readonly candidates: readonly RankedCandidate[];
  readonly strategy: StrategyAccount;
  readonly coordinator: LockHolder;
  readonly blockers: readonly Blocker[];
  readonly ifLeaderDied: Rehearsal | undefined;
  /** The conditions of crash evidence; undefined if the caller did not request them, or if the holder is not silent. */
  readonly crashEvidence: readonly ConditionAccount[] | undefined;
}

/** Explains a Lease, using the controller's own decision function. */
export function accountFor(
  election: ObservedElection,
  coordinator: LockHolder,
  now: Now,
  crashEvidence?: LeaseAccount['crashEvidence'],
): LeaseAccount {
  const { input, rawLease } = election;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const { tenure } = view;
  const supposed = assumeAnswers(view, decision);
  const candidates = rank(supposed, decision, input, now);
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  return {
    status: describeStatus(election, decision, view, now),
    verdict: verdictOn(holder, supposed, decision),
    expiresInSeconds: tenure.kind === 'held' ? (tenure.expiresAt - now.monotonic) / 1000 : undefined,
    reason: decision.reason,
    candidates,
    strategy: strategyOf(supposed, input.lease?.strategy ?? '', ownersOf(rawLease, ['spec', 'strategy'])),
    coordinator,
    blockers: blockersOf(decision, candidates, coordinator, { elections: [election], now }),
    ifLeaderDied: holder === undefined ? undefined : rehearse(input, now, [{ kind: 'crash', name: holder }]),
    crashEvidence,
  };
}

function strategyOf(
  { outcome, standings }: Decision,
  onLease: string,
  writtenBy: readonly string[],
): StrategyAccount {
  const resolved = 'strategy' in outcome ? outcome.strategy : undefined;
  const parties = standings.flatMap(({ candidate, state }) => (state === 'Live' ? [candidate] : []));
  const [asking = [], others = []] = [true, false].map((isAsking) =>
    parties.filter((candidate) => (asksFor(candidate)[0] === resolved) === isAsking),
  );
  return {
    resolved,
    askedBy: asking.map(({ name }) => name),
    others: others.map((candidate) => ({ name: candidate.name, asksFor: asksFor(candidate) })),
    onLease,
    writtenBy,
  };
}

function asksFor({ preference }: LeaseCandidate): readonly string[] {
  return preference.kind === 'strategy' ? [preference.strategy] : preference.strategies;
}

function blockersOf(
  { reason }: Decision,
  candidates: readonly RankedCandidate[],
  coordinator: LockHolder,
  observed: ObservedAt,
): readonly Blocker[] {
  const blockers: Blocker[] = [];
  const advice = adviceOn(reason);
  if (advice !== undefined) blockers.push({ what: REASONS[reason], advice });
  if (coordinator.kind === 'none') {
    blockers.push({
      what: 'No coordinator holds the lock, so no election is decided.',
      advice: 'Start the coordinator, or turn on the one built into kube-apiserver; doctor says more.',
    });
  }
  for (const finding of [...checkCandidates(observed), ...checkPriorities(observed)])
    if (finding.advice !== undefined) blockers.push({ what: finding.what, advice: finding.advice });
  const unreadable = candidates.filter(({ lostBy }) => lostBy === 'NotElectable');
  if (unreadable.length > 0) {
    blockers.push({
      what: `${listed(unreadable.map(({ name }) => name))}: ${describeLoss('NotElectable')}.`,
      advice: 'Set binaryVersion and emulationVersion to semantic versions such as 1.36.0.',
    });
  }
  return blockers;
}
