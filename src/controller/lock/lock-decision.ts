import type { Instant } from '../../support/clock.ts';
import { isForeign, isReleased, type LockRecord } from './lock-record.ts';
import { type CoordinatorLockOptions, LEASE_DURATION_MS } from './lock-settings.ts';

export interface LockObservation {
  /** Undefined if the Lease of the lock does not exist. */
  readonly record: LockRecord | undefined;
  /** When this process saw the last change of the record. */
  readonly seenAt: Instant;
  /**
   * Until this time, a former holder may still act. Set if the Lease was deleted, emptied without a sure release, taken
   * by a foreign holder before the Lease expired, or restored from a backup (rule 10).
   */
  readonly formerHolderUntil?: Instant;
  /** Until this time, a foreign former holder may release another holder's lock by mistake, as client-go's elector can. */
  readonly doubtedUntil?: Instant;
}

/** `actFrom`: when this replica may act after a successful claim. Until then, a former holder may still act. */
export type LockDecision =
  | { readonly kind: 'claim'; readonly actFrom: Instant }
  | { readonly kind: 'force'; readonly actFrom: Instant; readonly ousted: string }
  | { readonly kind: 'renew' }
  | { readonly kind: 'wait'; readonly until: Instant };

/**
 * Returns the observation after this process saw `record`. `seenAt` stays the same if the holder, the renewTime and the
 * duration are unchanged.
 */
export function observeLock(
  previous: LockObservation | undefined,
  record: LockRecord | undefined,
  now: Instant,
): LockObservation {
  if (previous !== undefined && isSame(previous.record, record)) return { ...previous, record };
  const former = previous?.record;
  const doubtedUntil = doubtAfter(previous, record, now);
  const { formerHolderUntil = now } = previous ?? {};
  const seen = {
    record,
    seenAt: now,
    ...(doubtedUntil !== undefined && { doubtedUntil }),
    // The former holder may still act, even if there is a new holder.
    ...(formerHolderUntil > now && { formerHolderUntil }),
  };
  const isTaken = record !== undefined && (record.holder !== '' || isHoldersRelease(record, previous));
  // Holders never decrease leaseTransitions. A smaller number shows that the Lease was created again, or that the
  // storage was restored from a backup.
  if (isTaken && !(former && record.leaseTransitions < former.leaseTransitions)) {
    if (!isTakenEarly(previous, record, now)) return seen;
    return { ...seen, formerHolderUntil: now + durationOf(previous.record) };
  }
  if (previous === undefined && record?.renewTime === undefined) return seen;
  // Count the duration from now: the holder may have renewed the Lease just before it was deleted, emptied or
  // restored, and this process may not have seen that renewal.
  const durationMs = Math.max(LEASE_DURATION_MS, former?.leaseDurationMs ?? 0, record?.leaseDurationMs ?? 0);
  return { ...seen, formerHolderUntil: now + durationMs };
}

/**
 * Whether a foreign holder took the lock before the lease duration of the former holder was over. If so, this process
 * may have missed that the Lease was emptied or deleted, and the former holder may still act. If one of our replicas took
 * the lock, no check is needed: if there was no release, that replica waits before it acts or releases the lock.
 */
function isTakenEarly(
  previous: LockObservation | undefined,
  { holder }: LockRecord,
  now: Instant,
): previous is LockObservation & { readonly record: LockRecord } {
  const former = previous?.record;
  if (!former || former.holder === '' || former.holder === holder) return false;
  if (holder === '' || !isForeign(holder)) return false;
  return now < previous.seenAt + durationOf(former);
}

/**
 * Whether `record` counts as a release by the holder, not as a Lease that another client emptied. A release by one of
 * our replicas always counts, because our replicas release only their own lock.
 */
function isHoldersRelease(record: LockRecord, previous: LockObservation | undefined): boolean {
  if (!isReleased(record)) return false;
  const { record: former, doubtedUntil = Number.NEGATIVE_INFINITY, seenAt = 0 } = previous ?? {};
  if (record.isWrittenByOurs || former === undefined) return true;
  const isByAnother = record.isWrittenByOurs === false && !isForeign(former.holder);
  return !isByAnother && seenAt >= doubtedUntil;
}

/**
 * Returns the time until which a foreign former holder may release the lock of the next holder by mistake: two lease
 * durations after the loss (ADR 35). Undefined if there was no such holder.
 */
function doubtAfter(
  previous: LockObservation | undefined,
  record: LockRecord | undefined,
  now: Instant,
): Instant | undefined {
  const former = previous?.record;
  const isLost = former !== undefined && former.holder !== '' && former.holder !== record?.holder;
  const isReleasedByItself = record !== undefined && isHoldersRelease(record, previous);
  if (!isLost || !isForeign(former.holder) || isReleasedByItself) return previous?.doubtedUntil;
  return Math.max(previous?.doubtedUntil ?? now, now + 2 * durationOf(former));
}

/**
 * Decides what to do about the lock (rule 10). While another holder renews the lock in time, only a claim by force is
 * possible. After such a claim, this replica waits, because the former holder may act until its lease duration is over.
 * @param forceNotBefore end of the backoff between claims by force
 */
export function decideLock(
  observation: LockObservation,
  { identity, takeOver }: Pick<CoordinatorLockOptions, 'identity' | 'takeOver'>,
  now: Instant,
  forceNotBefore: Instant,
): LockDecision {
  const { record, seenAt, formerHolderUntil } = observation;
  const isDisputed = formerHolderUntil !== undefined && now < formerHolderUntil;
  if (record === undefined || record.holder === '')
    return { kind: 'claim', actFrom: Math.max(now, formerHolderUntil ?? now) };
  if (record.holder === identity)
    return isDisputed ? { kind: 'claim', actFrom: formerHolderUntil } : { kind: 'renew' };
  const foundMs = durationOf(record);
  const expiresAt = seenAt + foundMs;
  if (now >= expiresAt) return { kind: 'claim', actFrom: now };
  if (!takeOver || !isForeign(record.holder)) return { kind: 'wait', until: expiresAt };
  if (now < forceNotBefore) return { kind: 'wait', until: Math.min(expiresAt, forceNotBefore) };
  return { kind: 'force', actFrom: now + Math.max(foundMs, LEASE_DURATION_MS), ousted: record.holder };
}

function durationOf(record: LockRecord): number {
  return record.leaseDurationMs ?? LEASE_DURATION_MS;
}

function isSame(a: LockRecord | undefined, b: LockRecord | undefined): boolean {
  return (
    a?.holder === b?.holder && a?.renewTime === b?.renewTime && a?.leaseDurationMs === b?.leaseDurationMs
  );
}
