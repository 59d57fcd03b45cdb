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
  const seen = { record, seenAt: now };
  const former = previous?.record;
  const isTaken = record !== undefined && (record.holder !== '' || isReleased(record));
  if (isTaken && !isSetBack(record, former)) return seen;
  if (former === undefined || former.holder === '') return { ...previous, ...seen };
  if (former.holder === rules.identity) return seen;
  // Counted from now, as the former holder may have renewed unseen just before the Lease was deleted or emptied.
  return { ...seen, formerHolderUntil: now + durationOf(former, rules) };
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
