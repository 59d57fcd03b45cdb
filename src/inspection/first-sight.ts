import type { ElectionRecords } from '../controller/election-records.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { recordPing, recordPingDelivered } from '../election/candidate-observation.ts';
import type { ElectionSettings, Lease, LeaseCandidate } from '../election/model.ts';
import type { MicroTime, Now } from '../election/time.ts';

/**
 * Takes in a Lease that was never seen before as if it had been watched since its holder renewed it: a coordinator would
 * give it its whole duration from first sight (rule 8), which is right for whoever may give it away, and tells whoever
 * only looks nothing. It is the one place where a clock is held against a holder's.
 */
export function seeLeaseFirst(records: ElectionRecords, lease: Lease, now: Now): void {
  records.seeLease(leaseKey(lease.namespace, lease.name), lease, past(now, lease.renewTime));
}

/**
 * Takes in a candidate that was never seen before. A pingTime after its renewTime is a ping without an answer as yet; who
 * sent it, and what for, cannot be told.
 */
export function seeCandidateFirst(
  records: ElectionRecords,
  candidate: LeaseCandidate,
  now: Now,
  settings: ElectionSettings,
): void {
  records.seeCandidate(candidate, now);
  const { pingTime, renewTime, namespace, leaseName } = candidate;
  if (pingTime === undefined || (renewTime !== undefined && pingTime <= renewTime)) return;
  const key: LeaseKey = leaseKey(namespace, leaseName);
  const sentAt = past(now, pingTime).monotonic;
  records.updateObservation(key, candidate, (known) =>
    recordPingDelivered(recordPing(known, 'election', sentAt, settings), sentAt, sentAt),
  );
}

/** `now`, moved back to `since`; not moved for a moment that is unknown or has yet to come. */
function past(now: Now, since: MicroTime | undefined): Now {
  const agoMs = since === undefined ? 0 : Math.max(0, Number(now.wall - since) / 1000);
  return { monotonic: now.monotonic - agoMs, wall: now.wall - BigInt(Math.round(agoMs * 1000)) };
}
