import { pingTo } from './actions.ts';
import type { Action, Decision } from './decision.ts';
import type { Reason } from './reason.ts';
import { earliestAfter, type Instant } from './time.ts';
import type { View } from './view.ts';
import { isPingPending } from './waiting.ts';

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
    housekeeping.actions?.map((action) => (action.kind === 'DeleteCandidate' ? action.uid : undefined)),
  );
  // Of two pings for different purposes one would be refused, as the other changes the resourceVersion.
  const pinged = new Set<string>();
  const actions = (verdict.actions ?? []).filter((action) => {
    if (action.kind !== 'PingCandidate') return true;
    const isFirst = !doomed.has(action.uid) && !pinged.has(action.uid);
    pinged.add(action.uid);
    return isFirst;
  });
  // Whichever of two candidates of one name answers is the one that counts (rule 13).
  for (const twin of view.twins) {
    const ping = actions.find(
      (action) => action.kind === 'PingCandidate' && action.name === twin.candidate.name,
    );
    if (ping?.kind === 'PingCandidate' && !isPingPending(view, twin) && twin.state !== 'Deleting')
      actions.push(pingTo(view, twin, ping.purpose));
  }
  const busy = new Set(actions.map((action) => (action.kind === 'PingCandidate' ? action.uid : undefined)));
  for (const action of housekeeping.actions ?? []) {
    if (action.kind !== 'PingCandidate' || !busy.has(action.uid)) actions.push(action);
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
