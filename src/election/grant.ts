import { createLease, hasOwnPreference, updateLease } from './actions.ts';
import type { Action } from './decision.ts';
import { FENCE } from './group.ts';
import { type Grant, isGrantUnrenewed } from './lease-memory.ts';
import type { Lease } from './model.ts';
import { possibleCandidates, type View } from './view.ts';

/** The API's largest leaseTransitions: an int32. One more would be refused, and the Lease never have a holder again. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/** Gives the Lease to `holder`, in one write; whether anybody else may still believe in it, the caller has made sure of. */
export function grantTo(view: View, holder: string, strategy: string): readonly Action[] {
  const { tenure, now, input } = view;
  const { lease } = tenure;
  const grant = {
    holder,
    renewTime: now.wall,
    former: formerHolder(view),
    hasFormerLapsed:
      tenure.kind === 'vacant' && tenure.need === 'LeaseExpired' && isGrantUnrenewed(input.memory),
    revises: revisedBy(view),
    isPreemption: lease?.preferredHolder === holder,
    ...(hasPreferredFailed(view, holder) && { hasPreferredFailed: true as const }),
    leaseDurationSeconds: input.settings.leaseDurationSeconds,
  };
  if (!lease) return [createLease(input, strategy, grant)];
  const leaseTransitions = transitionsTo(holder, lease);
  return [updateLease(input, lease, { kind: 'grant', grant, leaseTransitions, strategy })];
}

/** The leaseTransitions of a Lease that goes to `holder`. */
export function transitionsTo(holder: string, { holderIdentity, leaseTransitions }: Lease): number {
  return holderIdentity === holder ? leaseTransitions : Math.min(leaseTransitions + 1, MOST_TRANSITIONS);
}

function formerHolder({ input: { memory } }: View): Grant['former'] {
  const { record, reservation } = memory;
  const isHeld = record && record.holder !== '' && record.holder !== FENCE;
  return isHeld ? record.holder : reservation?.holder;
}

/** Whether the Lease was to go to another, who cannot take it any more (rule 7). */
function hasPreferredFailed(view: View, holder: string): boolean {
  const { preferredHolder } = view.input.lease ?? {};
  if (preferredHolder === holder || !hasOwnPreference(view)) return false;
  return !possibleCandidates(view).some(({ name }) => name === preferredHolder);
}

/** A grant beside a valid record replaces one that nobody has taken up (rule 12); nothing else ever does. */
function revisedBy({ tenure }: View): Grant['revises'] {
  if (tenure.kind === 'held') return 'holderWorse';
  return tenure.need === 'GrantRevised' ? 'holderLost' : undefined;
}
