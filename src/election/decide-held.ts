import { isUnanswered } from './candidate-observation.ts';
import { decideOutcome, isSettled, type Outcome } from './outcome.ts';
import { hasAnsweredSince, type Tenure } from './survey.ts';
import { backoffMs } from './time.ts';
import {
  ackDeadline,
  candidatesIn,
  endsOfWords,
  hasOwnPreference,
  isPingPending,
  partiesOf,
  pingEach,
  possibleCandidates,
  removeOwnPreference,
  returns,
  staleBy,
  standingsIn,
  updateLease,
  type Verdict,
  type View,
} from './view.ts';

type HeldView = View<Extract<Tenure, { kind: 'held' }>>;
type Leader = Extract<Outcome, { kind: 'leader' }>;

/** How long after each ack the candidate of a pending preferredHolder is asked again, in milliseconds (rule 7). */
const PREFERRED_PING_INTERVAL_MS = 2000;
const PREEMPTION_BACKOFF_MS = 15_000;
const IGNORED_WRITE_BACKOFF_MS = 30_000;
const BACKOFF_CAP_MS = 10 * 60_000;

/** A Lease with a valid holder, which is never replaced, only given a preferredHolder: each policy in turn. */
export function decideHeld(view: HeldView): Verdict {
  const standing = decideThirdPartyStanding(view);
  if (standing) return standing;
  const verdict =
    decidePending(view) ??
    decideInGoodOrder(view) ??
    decideIgnoredWrites(view) ??
    decideKnownConflict(view) ??
    decidePreemptionBackoff(view) ??
    decideElection(view);
  return pingAheadOfExpiry(view, verdict);
}

/** A Lease that names a strategy of somebody else's is that somebody's, a preferredHolder that we did not set included. */
function decideThirdPartyStanding(view: HeldView): Verdict | undefined {
  const outcome = decideOutcome(possibleCandidates(view));
  const isNamed = outcome.kind === 'thirdParty' && view.tenure.lease.strategy === outcome.strategy;
  return isNamed && !hasOwnPreference(view) ? { reason: 'ThirdPartyStrategy' } : undefined;
}

/** While a preferredHolder stands, its candidate must go on answering, and go on being the best (rule 7). */
function decidePending(view: HeldView): Verdict | undefined {
  const { lease, holder } = view.tenure;
  const { preferredHolder } = lease;
  if (preferredHolder === undefined) return undefined;
  const remove = (reason: Verdict['reason'], hasFailed: boolean): Verdict => ({
    reason,
    actions: [updateLease(lease, { kind: 'unprefer', hasFailed })],
    recheckAt: [view.at],
  });

  if (preferredHolder === holder) return remove('PreferredHolderLeads', false);
  const preferred = view.standings.find(({ candidate }) => candidate.name === preferredHolder);
  if (!preferred || ['Deleting', 'Expired', 'Withdrawn', 'Lapsed'].includes(preferred.state)) {
    return remove('PreferredHolderGone', true);
  }
  if (
    preferred.state === 'Unresponsive' ||
    isUnanswered(preferred.observation, view.at, view.input.settings)
  ) {
    return remove('PreferredHolderSilent', true);
  }
  const others = view.standings.filter((standing) => standing !== preferred);
  const present = [...candidatesIn(others, 'Live'), preferred.candidate];
  const outcome = decideOutcome(present);
  const isPreferredBest = outcome.kind === 'leader' && outcome.leader === preferred.candidate;
  // One that has been silent for a while is no reason to call it off before it was asked.
  const canChange = !isSettled(present, candidatesIn(others, 'Awaiting', 'Idle'));
  if (!isPreferredBest && !canChange) {
    if (outcome.kind === 'conflict') {
      return { ...remove('StrategyConflict', false), conflict: partiesOf(possibleCandidates(view)) };
    }
    if (outcome.kind === 'thirdParty') return thirdPartyVerdict(view, outcome.strategy);
    return remove('PreferredHolderNotBest', false);
  }

  const { ping } = preferred.observation;
  const silentAt = (ping?.sentAt ?? view.at) + view.input.settings.electionDurationMs;
  const askAgainAt = (ping?.ackedAt ?? view.at) + PREFERRED_PING_INTERVAL_MS;
  const isDue = ping === undefined || (ping.ackedAt !== undefined && view.at >= askAgainAt);
  const idle = canChange ? standingsIn(others, 'Idle') : [];
  return {
    reason: 'PreemptionPending',
    actions: pingEach(view, isDue ? [preferred, ...idle] : idle, 'preemption'),
    recheckAt: [askAgainAt, silentAt, ackDeadline(view), ...endsOfWords(view)],
  };
}

/** The best candidate leads under the right strategy, or nobody could: nothing to do, and nothing to ask anybody. */
function decideInGoodOrder(view: HeldView): Verdict | undefined {
  const { lease, holder } = view.tenure;
  const outcome = decideOutcome(possibleCandidates(view));
  switch (outcome.kind) {
    case 'nobody':
      return { reason: 'NoLiveCandidates', recheckAt: returns(view) };
    case 'noneElectable':
      return { reason: 'NoElectableCandidates', recheckAt: returns(view) };
    case 'leader':
      if (outcome.leader.name !== holder || lease.strategy !== outcome.strategy) return undefined;
      return { reason: 'LeaderOptimal', recheckAt: returns(view) };
    case 'thirdParty':
    case 'conflict':
      return undefined;
  }
}

