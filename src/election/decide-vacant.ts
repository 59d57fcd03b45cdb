import type { Action } from './decision.ts';
import { type Grant, isGrantUnrenewed } from './lease-memory.ts';
import { decideOutcome, isSettled, type Outcome } from './outcome.ts';
import { hasAnsweredSince, type Standing, type Tenure } from './survey.ts';
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

type VacantView = View<Extract<Tenure, { kind: 'vacant' }>>;

const ROUND_BACKOFF_CAP_MS = 60_000;

/** A Lease without a valid holder: each policy in turn, until one has a verdict. */
export function decideVacant(view: VacantView): Verdict {
  return (
    decideThirdPartyStanding(view) ??
    decideReserved(view) ??
    decideKnownConflict(view) ??
    decideElectionOrWait(view)
  );
}

/** A Lease that names a strategy of somebody else's is that somebody's; there is nothing to ask anybody. */
function decideThirdPartyStanding(view: VacantView): Verdict | undefined {
  const { lease } = view.tenure;
  const outcome = decideOutcome(possibleCandidates(view));
  if (outcome.kind !== 'thirdParty' || lease?.strategy !== outcome.strategy) return undefined;
  if (lease.holderIdentity === undefined || hasOwnPreference(view)) return undefined;
  return { reason: 'ThirdPartyStrategy' };
}

/** Rule 8: a holder that may not know that it lost the Lease keeps it until it cannot believe in it any longer. */
function decideReserved(view: VacantView): Verdict | undefined {
  const { reservation } = view.tenure;
  const outcome = decideOutcome(possibleCandidates(view));
  if (!reservation || outcome.kind !== 'leader') return undefined;

  const former = view.standings.find(
    ({ candidate, state }) => candidate.name === reservation.holder && state !== 'Deleting',
  );
  if (former?.isAlive && hasAnsweredSince(former.observation, reservation.from)) {
    const alone = decideOutcome([former.candidate]);
    if (alone.kind === 'leader') {
      return {
        reason: 'FormerHolderAnswered',
        actions: grantTo(view, former.candidate.name, outcome.strategy),
      };
    }
  }
  const isAsked =
    former?.observation.ping !== undefined && former.observation.ping.sentAt >= reservation.from;
  // Successors are asked just in time, so that their answers still count when the wait is over.
  const othersAt = reservation.until - view.input.settings.electionDurationMs;
  const others =
    view.at < othersAt ? [] : staleBy(view, reservation.until).filter((standing) => standing !== former);
  return {
    reason: 'AwaitingFormerHolder',
    actions: pingEach(view, former && !isAsked ? [former, ...others] : others, 'election'),
    recheckAt: [reservation.until, othersAt, ackDeadline(view), ...endsOfWords(view)],
  };
}

/** A conflict that was reported is left alone until its parties change or it is time to see which of them still live. */
function decideKnownConflict(view: VacantView): Verdict | undefined {
  const { memory } = view.input;
  if (memory.conflict === undefined || memory.conflict !== partiesOf(possibleCandidates(view)))
    return undefined;
  if (standingsIn(view.standings, 'Awaiting').length > 0 || view.at >= nextRoundAt(view)) return undefined;
  return conflictVerdict(view, memory.conflict);
}

function decideElectionOrWait(view: VacantView): Verdict {
  const { standings, at, input } = view;
  const live = candidatesIn(standings, 'Live');
  const idle = standingsIn(standings, 'Idle');
  const isRoundDue = at >= nextRoundAt(view);
  const isSameConflict =
    input.memory.conflict !== undefined && input.memory.conflict === partiesOf(possibleCandidates(view));
  // A second look at a conflict must ask those who answered the first one again: a dead party is no party.
  const parties = isRoundDue && isSameConflict ? standingsIn(standings, 'Live') : [];
  const stillCounted = live.filter((candidate) => !parties.some((party) => party.candidate === candidate));
  const awaited = [
    ...candidatesIn(standings, 'Awaiting', 'Idle'),
    ...parties.map(({ candidate }) => candidate),
  ];

  if (isSettled(stillCounted, awaited)) {
    const verdict = decideSettled(view, decideOutcome(stillCounted));
    if (verdict) return verdict;
  } else {
    return {
      reason: 'AwaitingAcks',
      actions: pingEach(view, [...idle, ...parties, ...(isRoundDue ? unheardOf(view) : [])], 'election'),
      recheckAt: [
        ackDeadline(view),
        at + input.settings.electionDurationMs,
        ...endsOfWords(view),
        ...returns(view),
      ],
      isRound: isRoundDue,
    };
  }
  return decideLastResort(view, isRoundDue);
}

/** What the answers come to, once none that is missing could change it; undefined when nobody can lead. */
function decideSettled(view: VacantView, outcome: Outcome): Verdict | undefined {
  switch (outcome.kind) {
    case 'leader':
      return grantVerdict(view, outcome);
    case 'thirdParty':
      return { reason: 'ThirdPartyStrategy', actions: nameStrategy(view, outcome.strategy) };
    case 'conflict':
      return conflictVerdict(view, partiesOf(possibleCandidates(view)));
    default:
      return undefined;
  }
}

