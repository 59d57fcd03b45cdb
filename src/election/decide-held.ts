import { backoffDelayMs } from '../support/backoff.ts';
import {
  grantTo,
  nameStrategy,
  pingEach,
  removeOwnPreference,
  transitionsTo,
  updateLease,
} from './actions.ts';
import { askAhead, contendersAmong, contendersToPing, nextWaveAt } from './ask.ts';
import { reservationFor } from './beliefs.ts';
import { ackDueAt, isUnanswered } from './candidate-observation.ts';
import type { LeaseChange, Reason } from './decision.ts';
import { blockingBeliefs, expiryOf, isGrantUnrenewed, takeUpMs } from './lease-memory.ts';
import { FENCE, type Instant } from './model.ts';
import { decideOutcome, type Leader } from './outcome.ts';
import {
  ackDeadline,
  candidateChanges,
  conflictParties,
  decideIgnoredWrites,
  isPingPending,
  knownConflict,
  livenessExpiry,
  reinstatementTime,
  type Verdict,
} from './verdict.ts';
import { candidatesIn, type HeldView, isHeldBack, type Standing, standingsIn } from './view.ts';

/** Time from each ack of the preferred candidate to the next ping to it, in milliseconds (rule 7). */
const PREFERRED_PING_INTERVAL_MS = 2000;
const PREEMPTION_BACKOFF = { initialMs: 15_000, maxMs: 10 * 60_000 };

/** Decides about a Lease with a valid holder (rules 5 and 7). The first policy with a verdict wins. */
export function decideHeld(view: HeldView): Verdict {
  const verdict =
    decideProvisional(view) ??
    decidePending(view) ??
    decideHiddenHolder(view) ??
    decideInGoodOrder(view) ??
    decideIgnoredWrites(view) ??
    decideKnownConflict(view) ??
    decideUntakenReturn(view) ??
    decidePreemptionBackoff(view) ??
    decideChallenge(view);
  return pingAheadOfExpiry(view, pingAheadOfTakeUp(view, verdict));
}

/** Handles a preferredHolder: usually pings the preferred candidate or removes preferredHolder (rule 7). */
function decidePending(view: HeldView): Verdict | undefined {
  const { lease, holder } = view.tenure;
  const { preferredHolder } = lease;
  if (preferredHolder === undefined) return undefined;
  const remove = (reason: Reason, hasFailed: boolean): Verdict => ({
    reason,
    actions: updateLease(view.input, lease, { kind: 'clearPreferredHolder', hasFailed }),
  });

  if (preferredHolder === holder) return remove('PreferredHolderLeads', false);
  const preferred = view.standings.find(({ candidate }) => candidate.name === preferredHolder);
  if (!preferred || ['Deleting', 'Expired', 'Withdrawn', 'Lapsed'].includes(preferred.state))
    return remove('PreferredHolderGone', true);
  const isSilent = preferred.state === 'Unresponsive';
  if (isSilent || isUnanswered(preferred.observation, view.at, view.input.settings))
    return remove('PreferredHolderSilent', true);
  const others = view.standings.filter((standing) => standing !== preferred);
  const present = [...candidatesIn(others, 'Live'), preferred.candidate];
  const outcome = decideOutcome(present, preferredHolder);
  const isPreferredBest = outcome.kind === 'leader' && outcome.leader === preferred.candidate;
  // As incumbent, the holder wins against candidates to which it need not yield, such as equal ones (rule 5).
  const withHolder = decideOutcome(present, holder);
  const isHolderWorse = withHolder.kind !== 'leader' || withHolder.leader.name !== holder;
  // Candidates that are not alive must answer a ping before they can cause the removal of the preferredHolder.
  const absent = standingsIn(others, 'Awaiting', 'Idle');
  const contenders = contendersAmong(present, absent, preferredHolder);
  const canChange = contenders.length > 0;
  if (!isHolderWorse || (!isPreferredBest && !canChange)) {
    if (outcome.kind === 'conflict')
      return { ...remove('StrategyConflict', false), conflict: conflictParties(view) };
    if (outcome.kind === 'thirdParty')
      return { reason: 'ThirdPartyStrategy', actions: nameStrategy(view, outcome.strategy) };
    return remove('PreferredHolderNotBest', false);
  }

  const unaware = isPreferredBest ? decideUnaware(view, preferred, outcome.strategy) : undefined;
  if (unaware) return unaware;
  const { ping } = preferred.observation;
  const askAgainAt = (ping?.ackedAt ?? view.at) + PREFERRED_PING_INTERVAL_MS;
  const isDue = ping === undefined || view.at >= askAgainAt;
  const asked = contendersToPing(view, contenders);
  return {
    reason: 'PreemptionPending',
    actions: pingEach(view, isDue ? [preferred, ...asked] : asked, 'preemption'),
    recheckAt: [askAgainAt, ackDeadline(view), nextWaveAt(view), livenessExpiry(view)],
    isAsking: canChange,
  };
}

