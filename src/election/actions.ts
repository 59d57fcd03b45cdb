import { beliefOf, lastLoser, leadsUntil } from './beliefs.ts';
import { type PingPurpose, pingTimeFor } from './candidate-observation.ts';
import type { Action, LeaseChange, PingCandidate } from './decision.ts';
import { allBeliefs, type Grant, isGrantUnrenewed } from './lease-memory.ts';
import { FENCE, type Lease } from './model.ts';
import { notesWith } from './notes.ts';
import type { Leader } from './outcome.ts';
import { type ElectionInput, possibleCandidates, type Standing, type View } from './view.ts';

/** Keeps a decision short: maximum number of contenders to ping, and maximum number of housekeeping actions. */
export const MAX_ASKED_AT_ONCE = 5000;

export function pingEach(view: View, standings: readonly Standing[], purpose: PingPurpose): PingCandidate[] {
  return standings.map((standing) => pingTo(view, standing, purpose));
}

export function pingTo({ now }: View, standing: Standing, purpose: PingPurpose): PingCandidate {
  const { candidate, observation } = standing;
  const { source, name, uid, resourceVersion } = candidate;
  const pingTime = pingTimeFor(candidate, observation, now);
  return { kind: 'PingCandidate', source, name, uid, resourceVersion, pingTime, purpose };
}

/** Returns the write that removes the preferredHolder if a coordinator of this project set it; otherwise, no write. */
export function removeOwnPreference(view: View): Action[] {
  const { lease, memory } = view.input;
  if (!lease || !hasOwnPreference(view)) return [];
  const hasFailed = memory.written.preferredHolder !== undefined;
  return updateLease(view.input, lease, { kind: 'clearPreferredHolder', hasFailed });
}

export function hasOwnPreference({ input: { lease } }: View): boolean {
  return lease?.preferredHolder !== undefined && lease.isPreferredHolderOurs;
}

export function updateLease(input: ElectionInput, lease: Lease, change: LeaseChange): Action[] {
  const { uid, resourceVersion } = lease;
  const notes = notesWith(input, change);
  return [{ kind: 'UpdateLease', uid, resourceVersion, change, ...(notes && { notes }) }];
}

/** Returns the write that creates the Lease. If the server drops `strategy`, the write adds a note (rule 14). */
function createLease(input: ElectionInput, strategy: string, grant?: Grant): Action[] {
  return [{ kind: 'CreateLease', strategy, grant, ...(input.dropsFields && { notes: { strategy } }) }];
}

/**
 * Returns the write that sets `strategy`, sets an absent holderIdentity to an empty one, and removes our
 * preferredHolder. If the Lease is missing, the write creates it.
 */
export function nameStrategy(view: View, strategy: string): Action[] {
  const { lease } = view.tenure;
  if (!lease) return createLease(view.input, strategy);
  const isHolderAbsent = lease.holderIdentity === undefined;
  const removesPreferredHolder = hasOwnPreference(view);
  // Skip a write that changes nothing: it causes no watch event, so the next decision would repeat it.
  if (lease.strategy === strategy && !isHolderAbsent && !removesPreferredHolder) return [];
  const change = { kind: 'strategy', strategy, isHolderAbsent, removesPreferredHolder } as const;
  return updateLease(view.input, lease, change);
}

/** Maximum of int32. The server refuses a Lease with larger leaseTransitions. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

/** Returns the write that grants the Lease. The caller has checked that no other holder can still lead (rule 8). */
export function grantTo(view: View, { leader, strategy }: Leader, revises?: Grant['revises']): Action[] {
  const { name: holder } = leader;
  const { tenure, now, input } = view;
  const { lease, memory, settings } = input;
  const need = tenure.kind === 'vacant' ? tenure.need : undefined;
  const hasRunOut = need === 'LeaseExpired' && isGrantUnrenewed(memory, lease);
  const { record } = memory;
  const hasHolder = record && record.holder !== '' && record.holder !== FENCE;
  const beliefs = allBeliefs(memory);
  // The grant must not expire while `holder` may still lead because of its own earlier record (rule 8).
  const belief = beliefOf(beliefs, holder);
  const leftMs = belief ? leadsUntil(belief) - view.at : 0;
  const grant: Grant = {
    holder,
    renewTime: now.wall,
    leaseDurationSeconds: Math.max(settings.leaseDurationSeconds, Math.ceil(leftMs / 1000)),
    former: hasHolder ? record.holder : lastLoser(beliefs),
    hasFormerLapsed: hasRunOut || revises === 'holderLate',
    revises,
    ...(need === 'HolderEnded' && { hasFormerEnded: true as const }),
    isPreemption: (lease?.preferredHolder ?? memory.yieldedTo) === holder,
    ...(hasPreferredFailed(view, holder) && { hasPreferredFailed: true }),
    ...(leftMs > 0 && { isReturn: true }),
  };
  if (!lease) return createLease(input, strategy, grant);
  const leaseTransitions = transitionsTo(holder, lease, record?.isNumberShared);
  return updateLease(input, lease, { kind: 'grant', grant, leaseTransitions, strategy });
}

/** Returns leaseTransitions, plus 1 if the holder changes, or if two holders may have had this number (rule 7). */
export function transitionsTo(holder: string, lease: Lease, isNumberShared = false): number {
  const { holderIdentity, leaseTransitions } = lease;
  const isAgain = holderIdentity === holder && !isNumberShared;
  return isAgain ? leaseTransitions : Math.min(leaseTransitions + 1, MAX_TRANSITIONS);
}

/** True if we preferred another candidate than `holder`, and that candidate is gone, silent or held back (rule 7). */
function hasPreferredFailed(view: View, holder: string): boolean {
  const { preferredHolder } = view.input.lease ?? {};
  if (preferredHolder === holder || !hasOwnPreference(view)) return false;
  return !possibleCandidates(view).some(({ name }) => name === preferredHolder);
}
