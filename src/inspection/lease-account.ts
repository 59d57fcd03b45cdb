import { ownersOf } from '../coordination/raw-object.ts';
import { decideElection } from '../election/decide.ts';
import { type Decision, REASONS } from '../election/decision.ts';
import type { Now } from '../election/model.ts';
import { candidatesIn, surveyElection } from '../election/view.ts';
import type { ObservedElection } from './elections.ts';
import type { LockHolder } from './evidence.ts';
import type { ConditionAccount } from './evidence-account.ts';
import { checkCandidates, checkPriorities, type ObservedAt } from './findings.ts';
import { assumeAnswers, describeStatus, type RankedCandidate, rank, verdictOn } from './lease-status.ts';
import { rehearse } from './rehearsal.ts';
import { adviceOn, describeLoss, listed } from './wording.ts';

/** The strategy that the candidates agree on, the strategies that they ask for, and the strategy in the Lease. */
export type StrategyAccount = ReturnType<typeof strategyOf>;

export type LeaseAccount = ReturnType<typeof accountFor>;

/**
 * Explains a Lease, using the controller's own decision function.
 * @param crashEvidence the result of `accountForEvidence`; undefined if the caller did not call it
 */
export function accountFor(
  election: ObservedElection,
  coordinator: LockHolder,
  now: Now,
  crashEvidence?: readonly ConditionAccount[],
) {
  const { input, rawLease } = election;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const { tenure } = view;
  const supposed = assumeAnswers(view, decision);
  const candidates = rank(supposed, decision, view);
  return {
    status: describeStatus(decision, view, rawLease),
    verdict: verdictOn(supposed, decision),
    expiresInSeconds: tenure.kind === 'held' ? (tenure.expiresAt - now.monotonic) / 1000 : undefined,
    reason: decision.reason,
    candidates,
    strategy: strategyOf(supposed, input.lease?.strategy ?? '', ownersOf(rawLease, ['spec', 'strategy'])),
    coordinator,
    blockers: blockersOf(decision, candidates, coordinator, { elections: [election], now }),
    ifLeaderDied:
      tenure.kind === 'held' ? rehearse(input, now, [{ kind: 'crash', name: tenure.holder }]) : undefined,
    crashEvidence,
  };
}

function strategyOf({ outcome, standings }: Decision, onLease: string, writtenBy: readonly string[]) {
  // The strategy that the candidates agree on; undefined if they conflict, or if none of them has a vote (rule 4).
  const resolved = 'strategy' in outcome ? outcome.strategy : undefined;
  const parties = candidatesIn(standings, 'Live').map(({ name, preference }) => ({
    name,
    asksFor: preference.kind === 'strategy' ? [preference.strategy] : preference.strategies,
  }));
  return {
    resolved,
    // The candidates that may take part. `askedBy`: all whose first choice is `resolved`; `others`: the rest.
    askedBy: parties.filter(({ asksFor }) => asksFor[0] === resolved).map(({ name }) => name),
    others: parties.filter(({ asksFor }) => asksFor[0] !== resolved),
    onLease,
    // The field managers that own `spec.strategy`; empty if the strategy comes from a note (rule 14).
    writtenBy,
  };
}

function blockersOf(
  { reason }: Decision,
  candidates: readonly RankedCandidate[],
  coordinator: LockHolder,
  observed: ObservedAt,
) {
  const blockers: { what: string; advice: string }[] = [];
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
