import { grantTo, nameStrategy, pingEach, removeOwnPreference } from './actions.ts';
import {
  askAhead,
  contendersAmong,
  contendersToPing,
  isRoundDue,
  nextRoundAt,
  nextWaveAt,
  reviveSome,
} from './ask.ts';
import type { Reason } from './decision.ts';
import type { Instant } from './model.ts';
import { decideOutcome, type Leader, type Outcome } from './outcome.ts';
import {
  ackDeadline,
  candidateChanges,
  conflictParties,
  decideIgnoredWrites,
  knownConflict,
  livenessExpiry,
  reinstatementTime,
  type Verdict,
} from './verdict.ts';
import { lapsesAt, type Standing, standingsIn, type VacantView } from './view.ts';

/** Decides about a Lease without a valid holder: the first policy with a verdict wins. */
export function decideVacant(view: VacantView): Verdict {
  return (
    decideIgnoredThirdParty(view) ??
    decideReserved(view) ??
    decideKnownConflict(view) ??
    decideElectionOrWait(view)
  );
}

/** Under a third-party strategy, backs off without pings if the server or a client has removed fields that we wrote. */
function decideIgnoredThirdParty(view: VacantView): Verdict | undefined {
  const ignored = view.outlook.kind === 'thirdParty' ? decideIgnoredWrites(view) : undefined;
  if (!ignored) return undefined;
  return { ...ignored, recheckAt: [...(ignored.recheckAt ?? []), ...candidateChanges(view)] };
}

/**
 * Keeps a vacant Lease reserved until no former holder can believe that it leads, or until a fence expires. If the
 * former holder that may lead the longest answers a ping, it can get the Lease back (rule 8).
 */
function decideReserved(view: VacantView): Verdict | undefined {
  const { outlook, standings, tenure, input } = view;
  const { reservation } = tenure;
  if (!reservation) return undefined;
  const { holder, from, until, othersUntil } = reservation;
  const reason = awaiting(view);
  // Do not write the strategy before the reservation ends: the third-party controller may grant the Lease at once.
  if (outlook.kind === 'thirdParty') return { reason, recheckAt: [until, ...candidateChanges(view)] };
  if (outlook.kind !== 'leader') return undefined;

  const former = standings.find(({ candidate, state }) => candidate.name === holder && state !== 'Deleting');
  // Before this time, `holder` cannot get the Lease back: another former holder may lead.
  const returnsAt = Math.max(from, othersUntil);
  const { sentAt = Number.NEGATIVE_INFINITY, ackedAt } = former?.observation.ping ?? {};
  const hasAnswered = former?.isAlive && ackedAt !== undefined && sentAt >= from;
  if (former && hasAnswered && view.at >= returnsAt) {
    const { candidate: leader } = former;
    if (decideOutcome([leader]).kind === 'leader')
      return { reason: 'FormerHolderAnswered', actions: grantTo(view, { ...outlook, leader }) };
  }
  // Ping a candidate only shortly before it can get the Lease: an answer counts only for a limited time (rule 3).
  const formerAt = Math.max(from, returnsAt - input.settings.electionDurationMs);
  const isFormerDue = view.at >= formerAt && sentAt < formerAt;
  const othersAt = until - input.settings.electionDurationMs;
  const isAsking = view.at >= othersAt;
  const others = isAsking ? askAhead(view, until).filter(({ name }) => name !== holder) : [];
  return {
    reason,
    actions: [...pingEach(view, former && isFormerDue ? [former] : [], 'election'), ...others],
    recheckAt: [...[until, returnsAt, formerAt, othersAt], ...[nextWaveAt(view), ...candidateChanges(view)]],
    isAsking,
  };
}

function awaiting({ tenure }: VacantView): Reason {
  return tenure.need === 'LeaseFenced' ? 'LeaseFenced' : 'AwaitingFormerHolder';
}

/** Holds no election for a reported conflict, unless its parties changed, a ping or wave is pending, or a round is due. */
function decideKnownConflict(view: VacantView): Verdict | undefined {
  const conflict = knownConflict(view);
  if (conflict === undefined) return undefined;
  // While an election pings in waves, continue it: parties that no wave has reached yet may have crashed.
  const isAsking = view.input.memory.askingSince !== undefined;
  if (isAsking || standingsIn(view.standings, 'Awaiting').length > 0 || isRoundDue(view)) return undefined;
  return conflictVerdict(view, conflict);
}

function decideElectionOrWait(view: VacantView): Verdict {
  const { standings } = view;
  const isRound = isRoundDue(view);
  const isConflict = knownConflict(view) !== undefined;
  // In a known conflict, each round also pings the live parties again, so that a crashed party no longer counts.
  const parties = isRound && isConflict ? standingsIn(standings, 'Live') : [];
  const present = parties.length > 0 ? [] : view.live;
  const absent = [...standingsIn(standings, 'Awaiting', 'Idle'), ...parties];
  const contenders = contendersAmong(present, absent);
  // If the election has a result without the last holder, do not wait for this holder: it has missed its renewals. If it
  // has answered, it takes part (rule 3). In a known conflict, wait for all parties, including the last holder.
  const expired = isConflict ? undefined : view.input.memory.record?.holder;
  const isSettled = contenders.every(({ candidate }) => candidate.name === expired);
  const verdict = isSettled ? decideSettled(view, decideOutcome(present)) : undefined;
  if (verdict) return verdict;
  if (contenders.length === 0) return decideLastResort(view);

  const asked = contendersToPing(view, contenders);
  return {
    reason: 'AwaitingAcks',
    actions: [...pingEach(view, asked, 'election'), ...pingEach(view, reviveSome(view), 'revival')],
    recheckAt: [nextWaveAt(view), ...candidateChanges(view)],
    isRound,
    isAsking: true,
  };
}

