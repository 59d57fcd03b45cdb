import type { Action, Decision } from '../../election/decision.ts';

/** What a Lease without leader needs goes first (rule 9), in this order; write-queue.ts orders the Leases of one class. */
export const URGENCIES = ['grant', 'preference', 'vacant', 'expiry', 'housekeeping'] as const;

/**
 * How urgent a request is.
 *
 * grant: somebody gets the Lease. preference: preferredHolder or the strategy, a fence, what takes them back, and what tells
 * whether a preferredHolder still lives. vacant: a ping while the Lease has no holder. expiry: a ping ahead of an expiry,
 * or to find out whether somebody better than the holder lives. housekeeping: everything else.
 */
export type Urgency = (typeof URGENCIES)[number];

/** How urgent an action of `decision` is. */
export function urgencyOf(action: Action, { reason }: Decision): Urgency {
  switch (action.kind) {
    case 'CreateLease':
      return action.grant ? 'grant' : 'preference';
    case 'UpdateLease':
      return action.change.kind === 'grant' ? 'grant' : 'preference';
    case 'DeleteCandidate':
      return 'housekeeping';
    case 'PingCandidate':
      switch (action.purpose) {
        case 'election':
        case 'revival':
          return 'vacant';
        case 'preemption':
          return reason === 'PreemptionPending' ? 'preference' : 'expiry';
        case 'expiry':
          return 'expiry';
        case 'validity':
        case 'collection':
          return 'housekeeping';
      }
  }
}
