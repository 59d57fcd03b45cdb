import { hasOwnPreference, pingTo, removeOwnPreference, updateLease } from './actions.ts';
import { HOUSEKEEPING_PINGS, type PingPurpose } from './candidate-observation.ts';
import { decideHeld } from './decide-held.ts';
import { decideHousekeeping } from './decide-housekeeping.ts';
import { decideVacant } from './decide-vacant.ts';
import type { Action, Decision } from './decision.ts';
import { coordinatorLease, earliestAfter, isLeaseName, type Now } from './model.ts';
import { candidateChanges, isPingPending, priorityEnd, type Verdict } from './verdict.ts';
import {
  type ElectionInput,
  holderEndIn,
  isEvidenceAsked,
  isHeld,
  type Standing,
  surveyElection,
  type VacantView,
  type View,
} from './view.ts';

/** Decides what to do about one Lease. A pure function: the caller applies the decision. */
export function decideElection(input: ElectionInput, now: Now): Decision {
  const view = surveyElection(input, now);
  if (input.name === coordinatorLease.name) return toDecision(view, { reason: 'CoordinatorLease' }, {});
  const housekeeping = decideHousekeeping(view);
  // No Lease can have this name, so there is nothing to elect. The housekeeping of the candidates continues.
  if (!isLeaseName(input.name)) return toDecision(view, { reason: 'InvalidLeaseName' }, housekeeping);
  const verdict = decideVerdict(view);
  const recheckAt = [...(verdict.recheckAt ?? []), priorityEnd(view)];
  return toDecision(view, { ...verdict, recheckAt }, housekeeping);
}

function decideVerdict(view: View): Verdict {
  if (view.standings.every(({ state }) => state === 'Deleting'))
    return decidePlainElector(view) ?? { reason: 'NoCandidates', actions: removeOwnPreference(view) };
  if (isLeftToThirdParty(view)) {
    // A valid holder counts as live. After the expiry, the candidates may no longer agree.
    const expiresAt = isHeld(view) ? view.tenure.expiresAt : undefined;
    return { reason: 'ThirdPartyStrategy', recheckAt: [expiresAt, ...candidateChanges(view)] };
  }
  return isHeld(view) ? decideHeld(view) : decideVacant(view as VacantView);
}

/** True if the candidates agree on a third-party strategy, and the coordinator need not change the Lease (rule 4). */
function isLeftToThirdParty(view: View): boolean {
  const { outlook, tenure } = view;
  if (outlook.kind !== 'thirdParty' || tenure.lease?.strategy !== outlook.strategy) return false;
  return tenure.lease.holderIdentity !== undefined && !hasOwnPreference(view);
}

/** Empties the Lease of a plain elector that has provably ended (rule 17). Undefined if isEvidenceAsked() is false. */
function decidePlainElector({ input, now, tenure }: View): Verdict | undefined {
  if (!tenure.lease || !isEvidenceAsked(input)) return undefined;
  const reason = 'PlainElector';
  if (holderEndIn(input)?.kind !== 'ends') return { reason };
  if (tenure.kind === 'held') return { reason, recheckAt: [tenure.expiresAt] };
  if (tenure.need !== 'HolderEnded') return { reason };
  // Wait: another former holder may still believe that it leads (rule 8).
  if (tenure.reservation) return { reason, recheckAt: [tenure.reservation.until] };
  const actions = updateLease(input, tenure.lease, { kind: 'release', renewTime: now.wall });
  return { reason: 'HolderEnded', actions };
}

const ORDER: readonly Action['kind'][] = ['CreateLease', 'UpdateLease', 'PingCandidate', 'DeleteCandidate'];

/** Completes a verdict with housekeeping and with pings to twins. Keeps one write per candidate. Sorts the actions. */
export function toDecision(
  view: View,
  verdict: Verdict,
  housekeeping: Pick<Verdict, 'actions' | 'recheckAt'>,
): Decision {
  const { actions: chores = [] } = housekeeping;
  // Each write to a candidate names the cached resourceVersion, so the server would refuse a second write. Prefer a
  // deletion to a ping.
  const written = new Set(chores.flatMap((action) => (action.kind === 'DeleteCandidate' ? action.uid : [])));
  const isFirst = (action: Action): boolean => {
    const { size } = written;
    return action.kind !== 'PingCandidate' || written.add(action.uid).size > size;
  };
  const actions = (verdict.actions ?? []).filter(isFirst);
  // If the verdict pings a candidate, also ping its twin: of the two, the one that renews last takes part (rule 13).
  for (const twin of view.twins) {
    const purpose = purposeFor(view, twin, actions);
    const isWritten = twin.state === 'Deleting' || written.has(twin.candidate.uid);
    if (purpose === undefined || isWritten || isPingPending(view, twin)) continue;
    written.add(twin.candidate.uid);
    actions.push(pingTo(view, twin, purpose));
  }
  actions.push(...chores.filter(isFirst));
  actions.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const { recheckAt = [], lateAt } = verdict;
  const steadyUntil = earliestAfter(view.at, [...recheckAt, ...(housekeeping.recheckAt ?? [])]);
  const time = earliestAfter(view.at, [steadyUntil, lateAt]);
  return {
    reason: verdict.reason,
    actions,
    requeue: time === undefined ? { kind: 'awaitChange' } : { kind: 'at', time },
    steadyUntil: steadyUntil ?? Number.POSITIVE_INFINITY,
    tenure: view.tenure,
    outcome: view.outcome,
    standings: view.standings,
    isRound: verdict.isRound ?? false,
    isAsking: verdict.isAsking ?? false,
    conflict: verdict.conflict,
  };
}

/** Returns the purpose of the ping to `twin` if the other twin gets a ping, or has a newer pending ping for an election. */
function purposeFor(view: View, twin: Standing, actions: readonly Action[]): PingPurpose | undefined {
  const { name } = twin.candidate;
  for (const one of actions) if (one.kind === 'PingCandidate' && one.name === name) return one.purpose;
  const asked = view.standings.find(({ candidate }) => candidate.name === name);
  const { ping } = asked?.observation ?? {};
  if (!asked || !ping || !isPingPending(view, asked) || HOUSEKEEPING_PINGS.has(ping.purpose))
    return undefined;
  const { sentAt = Number.NEGATIVE_INFINITY } = twin.observation.ping ?? {};
  return sentAt < ping.sentAt ? ping.purpose : undefined;
}
