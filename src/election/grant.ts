import { updateLease } from './actions.ts';
import type { Action } from './decision.ts';
import { type Grant, isGrantUnrenewed } from './lease-memory.ts';
import type { View } from './view.ts';

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
    leaseDurationSeconds: input.settings.leaseDurationSeconds,
  };
  if (!lease) return [{ kind: 'CreateLease', strategy, grant }];
  const leaseTransitions =
    lease.holderIdentity === holder
      ? lease.leaseTransitions
      : Math.min(lease.leaseTransitions + 1, MOST_TRANSITIONS);
  return [updateLease(lease, { kind: 'grant', grant, leaseTransitions, strategy })];
}

function formerHolder({ input: { memory } }: View): Grant['former'] {
  const { record, reservation } = memory;
  return record && record.holder !== '' ? record.holder : reservation?.holder;
}

/** A grant beside a valid record replaces one that nobody has taken up (rule 12); nothing else ever does. */
function revisedBy({ tenure }: View): Grant['revises'] {
  if (tenure.kind === 'held') return 'holderWorse';
  return tenure.need === 'GrantRevised' ? 'holderLost' : undefined;
}