/**
 * Leaves the Lease unchanged if the holder's LeaseCandidate is not visible, but may exist in an API that the server no
 * longer serves. Without the LeaseCandidate, the coordinator cannot compare the holder with other candidates (rule 13).
 */
function decideHiddenHolder({ at, input, standings, tenure }: HeldView): Verdict | undefined {
  const { hiddenUntil = Number.NEGATIVE_INFINITY } = input;
  if (at >= hiddenUntil || standings.some(({ candidate }) => candidate.name === tenure.holder))
    return undefined;
  return { reason: 'HolderHidden', recheckAt: [hiddenUntil] };
}

/** Leaves the Lease unchanged if its holder need not yield and its strategy is right, or if no candidate can lead. */
function decideInGoodOrder(view: HeldView): Verdict | undefined {
  const { lease, holder, isProvisional } = view.tenure;
  const { outlook } = view;
  if (outlook.kind === 'none') return unlessReinstated(view, 'NoLiveCandidates');
  if (outlook.kind === 'noneElectable') return unlessReinstated(view, 'NoElectableCandidates');
  if (outlook.kind !== 'leader' || outlook.leader.name !== holder) return undefined;
  // If the server has dropped the strategy of this grant, do not write a note yet: any change of the Lease would look
  // like the first renewal of the grant (rules 12 and 14).
  const isDropped = lease.strategy === undefined && isProvisional;
  if (lease.strategy !== outlook.strategy && !isDropped) return undefined;
  return unlessReinstated(view, 'LeaderOptimal');
}

/** Returns a verdict that is valid until a held-back candidate takes part again. */
function unlessReinstated(view: HeldView, reason: Reason): Verdict {
  return { reason, recheckAt: [reinstatementTime(view)] };
}

/** Leaves the Lease unchanged if the strategy conflict was reported before: the valid holder keeps the Lease (rule 4). */
function decideKnownConflict(view: HeldView): Verdict | undefined {
  const conflict = knownConflict(view);
  return conflict === undefined ? undefined : { ...unlessReinstated(view, 'StrategyConflict'), conflict };
}

/**
 * Waits until a former holder that got its Lease back has renewed it. Before that renewal, the holder neither leads by
 * the grant nor releases the Lease, so it would not yield to a better candidate (rule 7).
 */
function decideUntakenReturn(view: HeldView): Verdict | undefined {
  const { tenure, input, outlook } = view;
  if (tenure.isProvisional || !isGrantUnrenewed(input.memory, input.lease)) return undefined;
  if (outlook.kind !== 'leader' || outlook.leader.name === tenure.holder) return undefined;
  return { reason: 'RevisionPending' };
}

/** Backs off after a failed preemption, because each failed preemption can cost the Lease a healthy leader (rule 7). */
function decidePreemptionBackoff(view: HeldView): Verdict | undefined {
  const { outlook } = view;
  const { count, lastAt } = view.input.memory.failedPreemptions;
  const retryAt = lastAt + backoffDelayMs(count, PREEMPTION_BACKOFF);
  if (view.at >= retryAt || outlook.kind !== 'leader' || outlook.leader.name === view.tenure.holder)
    return undefined;
  return { reason: 'PreemptionBackoff', recheckAt: [retryAt, ...candidateChanges(view)] };
}

/** Pings candidates that may be better than the holder or may change the strategy. If there are none, decides. */
function decideChallenge(view: HeldView): Verdict {
  const { standings, tenure, outcome, live } = view;
  const absent = standingsIn(standings, 'Awaiting', 'Idle');
  const contenders = contendersAmong(live, absent, tenure.holder);
  if (contenders.length > 0) {
    return {
      reason: 'AwaitingAcks',
      actions: pingEach(view, contendersToPing(view, contenders), 'preemption'),
      recheckAt: [nextWaveAt(view), ...candidateChanges(view)],
      isAsking: true,
    };
  }
  switch (outcome.kind) {
    case 'leader':
      if (outcome.leader.name !== tenure.holder) return decidePreemption(view, outcome);
      if (tenure.lease.strategy === outcome.strategy) return unlessReinstated(view, 'LeaderOptimal');
      return { reason: 'StrategyChanged', actions: nameStrategy(view, outcome.strategy) };
    case 'thirdParty':
      return { reason: 'ThirdPartyStrategy', actions: nameStrategy(view, outcome.strategy) };
    case 'conflict':
      return {
        ...unlessReinstated(view, 'StrategyConflict'),
        actions: removeOwnPreference(view),
        conflict: conflictParties(view),
      };
    case 'noneElectable':
      return unlessReinstated(view, 'NoElectableCandidates');
    case 'none':
      return unlessReinstated(view, 'NoLiveCandidates');
  }
}