function grantVerdict(view: VacantView, outcome: Extract<Outcome, { kind: 'leader' }>): Verdict {
  const { reservation, need } = view.tenure;
  if (reservation) {
    return { reason: 'AwaitingFormerHolder', recheckAt: [reservation.until, ...endsOfWords(view)] };
  }
  return { reason: need, actions: grantTo(view, outcome.leader.name, outcome.strategy) };
}

function conflictVerdict(view: VacantView, conflict: string): Verdict {
  // Candidates that are all fresh conflict without ever being asked: the backoff counts from here then.
  const isRound = view.at >= nextRoundAt(view);
  return {
    reason: 'StrategyConflict',
    actions: removeOwnPreference(view),
    recheckAt: [
      isRound ? view.at + roundBackoffMs(view, 1) : nextRoundAt(view),
      // A party that renewed just before it was asked counts as live for a moment, even if it has died since.
      ...standingsIn(view.standings, 'Live')
        .filter((standing) => isPingPending(view, standing))
        .map(({ observation: { ping } }) => ping && ping.sentAt + view.input.settings.electionDurationMs),
      ...returns(view),
    ],
    conflict,
    isRound,
  };
}

/** Those held back may lead if nobody else can; everybody else is asked again, ever more rarely. */
function decideLastResort(view: VacantView, isRoundDue: boolean): Verdict {
  const { standings, input, at } = view;
  const withdrawnAt = input.memory.withdrawal?.at ?? at;
  const reserve = standings.filter(
    ({ state, isAlive, observation }) =>
      isAlive &&
      (state === 'Lapsed' || (state === 'Withdrawn' && hasAnsweredSince(observation, withdrawnAt))),
  );
  const outcome = decideOutcome([
    ...candidatesIn(standings, 'Live'),
    ...reserve.map(({ candidate }) => candidate),
  ]);
  if (outcome.kind === 'leader') return grantVerdict(view, outcome);
  return {
    reason: view.outcome.kind === 'noneElectable' ? 'NoElectableCandidates' : 'NoLiveCandidates',
    actions: pingEach(view, [...withdrawnUnasked(view), ...(isRoundDue ? unheardOf(view) : [])], 'election'),
    recheckAt: [isRoundDue ? at + roundBackoffMs(view, 1) : nextRoundAt(view), ...returns(view)],
    isRound: isRoundDue,
  };
}

/** Those who are asked with every round, but not waited for (rule 3). */
function unheardOf(view: VacantView): readonly Standing[] {
  return standingsIn(view.standings, 'Unresponsive', 'Expired', 'Lapsed').filter(
    (standing) => !standing.isAlive && !isPingPending(view, standing),
  );
}

/** Whoever has just let go is not asked while others may lead: it is about to exit, most likely. */
function withdrawnUnasked({ standings, input, at }: VacantView): readonly Standing[] {
  const withdrawnAt = input.memory.withdrawal?.at ?? at;
  return standingsIn(standings, 'Withdrawn').filter(
    ({ observation: { ping } }) => ping === undefined || ping.sentAt < withdrawnAt,
  );
}

function nextRoundAt(view: View): number {
  return view.input.memory.rounds.lastAt + roundBackoffMs(view);
}

function roundBackoffMs({ input: { memory, settings } }: View, ahead = 0): number {
  return backoffMs(
    Math.max(1, memory.rounds.count + ahead),
    settings.electionDurationMs,
    ROUND_BACKOFF_CAP_MS,
  );
}

function grantTo(view: VacantView, holder: string, strategy: string): readonly Action[] {
  const { tenure, now, input } = view;
  const { lease } = tenure;
  const { record, reservation } = input.memory;
  const former: Grant['former'] =
    record && record.holder !== ''
      ? { holder: record.holder, beliefMs: record.beliefMs }
      : reservation && { holder: reservation.holder, beliefMs: reservation.beliefMs };
  const grant = {
    holder,
    renewTime: now.wall,
    former,
    hasFormerLapsed: isGrantUnrenewed(input.memory),
    isPreemption: lease?.preferredHolder === holder,
    leaseDurationSeconds: input.settings.leaseDurationSeconds,
  };
  if (!lease) return [{ kind: 'CreateLease', strategy, grant }];
  const leaseTransitions = lease.leaseTransitions + (lease.holderIdentity === holder ? 0 : 1);
  return [updateLease(lease, { kind: 'grant', grant, leaseTransitions, strategy })];
}

function nameStrategy(view: VacantView, strategy: string): readonly Action[] {
  const { lease } = view.tenure;
  if (!lease) return [{ kind: 'CreateLease', strategy, grant: undefined }];
  return [
    updateLease(lease, {
      kind: 'strategy',
      strategy,
      isHolderAbsent: lease.holderIdentity === undefined,
      removesPreferredHolder: hasOwnPreference(view),
    }),
  ];
}
