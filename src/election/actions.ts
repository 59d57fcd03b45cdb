import { beliefOf, lastLoser, leadsUntil } from './beliefs.ts';
import { type PingPurpose, pingTimeFor } from './candidate-observation.ts';
import type { Action, CreateLease, LeaseChange, PingCandidate } from './decision.ts';
import { allBeliefs, type Grant, isGrantUnrenewed } from './lease-memory.ts';
import { FENCE, type Lease } from './model.ts';
import { notesWith } from './notes.ts';
import { type ElectionInput, possibleCandidates, type Standing, type View } from './view.ts';

/** Maximum number of pings in one decision, so that a decision is fast (rule 9). */
export const MAX_ASKED_AT_ONCE = 5000;

export function pingEach(
  view: View,
  standings: readonly Standing[],
  purpose: PingPurpose,
): readonly PingCandidate[] {
  return standings.map((standing) => pingTo(view, standing, purpose));
}

export function pingTo(
  { now }: View,
  { candidate, observation }: Standing,
  purpose: PingPurpose,
): PingCandidate {
  const { source, name, uid, resourceVersion } = candidate;
  const pingTime = pingTimeFor(candidate, observation, now);
  return { kind: 'PingCandidate', source, name, uid, resourceVersion, pingTime, purpose };
}

/** Removes a preferredHolder that we set. Otherwise the holder would stop renewing for no reason. */
export function removeOwnPreference(view: View): readonly Action[] {
  const { lease, memory } = view.input;
  if (!lease || !hasOwnPreference(view)) return [];
  return [
    updateLease(view.input, lease, {
      kind: 'clearPreferredHolder',
      hasFailed: memory.written.preferredHolder !== undefined,
    }),
  ];
}

export function hasOwnPreference({ input: { lease } }: View): boolean {
  return lease?.preferredHolder !== undefined && lease.isPreferredHolderOurs;
}

export function updateLease(
  input: ElectionInput,
  { uid, resourceVersion }: Pick<Lease, 'uid' | 'resourceVersion'>,
  change: LeaseChange,
): Action {
  const notes = notesWith(input, change);
  return { kind: 'UpdateLease', uid, resourceVersion, change, ...(notes && { notes }) };
}

/** Returns the action that creates the Lease of `input`. If the server drops the strategy, a note stores it. */
export function createLease(input: ElectionInput, strategy: string, grant: CreateLease['grant']): Action {
  return { kind: 'CreateLease', strategy, grant, ...(input.dropsFields && { notes: { strategy } }) };
}

/** Writes the strategy's name into the Lease if it differs. Creates a missing Lease without a holder. */
export function nameStrategy(view: View, strategy: string): readonly Action[] {
  const { lease } = view.tenure;
  if (!lease) return [createLease(view.input, strategy, undefined)];
  const isHolderAbsent = lease.holderIdentity === undefined;
  const removesPreferredHolder = hasOwnPreference(view);
  // Skip a write that changes nothing: it causes no watch event, so the next decision would repeat it at once.
  if (lease.strategy === strategy && !isHolderAbsent && !removesPreferredHolder) return [];
  return [
    updateLease(view.input, lease, { kind: 'strategy', strategy, isHolderAbsent, removesPreferredHolder }),
  ];
}

/** Maximum of int32. The server refuses a larger number, so the Lease could never get a holder again. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

/** Grants the Lease. The caller has checked that no other holder may lead. See {@link Grant.revises}. */
export function grantTo(
  view: View,
  holder: string,
  strategy: string,
  revises?: Grant['revises'],
): readonly Action[] {
  const { tenure, now, input } = view;
  const { lease } = tenure;
  const hasRunOut =
    tenure.kind === 'vacant' && tenure.need === 'LeaseExpired' && isGrantUnrenewed(input.memory, input.lease);
  const grant: Grant = {
    holder,
    renewTime: now.wall,
    leaseDurationSeconds: durationOf(view, holder),
    former: formerHolder(view),
    hasFormerLapsed: hasRunOut || revises === 'holderLate',
    revises,
    ...(tenure.kind === 'vacant' && tenure.need === 'HolderEnded' && { hasFormerEnded: true as const }),
    isPreemption: (lease?.preferredHolder ?? input.memory.yieldedTo) === holder,
    ...(hasPreferredFailed(view, holder) && { hasPreferredFailed: true }),
    ...(beliefLeftMs(view, holder) > 0 && { isReturn: true }),
  };
  if (!lease) return [createLease(input, strategy, grant)];
  const { isNumberShared } = input.memory.record ?? {};
  const leaseTransitions = transitionsTo(holder, lease, isNumberShared);
  return [updateLease(input, lease, { kind: 'grant', grant, leaseTransitions, strategy })];
}

/** Returns the leaseTransitions for a grant of the Lease to `holder`. Two leaders never have the same number. */
export function transitionsTo(
  holder: string,
  { holderIdentity, leaseTransitions }: Lease,
  isNumberShared = false,
): number {
  const isAgain = holderIdentity === holder && !isNumberShared;
  return isAgain ? leaseTransitions : Math.min(leaseTransitions + 1, MAX_TRANSITIONS);
}

function formerHolder({ input: { memory } }: View): Grant['former'] {
  const { record } = memory;
  const isHeld = record && record.holder !== '' && record.holder !== FENCE;
  return isHeld ? record.holder : lastLoser(allBeliefs(memory));
}

/** True if the preferredHolder was another candidate, and that candidate can no longer take the Lease (rule 7). */
function hasPreferredFailed(view: View, holder: string): boolean {
  const { preferredHolder } = view.input.lease ?? {};
  if (preferredHolder === holder || !hasOwnPreference(view)) return false;
  return !possibleCandidates(view).some(({ name }) => name === preferredHolder);
}

/** Returns the duration of a grant, in seconds. The grant must not end before an earlier record of the holder. */
function durationOf(view: View, holder: string): number {
  const leftSeconds = Math.ceil(beliefLeftMs(view, holder) / 1000);
  return Math.max(view.input.settings.leaseDurationSeconds, leftSeconds);
}

/** Returns how long `holder` may still lead because of an earlier record of its own (rule 8). */
function beliefLeftMs({ input: { memory }, at }: View, holder: string): number {
  const belief = beliefOf(allBeliefs(memory), holder);
  return belief ? Math.max(0, leadsUntil(belief) - at) : 0;
}