/** Decides an election that waits for no more answers. Returns undefined for `none` and `noneElectable`. */
function decideSettled(view: VacantView, outcome: Outcome): Verdict | undefined {
  switch (outcome.kind) {
    case 'leader':
      return grantVerdict(view, outcome);
    case 'thirdParty': {
      const { reservation } = view.tenure;
      const recheckAt = [reservation?.until, ...candidateChanges(view)];
      if (reservation) return { reason: awaiting(view), recheckAt };
      return { reason: 'ThirdPartyStrategy', actions: nameStrategy(view, outcome.strategy), recheckAt };
    }
    case 'conflict':
      return conflictVerdict(view, conflictParties(view));
    default:
      return undefined;
  }
}

function grantVerdict(view: VacantView, outcome: Leader): Verdict {
  const { reservation, need } = view.tenure;
  if (reservation) return { reason: awaiting(view), recheckAt: [reservation.until, livenessExpiry(view)] };
  const settlesAt = firstElectionSettlesAt(view);
  if (view.at < settlesAt)
    return { reason: 'FirstElectionSettling', recheckAt: [settlesAt, livenessExpiry(view)] };
  const revises = need === 'GrantRevised' ? 'holderLost' : undefined;
  return { reason: need, actions: grantTo(view, outcome, revises) };
}

/** A first election waits this share of `settleMs` after the latest candidate appears: 75 ms by default (ADR 42). */
const QUIET_SHARE = 0.075;

/** Returns the time until which a first election waits for better candidates; -Infinity for other elections. */
function firstElectionSettlesAt({ tenure, standings, input }: VacantView): Instant {
  const { settleMs = 0 } = input.settings;
  if (tenure.lease || input.memory.wasHeld) return Number.NEGATIVE_INFINITY;
  const appeared = standingsIn(standings, 'Live', 'Awaiting', 'Idle').map(
    ({ observation }) => observation.appearedAt,
  );
  return Math.min(Math.min(...appeared) + settleMs, Math.max(...appeared) + settleMs * QUIET_SHARE);
}

function conflictVerdict(view: VacantView, conflict: string): Verdict {
  return {
    reason: 'StrategyConflict',
    actions: removeOwnPreference(view),
    recheckAt: [
      nextRoundAt(view),
      // Decide again when a ping to a live party times out: the party may have crashed since its last renewal.
      ackDeadline(view),
      reinstatementTime(view),
    ],
    conflict,
    // Count a round even if a new conflict needs no pings, so that the pauses between rounds grow.
    isRound: isRoundDue(view),
  };
}

/**
 * Lets held-back candidates lead if no other candidate can: those with the fewest lapses first (rules 3 and 7). A
 * candidate that has just released the Lease must answer a new ping first, because its program may have exited. If it
 * did not renew the released grant, it takes no part while it is `Withdrawn`, because it may release each grant at once.
 */
function decideLastResort(view: VacantView): Verdict {
  const { standings, input, at } = view;
  const { record, withdrawals } = input.memory;
  const isAskedAgain = ({ candidate: { name }, observation: { ping } }: Standing) =>
    ping !== undefined && ping.sentAt >= (withdrawals.get(name) ?? at);
  const hasAnswered = (standing: Standing) =>
    standing.isAlive && isAskedAgain(standing) && standing.observation.ping?.ackedAt !== undefined;
  const withdrawn = standingsIn(standings, 'Withdrawn').filter(
    ({ candidate }) => candidate.name !== record?.refusedBy,
  );
  const reserve = [...standingsIn(standings, 'Lapsed'), ...withdrawn.filter(hasAnswered)];
  const lapsesOf = ({ candidate }: Standing) => lapsesAt(input, candidate.name, at).own?.count ?? 0;
  const fewest = Math.min(...reserve.map(lapsesOf));
  const first = reserve.filter((standing) => lapsesOf(standing) === fewest);
  const alive = reserve.filter(({ isAlive }) => isAlive);
  const best = first.filter(({ isAlive }) => isAlive);
  if (first.length > 0 && best.length === 0)
    return {
      reason: 'AwaitingAcks',
      actions: pingEach(view, contendersToPing(view, first), 'election'),
      recheckAt: [ackDeadline(view), nextWaveAt(view), reinstatementTime(view)],
      isAsking: true,
    };
  for (const some of [best, alive]) {
    const outcome = decideOutcome([...view.live, ...some.map(({ candidate }) => candidate)]);
    if (outcome.kind === 'leader') return grantVerdict(view, outcome);
  }
  const toAsk = withdrawn.filter((standing) => !isAskedAgain(standing));
  return {
    reason: view.outcome.kind === 'noneElectable' ? 'NoElectableCandidates' : 'NoLiveCandidates',
    actions: [...pingEach(view, toAsk, 'election'), ...pingEach(view, reviveSome(view), 'revival')],
    recheckAt: [nextRoundAt(view), reinstatementTime(view), livenessExpiry(view)],
    isRound: isRoundDue(view),
  };
}
