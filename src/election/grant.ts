import { createLease, hasOwnPreference, updateLease } from './actions.ts';
import { beliefOf, lastLoser, leadsUntil } from './beliefs.ts';
import type { Action } from './decision.ts';
import { FENCE } from './group.ts';
import { allBeliefs, type Grant, isGrantUnrenewed } from './lease-memory.ts';
import type { Lease } from './model.ts';
import { possibleCandidates, type View } from './view.ts';

/** The API's largest leaseTransitions: an int32. One more would be refused, and the Lease never have a holder again. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/**
 * Gives the Lease to `holder`, in one write. The caller has made sure that no other may still believe in it. `revises` where
 * its last grant has not been taken up.
 */
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
    isPreemption: (lease?.preferredHolder ?? input.memory.yieldedTo) === holder,
    ...(hasPreferredFailed(view, holder) && { hasPreferredFailed: true }),
    ...(beliefLeftMs(view, holder) > 0 && { isReturn: true }),
  };
  if (!lease) return [createLease(input, strategy, grant)];
  const { isNumberShared } = input.memory.record ?? {};
  const leaseTransitions = transitionsTo(holder, lease, isNumberShared);
  return [updateLease(input, lease, { kind: 'grant', grant, leaseTransitions, strategy })];
}

/** The leaseTransitions of a Lease that goes to `holder`: no two leaders ever have the same. */
export function transitionsTo(
  holder: string,
  { holderIdentity, leaseTransitions }: Lease,
  isNumberShared = false,
): number {
  const isAgain = holderIdentity === holder && !isNumberShared;
  return isAgain ? leaseTransitions : Math.min(leaseTransitions + 1, MOST_TRANSITIONS);
}

function formerHolder({ input: { memory } }: View): Grant['former'] {
  const { record } = memory;
  const isHeld = record && record.holder !== '' && record.holder !== FENCE;
  return isHeld ? record.holder : lastLoser(allBeliefs(memory));
}

/** Whether the Lease was to go to another, who cannot take it any more (rule 7). */
function hasPreferredFailed(view: View, holder: string): boolean {
  const { preferredHolder } = view.input.lease ?? {};
  if (preferredHolder === holder || !hasOwnPreference(view)) return false;
  return !possibleCandidates(view).some(({ name }) => name === preferredHolder);
}

/** A grant to a holder that may still lead lasts as long as that: a coordinator that starts later knows of nothing else. */
function durationOf(view: View, holder: string): number {
  const leftSeconds = Math.ceil(beliefLeftMs(view, holder) / 1000);
  return Math.max(view.input.settings.leaseDurationSeconds, leftSeconds);
}

/** For how long `holder` may still lead by a record of its own that was deleted or emptied, in milliseconds (rule 8). */
function beliefLeftMs({ input: { memory }, at }: View, holder: string): number {
  const belief = beliefOf(allBeliefs(memory), holder);
  return belief ? Math.max(0, leadsUntil(belief) - at) : 0;
}
