import type { Action, Decision } from './decision.ts';
import type { Grant } from './lease-memory.ts';

type LeaseWrite = Extract<Action, { kind: 'CreateLease' | 'UpdateLease' }>;

/** Whether an action writes the Lease itself, rather than one of its candidates. */
export function isLeaseWrite(action: Action): action is LeaseWrite {
  return action.kind === 'CreateLease' || action.kind === 'UpdateLease';
}

/** The grant that an action makes, if it makes one. */
export function grantIn(action: Action): Grant | undefined {
  if (action.kind === 'CreateLease') return action.grant;
  return action.kind === 'UpdateLease' && action.change.kind === 'grant' ? action.change.grant : undefined;
}

/** The grant that a decision makes, if it makes one. */
export function grantOf({ actions }: Decision): Grant | undefined {
  return actions.map(grantIn).find((grant) => grant !== undefined);
}

/** The preferredHolder that a decision sets, if it sets one. */
export function preferredBy({ actions }: Decision): string | undefined {
  return actions
    .map((action) =>
      action.kind === 'UpdateLease' && action.change.kind === 'prefer' ? action.change : undefined,
    )
    .find((change) => change !== undefined)?.preferredHolder;
}

/** True when a decision writes the Lease or deletes a candidate; pings alone change nothing that others go by. */
export function changesCluster({ actions }: Decision): boolean {
  return actions.some(({ kind }) => kind !== 'PingCandidate');
}