/** Sets a better candidate as preferredHolder, so that the holder yields. The candidate must answer a ping first. */
function decidePreemption(view: HeldView, { leader, strategy }: Leader): Verdict {
  const { tenure, input } = view;
  const better = view.standings.find(({ candidate }) => candidate === leader);
  const ping = better?.observation.ping;
  const asked = ping?.purpose === 'preemption' ? ping : undefined;
  // A late answer does not count: a delayed watch may show an answer from long ago.
  const isInTime = asked?.ackedAt !== undefined && asked.ackedAt < ackDueAt(asked, input.settings);
  if (better?.isAlive && isInTime && asked.sentAt >= input.memory.decidedAt) {
    return {
      reason: 'BetterCandidate',
      actions: updateLease(input, tenure.lease, { kind: 'prefer', preferredHolder: leader.name, strategy }),
      recheckAt: [asked.ackedAt + PREFERRED_PING_INTERVAL_MS],
    };
  }
  const isPending = asked && better && isPingPending(view, better);
  return {
    reason: 'AwaitingAcks',
    actions: better && !isPending ? pingEach(view, [better], 'preemption') : [],
    recheckAt: [livenessExpiry(view)],
  };
}

/** Pings candidates before the expiry if the holder is late (rule 6). If the holder answers, it can get a new grant. */
function pingAheadOfExpiry(view: HeldView, verdict: Verdict): Verdict {
  const { lateAt, expiresAt } = view.tenure;
  if (view.at < lateAt) return { ...verdict, lateAt };
  return {
    ...verdict,
    reason: verdict.reason === 'LeaderOptimal' ? 'HolderLate' : verdict.reason,
    actions: [...(verdict.actions ?? []), ...askAhead(view, expiresAt)],
    recheckAt: [...(verdict.recheckAt ?? []), ...[expiresAt, nextWaveAt(view), ackDeadline(view)]],
    isAsking: true,
  };
}

/** Fences a holder that renews although a note asks it to yield, if the server still drops our fields (rule 14). */
function decideUnaware(view: HeldView, preferred: Standing, strategy: string): Verdict | undefined {
  const { input, tenure } = view;
  const { memory, settings, dropsFields } = input;
  const { noted, record } = memory;
  const isUnaware =
    noted !== undefined &&
    record !== undefined &&
    record.renewTime !== noted.renewTime &&
    record.since >= noted.since + 2 * settings.electionDurationMs;
  if (!isUnaware || !preferred.isAlive) return undefined;
  if (dropsFields) return { reason: 'HolderUnaware', actions: updateLease(input, tenure.lease, fence(view)) };
  // Do not fence yet. The note may be old, and the server may no longer drop preferredHolder, so write this field.
  const preferredHolder = preferred.candidate.name;
  return {
    reason: 'BetterCandidate',
    actions: updateLease(input, tenure.lease, { kind: 'prefer', preferredHolder, strategy }),
  };
}

/** Returns the change that makes the fence the holder until no former holder can believe that it leads. */
function fence({ at, now, input: { memory }, tenure: { lease } }: HeldView): LeaseChange {
  const { record } = memory;
  const { until = at } = reservationFor(blockingBeliefs(memory), at) ?? {};
  const believedUntil = Math.max(expiryOf(memory), until);
  return {
    kind: 'fence',
    renewTime: now.wall,
    leaseDurationSeconds: Math.ceil(Math.max(record?.durationMs ?? 0, believedUntil - at) / 1000),
    leaseTransitions: transitionsTo(FENCE, lease),
  };
}

// Provisional grants: their holders have not taken them up yet (rule 12).

/**
 * The second revision of a grant is due ALL_STARTED_MS after the first grant, or BEFORE_FIRST_LOOK_MS after the first
 * revision, whichever is earlier. By then, all candidates of a starting component have usually appeared. Its client-go
 * electors have usually not read a grant yet: they read the Lease at their start, before the first grant, and again only
 * after 2 s or more (ADR 12). Each revision after the first comes at least BETWEEN_REVISIONS_MS after the previous one.
 */