/** Where the holder or the server drops what we write, writing again after each renewal would only be noise. */
function decideIgnoredWrites(view: HeldView): Verdict | undefined {
  const { count, lastAt } = view.input.memory.ignoredWrites;
  const retryAt = lastAt + backoffMs(count, IGNORED_WRITE_BACKOFF_MS, BACKOFF_CAP_MS);
  return count > 0 && view.at < retryAt ? { reason: 'WritesIgnored', recheckAt: [retryAt] } : undefined;
}

/** A conflict is reported once; with a valid holder there is no hurry to see it resolved. */
function decideKnownConflict(view: HeldView): Verdict | undefined {
  const { conflict } = view.input.memory;
  if (conflict === undefined || conflict !== partiesOf(possibleCandidates(view))) return undefined;
  return { reason: 'StrategyConflict', conflict, recheckAt: returns(view) };
}

/** A preemption that failed must not be repeated at once: it evicts a healthy leader for nothing. */
function decidePreemptionBackoff(view: HeldView): Verdict | undefined {
  const outcome = decideOutcome(possibleCandidates(view));
  const { count, lastAt } = view.input.memory.failedPreemptions;
  const retryAt = lastAt + backoffMs(count, PREEMPTION_BACKOFF_MS, BACKOFF_CAP_MS);
  if (
    count === 0 ||
    view.at >= retryAt ||
    outcome.kind !== 'leader' ||
    outcome.leader.name === view.tenure.holder
  ) {
    return undefined;
  }
  return { reason: 'PreemptionBackoff', recheckAt: [retryAt, ...returns(view)] };
}

/** Somebody may be better than the holder, or want another strategy: ask, then decide on the answers. */
function decideElection(view: HeldView): Verdict {
  const { standings, at, tenure, input, outcome } = view;
  const idle = standingsIn(standings, 'Idle');
  const deadlines = [
    ackDeadline(view),
    at + input.settings.electionDurationMs,
    ...endsOfWords(view),
    ...returns(view),
  ];
  if (!isSettled(candidatesIn(standings, 'Live'), candidatesIn(standings, 'Awaiting', 'Idle'))) {
    return { reason: 'AwaitingAcks', actions: pingEach(view, idle, 'preemption'), recheckAt: deadlines };
  }
  switch (outcome.kind) {
    case 'leader':
      if (outcome.leader.name !== tenure.holder) return decidePreemption(view, outcome);
      if (tenure.lease.strategy === outcome.strategy)
        return { reason: 'LeaderOptimal', recheckAt: returns(view) };
      return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy) };
    case 'thirdParty':
      return thirdPartyVerdict(view, outcome.strategy);
    case 'conflict':
      return {
        reason: 'StrategyConflict',
        actions: removeOwnPreference(view),
        recheckAt: returns(view),
        conflict: partiesOf(possibleCandidates(view)),
      };
    case 'noneElectable':
      return { reason: 'NoElectableCandidates', recheckAt: returns(view) };
    case 'nobody':
      return { reason: 'NoLiveCandidates', recheckAt: returns(view) };
  }
}

/** A holder stops renewing as soon as it is told of a better one, so that one must have answered for this very purpose. */
function decidePreemption(view: HeldView, { leader, strategy }: Leader): Verdict {
  const { tenure, at, input } = view;
  const better = view.standings.find(({ candidate }) => candidate === leader);
  const ping = better?.observation.ping;
  const hasAnswered =
    better?.isAlive &&
    ping?.purpose === 'preemption' &&
    hasAnsweredSince(better.observation, input.memory.decidedAt);
  if (hasAnswered) {
    return {
      reason: 'BetterCandidate',
      actions: [updateLease(tenure.lease, { kind: 'prefer', preferredHolder: leader.name, strategy })],
      recheckAt: [(ping?.ackedAt ?? at) + PREFERRED_PING_INTERVAL_MS],
    };
  }
  const isAsked = better && ping?.purpose === 'preemption' && isPingPending(view, better);
  return {
    reason: 'AwaitingAcks',
    actions: better && !isAsked ? pingEach(view, [better], 'preemption') : [],
    recheckAt: [
      at + input.settings.electionDurationMs,
      ping && ping.sentAt + input.settings.electionDurationMs,
      ...endsOfWords(view),
    ],
  };
}

function thirdPartyVerdict(view: HeldView, strategy: string): Verdict {
  return { reason: 'ThirdPartyStrategy', actions: nameStrategy(view, strategy) };
}

function nameStrategy(view: HeldView, strategy: string) {
  const removesPreferredHolder = hasOwnPreference(view);
  return [
    updateLease(view.tenure.lease, {
      kind: 'strategy',
      strategy,
      isHolderAbsent: false,
      removesPreferredHolder,
    }),
  ];
}

/**
 * When the holder has missed its renewals, everybody whose word would be stale at the expiry is asked before it, the
 * holder too, so that the new leader is known at that instant (rule 6).
 */
function pingAheadOfExpiry(view: HeldView, verdict: Verdict): Verdict {
  const { lateAt, expiresAt } = view.tenure;
  if (view.at < lateAt) return { ...verdict, recheckAt: [...(verdict.recheckAt ?? []), lateAt] };
  const asked = new Set(
    verdict.actions?.map((action) => (action.kind === 'PingCandidate' ? action.name : undefined)),
  );
  const stale = staleBy(view, expiresAt).filter(({ candidate }) => !asked.has(candidate.name));
  return {
    ...verdict,
    reason: verdict.reason === 'LeaderOptimal' ? 'HolderLate' : verdict.reason,
    actions: [...(verdict.actions ?? []), ...pingEach(view, stale, 'election')],
    recheckAt: [...(verdict.recheckAt ?? []), expiresAt],
  };
}
