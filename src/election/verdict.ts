import type { Action, Decision } from './decision.ts';
import type { Reason } from './reason.ts';
import { earliestAfter, type Instant } from './time.ts';
import type { View } from './view.ts';

/** What a policy decides; the rest of a Decision is the same for all of them. */
export interface Verdict {
  readonly reason: Reason;
  readonly actions?: readonly Action[];
  /** Moments at which the verdict may change by itself. */
  readonly recheckAt?: readonly (Instant | undefined)[];
  /** When the holder is late, if it does not renew until then. */
  readonly lateAt?: Instant;
  readonly isRound?: boolean;
  readonly isAsking?: boolean;
  readonly conflict?: string;
}

/** In which order actions are to be applied. */
const order: Record<Action['kind'], number> = {
  CreateLease: 0,
  UpdateLease: 0,
  PingCandidate: 1,
  DeleteCandidate: 2,
};

/** A verdict, made whole. */
export function toDecision(
  view: View,
  verdict: Verdict,
  housekeeping: Pick<Verdict, 'actions' | 'recheckAt'>,
): Decision {
  // A ping would change the resourceVersion that a deletion rests on; whoever is to be deleted had its ping.
  const doomed = new Set(
    housekeeping.actions?.map((action) => (action.kind === 'DeleteCandidate' ? action.name : undefined)),
  );
  const actions = (verdict.actions ?? []).filter(
    (action) => action.kind !== 'PingCandidate' || !doomed.has(action.name),
  );
  const busy = new Set(actions.map((action) => (action.kind === 'PingCandidate' ? action.name : undefined)));
  for (const action of housekeeping.actions ?? []) {
    if (action.kind !== 'PingCandidate' || !busy.has(action.name)) actions.push(action);
  }
  actions.sort((a, b) => order[a.kind] - order[b.kind]);
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