const ALL_STARTED_MS = 2000;
const BEFORE_FIRST_LOOK_MS = 1600;
const BETWEEN_REVISIONS_MS = 300;
/** The pings to other candidates start this long before the time limit to take up a grant, in ms (rule 12). */
const ASK_AHEAD_MS = 500;

/**
 * Revises a grant that its holder has not taken up yet (rule 12). The holder does not lead yet, so it need not yield
 * first. Until shortly before the time limit, a better candidate replaces the holder, even one that is better only by
 * age or name. After the limit, the best other candidate replaces the holder. If the holder renews before the write,
 * the server refuses the write.
 */
function decideProvisional(view: HeldView): Verdict | undefined {
  const { tenure, input, at } = view;
  if (!tenure.isProvisional) return undefined;
  // Omit a holder that is held back: any other candidate that can lead replaces it, even a worse one.
  const live = candidatesIn(view.standings, 'Live').filter(({ name }) => !isHeldBack(input, name, at));
  const lateAt = takeUpBy(view);
  const isLate = at >= lateAt;
  const outcome = decideOutcome(isLate ? live.filter(({ name }) => name !== tenure.holder) : live);
  if (outcome.kind !== 'leader' || outcome.leader.name === tenure.holder) return undefined;
  // Shortly before the time limit, the coordinator pings other candidates. Do not revise at the first answer: before
  // the limit, a revision would not count as a lapse of the holder.
  const isAsking = !isLate && at >= lateAt - ASK_AHEAD_MS;
  const revisableAt = Math.max(nextRevisionAt(view), isAsking ? lateAt : Number.NEGATIVE_INFINITY);
  if (at < revisableAt) return { reason: 'RevisionPending', recheckAt: [revisableAt] };
  return { reason: 'GrantRevised', actions: grantTo(view, outcome, isLate ? 'holderLate' : 'holderWorse') };
}

/** Pings other candidates shortly before the time limit of a grant, and its holder after this limit (rule 12). */
function pingAheadOfTakeUp(view: HeldView, verdict: Verdict): Verdict {
  const { tenure, input, at } = view;
  if (verdict.reason === 'GrantRevised' || !isGrantUnrenewed(input.memory, input.lease)) return verdict;
  const provisionalAt = reservationFor(blockingBeliefs(input.memory), at)?.until;
  if (!tenure.isProvisional) return { ...verdict, recheckAt: [...(verdict.recheckAt ?? []), provisionalAt] };
  const giveUpAt = takeUpBy(view);
  const askAt = giveUpAt - ASK_AHEAD_MS;
  const grantee = view.standings.find(({ isHolder }) => isHolder);
  const ping = grantee?.observation.ping;
  const recheckAt = [...(verdict.recheckAt ?? []), ...candidateChanges(view)];
  if (at < askAt) return { ...verdict, recheckAt: [...recheckAt, askAt] };
  const isAsked = ping !== undefined && ping.sentAt >= giveUpAt;
  const isDue = grantee && !grantee.isAlive && at >= giveUpAt && !isAsked;
  const asked = pingEach(view, isDue ? [grantee] : [], 'expiry');
  const others = askAhead(view, Math.max(giveUpAt, at), tenure.holder);
  return {
    ...verdict,
    actions: [...(verdict.actions ?? []), ...asked, ...others],
    recheckAt: [...recheckAt, giveUpAt, nextWaveAt(view)],
    isAsking: true,
  };
}

/**
 * Returns the time limit to take up the grant. The time starts when an answer or the watch shows that the server has
 * written our grant, or when this process first sees the grant of another replica (rule 12).
 */
function takeUpBy({ input: { memory, settings }, at }: HeldView): Instant {
  const seenAt = memory.record?.since ?? at;
  return memory.unrenewedGrant?.takeUpBy ?? seenAt + takeUpMs(settings.leaseDurationSeconds);
}

function nextRevisionAt({ input: { memory } }: HeldView): Instant {
  const { grantSeries, decidedAt } = memory;
  if (grantSeries.count < 2) return Number.NEGATIVE_INFINITY;
  const soonAt = decidedAt + BETWEEN_REVISIONS_MS;
  if (grantSeries.count > 2) return soonAt;
  return Math.max(soonAt, Math.min(grantSeries.since + ALL_STARTED_MS, decidedAt + BEFORE_FIRST_LOOK_MS));
}
