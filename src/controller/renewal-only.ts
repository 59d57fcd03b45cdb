import { isDeepStrictEqual } from 'node:util';
import type { Reason } from '../election/decision.ts';
import type { Lease, LeaseCandidate } from '../election/model.ts';

/** After a decision with one of these reasons, most renewals need no decision before the next scheduled decision. */
export const SETTLED: ReadonlySet<Reason> = new Set(['LeaderOptimal', 'PreemptionBackoff', 'WritesIgnored']);

/** Whether the change is at most a renewal by the holder. Ignores fields that cannot change who should lead. */
export function isRenewalOnly(before: Lease | undefined, after: Lease): boolean {
  return before !== undefined && LEASE_FIELDS.every((field) => before[field] === after[field]);
}

const PREFERENCE_FIELDS = ['preferredHolder', 'isPreferredHolderOurs', 'isPreferredHolderNoted'] as const;
const EVIDENCE_FIELDS = ['asksForEvidence', 'leadingContainer'] as const;
const HOLDER_FIELDS = ['uid', 'holderIdentity', 'leaseDurationSeconds', 'strategy'] as const;
const LEASE_FIELDS = [...HOLDER_FIELDS, ...PREFERENCE_FIELDS, ...EVIDENCE_FIELDS] as const;

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
    CANDIDATE_FIELDS.every((field) => before[field] === after[field]) &&
    isDeepStrictEqual(before.priority, after.priority) &&
    before.pod?.uid === after.pod?.uid &&
    wanted(before) === wanted(after);
  if (!isSame) return 'other';
  return before.renewTime === after.renewTime ? 'ping' : 'renewal';
}

const VERSIONS = ['binaryVersion', 'emulationVersion'] as const;
const CANDIDATE_FIELDS = ['uid', 'isDeleting', 'leaseName', 'leadingContainer', ...VERSIONS] as const;

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
