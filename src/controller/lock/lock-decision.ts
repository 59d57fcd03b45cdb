import type { Instant } from '../../support/clock.ts';
import { isForeign, isReleased, type LockRecord } from './lock-record.ts';

/** What the decision about the lock depends on besides what was seen. */
export interface LockRules {
  readonly identity: string;
  /** Of our own claims, in milliseconds; also taken for a record that has a holder but no duration. */
  readonly leaseDurationMs: number;
  /** Whether to claim the lock by force from a holder without our prefix. */
  readonly takeOver: boolean;
}

/** What this process has seen of the lock. */
export interface LockObservation {
  /** Undefined when there is no Lease. */
  readonly record: LockRecord | undefined;
  /** Since when this process has seen the record unchanged. */
  readonly seenAt: Instant;
  /**
   * The last holder of a Lease that was deleted, emptied otherwise than by a release, or set back to what it was before
   * that holder had it, does not know yet, and may go on until then (rule 8).
   */
  readonly formerHolderUntil?: Instant;
  /**
   * Until when a former holder that is not one of ours may wake up, and empty the lock of whoever has it then: client-go's
   * elector releases what it finds (rule 8).
   */
  readonly doubtedUntil?: Instant;
}

/** `actFrom`: from when a claim that succeeds allows to act; until then somebody ousted may still do so. */
export type LockDecision =
  | { readonly kind: 'claim'; readonly actFrom: Instant }
  | { readonly kind: 'force'; readonly actFrom: Instant; readonly ousted: string }
  | { readonly kind: 'renew' }
  | { readonly kind: 'wait'; readonly until: Instant };

/**
 * What is known once `record` has been seen at `now`. A record's age counts from the first sight of the same holder,
 * renewTime and duration, by this process's own clock (rule 8).
 */
export function observeLock(
  previous: LockObservation | undefined,
  record: LockRecord | undefined,
  rules: LockRules,
  now: Instant,
): LockObservation {
  if (previous !== undefined && isSame(previous.record, record)) return { ...previous, record };
  const former = previous?.record;
  const doubtedUntil = doubtAfter(previous, record, rules, now);
  const { formerHolderUntil = now } = previous ?? {};
  const seen = {
    record,
    seenAt: now,
    ...(doubtedUntil !== undefined && { doubtedUntil }),
    // Whoever has had the lock since, the one before it may still go on.
    ...(formerHolderUntil > now && { formerHolderUntil }),
  };
  const isTaken = record !== undefined && (record.holder !== '' || isHoldersRelease(record, previous));
  if (isTaken && !isSetBack(record, former)) {
    if (!isTakenEarly(previous, record, rules, now)) return seen;
    return { ...seen, formerHolderUntil: now + durationOf(previous.record, rules) };
  }
  if (previous === undefined) return seen;
  // Counted from now: whoever held it, seen or not, may have renewed it just before it was deleted or emptied.
  const durationMs = Math.max(
    rules.leaseDurationMs,
    former?.leaseDurationMs ?? 0,
    record?.leaseDurationMs ?? 0,
  );
  return { ...seen, formerHolderUntil: now + durationMs };
}

/**
 * Whether one that is not ours has the lock already, so that it was emptied or deleted, unseen, under a holder that may go on. One of our
 * replicas has either seen a release, or waits itself until that holder is out, and releases the lock no earlier.
 */
function isTakenEarly(
  previous: LockObservation | undefined,
  { holder }: LockRecord,
  rules: LockRules,
  now: Instant,
): previous is LockObservation & { readonly record: LockRecord } {
  const former = previous?.record;
  if (!former || former.holder === '' || former.holder === holder) return false;
  if (holder === '' || !isForeign(holder)) return false;
  return now < previous.seenAt + durationOf(former, rules);
}

/**
 * Whether an emptied lock was released by its own holder: our replicas release no lock but their own. It was written at any time
 * since the last record was seen.
 */
function isHoldersRelease(record: LockRecord, previous: LockObservation | undefined): boolean {
  if (!isReleased(record)) return false;
  const { record: former, doubtedUntil = Number.NEGATIVE_INFINITY, seenAt = 0 } = previous ?? {};
  if (record.isWrittenByOurs || former === undefined || former.holder === '') return true;
  const isAnothers = record.isWrittenByOurs === false && !isForeign(former.holder);
  return !isAnothers && seenAt >= doubtedUntil;
}

/** A holder that is not one of ours, and that loses the lock, may sleep through two durations from its last renewal on. */
function doubtAfter(
  previous: LockObservation | undefined,
  record: LockRecord | undefined,
  rules: LockRules,
  now: Instant,
): Instant | undefined {
  const former = previous?.record;
  const isLost = former !== undefined && former.holder !== '' && former.holder !== record?.holder;
  const isReleasedByItself = record !== undefined && isHoldersRelease(record, previous);
  if (!isLost || !isForeign(former.holder) || isReleasedByItself) return previous?.doubtedUntil;
  return Math.max(previous?.doubtedUntil ?? now, now + 2 * durationOf(former, rules));
}

/**
 * What to do about the lock (rule 10). A claim by force is the only one that is made while somebody may still hold it,
 * and is paid for with a wait: the ousted one goes on for up to its Lease's duration.
 *
 * @param forceNotBefore what the backoff between claims by force allows.
 */
export function decideLock(
  observation: LockObservation,
  rules: LockRules,
  now: Instant,
  forceNotBefore: Instant,
): LockDecision {
  const { record, seenAt, formerHolderUntil } = observation;
  const isDisputed = formerHolderUntil !== undefined && now < formerHolderUntil;
  if (record === undefined || record.holder === '') {
    return { kind: 'claim', actFrom: Math.max(now, formerHolderUntil ?? now) };
  }
  if (record.holder === rules.identity)
    return isDisputed ? { kind: 'claim', actFrom: formerHolderUntil } : { kind: 'renew' };
  const foundMs = durationOf(record, rules);
  const expiresAt = seenAt + foundMs;
  if (now >= expiresAt) return { kind: 'claim', actFrom: now };
  if (!rules.takeOver || !isForeign(record.holder)) return { kind: 'wait', until: expiresAt };
  if (now < forceNotBefore) return { kind: 'wait', until: Math.min(expiresAt, forceNotBefore) };
  return { kind: 'force', actFrom: now + Math.max(foundMs, rules.leaseDurationMs), ousted: record.holder };
}

function durationOf(record: LockRecord, rules: LockRules): number {
  return record.leaseDurationMs ?? rules.leaseDurationMs;
}

/** Each new holder counts one more transition: fewer than before are from a backup of the storage. */
function isSetBack(record: LockRecord, former: LockRecord | undefined): boolean {
  return former !== undefined && record.leaseTransitions < former.leaseTransitions;
}

function isSame(a: LockRecord | undefined, b: LockRecord | undefined): boolean {
  return (
    a?.holder === b?.holder && a?.renewTime === b?.renewTime && a?.leaseDurationMs === b?.leaseDurationMs
  );
}
