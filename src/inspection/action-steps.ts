import type { Action } from '../election/decision.ts';

/** What a write to the Lease, or the deletion of a candidate, looks like to whoever watches; undefined for a ping. */
export function stepOf(action: Action): string | undefined {
  switch (action.kind) {
    case 'CreateLease':
      return action.grant
        ? `the Lease is created for ${action.grant.holder}`
        : `the Lease is created without a holder, for ${action.strategy}`;
    case 'UpdateLease': {
      const { change } = action;
      if (change.kind === 'grant') return `${change.grant.holder} is given the Lease`;
      if (change.kind === 'prefer') return `${change.preferredHolder} becomes preferredHolder`;
      if (change.kind === 'clearPreferredHolder') return 'preferredHolder is removed';
      if (change.kind === 'fence') return 'a fence takes the place of the holder';
      return `the Lease names the strategy ${change.strategy}`;
    }
    case 'DeleteCandidate':
      return `the candidate ${action.name} is deleted, as it is not heard of any more`;
    case 'PingCandidate':
      return undefined;
  }
}
