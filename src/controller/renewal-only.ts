import type { Reason } from '../election/decision.ts';
import type { Lease, LeaseCandidate, Priority } from '../election/model.ts';

/** After a decision with one of these reasons, a renewal of the Lease can wait for the next scheduled decision. */
export const SETTLED: ReadonlySet<Reason> = new Set(['LeaderOptimal', 'PreemptionBackoff', 'WritesIgnored']);

/** Whether the change is at most a renewal by the holder. Ignores fields that cannot change who should lead. */
export function isRenewalOnly(before: Lease | undefined, after: Lease): boolean {
  return (
    before !== undefined &&
    before.uid === after.uid &&
    before.holderIdentity === after.holderIdentity &&
    before.leaseDurationSeconds === after.leaseDurationSeconds &&
    before.preferredHolder === after.preferredHolder &&
    before.isPreferredHolderOurs === after.isPreferredHolderOurs &&
    before.isPreferredHolderNoted === after.isPreferredHolderNoted &&
    before.strategy === after.strategy &&
    before.asksForEvidence === after.asksForEvidence &&
    before.leadingContainer === after.leadingContainer
  );
}

/**
 * Returns what has changed in a candidate. Ignores fields that elections do not use.
 * - `ping`: at most the pingTime has changed.
 * - `renewal`: the renewTime has changed, and at most the pingTime in addition.
 * - `other`: the candidate is new, or another field has changed.
 */
export function candidateChange(
  before: LeaseCandidate | undefined,
  after: LeaseCandidate,
): 'ping' | 'renewal' | 'other' {
  const isSame =
    before !== undefined &&
    before.uid === after.uid &&
    before.isDeleting === after.isDeleting &&
    before.leaseName === after.leaseName &&
    before.binaryVersion === after.binaryVersion &&
    before.emulationVersion === after.emulationVersion &&
    isSamePriority(before.priority, after.priority) &&
    before.pod?.uid === after.pod?.uid &&
    before.leadingContainer === after.leadingContainer &&
    wanted(before) === wanted(after);
  if (!isSame) return 'other';
  return before.renewTime === after.renewTime ? 'ping' : 'renewal';
}

function isSamePriority(a: Priority, b: Priority): boolean {
  return (
    a.value === b.value &&
    a.end?.at === b.end?.at &&
    a.end?.afterwards === b.end?.afterwards &&
    a.unreadable === b.unreadable
  );
}

function wanted({ preference }: LeaseCandidate): string {
  return preference.kind === 'strategy' ? preference.strategy : preference.strategies.join();
}

/** Returns a candidate's invalid priority annotation if it is new or has changed; otherwise undefined (rule 16). */
export function newlyUnreadable(
  before: LeaseCandidate | undefined,
  { priority: { unreadable } }: LeaseCandidate,
): string | undefined {
  return unreadable === before?.priority.unreadable ? undefined : unreadable;
}
