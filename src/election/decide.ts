import { removeOwnPreference } from './actions.ts';
import { coordinatorLease } from './coordinator-lease.ts';
import { decideHeld } from './decide-held.ts';
import { decideHousekeeping } from './decide-housekeeping.ts';
import { decideVacant } from './decide-vacant.ts';
import type { Decision } from './decision.ts';
import type { ElectionInput } from './election-input.ts';
import { isLeaseName } from './lease-name.ts';
import type { Now } from './time.ts';
import { toDecision, type Verdict } from './verdict.ts';
import { isHeld, isVacant, surveyElection, type View } from './view.ts';
import { priorityEnd } from './waiting.ts';

/**
 * Decides what is to be done about one Lease. Pure: the same input at the same time gives the same decision, and nothing
 * happens until somebody applies it.
 */
export function decideElection(input: ElectionInput, now: Now): Decision {
  const view = surveyElection(input, now);
  if (input.name === coordinatorLease.name) {
    return toDecision(view, { reason: 'CoordinatorLease' }, {});
  }
  // A write would be refused, for ever; the candidates are looked after all the same.
  if (!isLeaseName(input.name)) {
    return toDecision(view, { reason: 'InvalidLeaseName' }, decideHousekeeping(view));
  }
  const verdict = decideVerdict(view);
  const recheckAt = [...(verdict.recheckAt ?? []), priorityEnd(view)];
  return toDecision(view, { ...verdict, recheckAt }, decideHousekeeping(view));
}

function decideVerdict(view: View): Verdict {
  if (view.standings.every(({ state }) => state === 'Deleting')) {
    return { reason: 'NoCandidates', actions: removeOwnPreference(view) };
  }
  if (isHeld(view)) return decideHeld(view);
  if (isVacant(view)) return decideVacant(view);
  throw new TypeError('a Lease is either held or vacant');
}
