import type { Lease } from '../election/model.ts';
import type { Instant } from '../support/clock.ts';

/** A Lease as a participant has seen it so far. Immutable; {@link observe} gives the next. */
export interface LeaseSight {
  /** Undefined: there is none. */
  readonly lease: Lease | undefined;
  /** Since when its record is the same: whoever renews it changes that. */
  readonly since: Instant;
  /** The greatest leaseTransitions seen so far; -1 before any. */
  readonly greatest: number;
  /**
   * Whether nobody can have led under its leaseTransitions: it is as a grant has left it, and the first of its number that
   * this program has seen.
   */
  readonly isNumberNew: boolean;
}

/** The greatest leaseTransitions that the API takes: an int32. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/** What is known after seeing `lease` at `at`; undefined when it was seen to be gone. */
export function observe(former: LeaseSight | undefined, lease: Lease | undefined, at: Instant): LeaseSight {
  if (former && isSameRecord(former.lease, lease)) return { ...former, lease };
  const transitions = lease?.leaseTransitions ?? -1;
  const isNumberNew = former !== undefined && transitions > former.greatest && isUnrenewedGrant(lease);
  return { lease, since: at, greatest: Math.max(former?.greatest ?? -1, transitions), isNumberNew };
}

/** Whether the record has gone unchanged for its own duration, as this program has seen it: nobody may renew it then. */
export function hasExpired({ lease, since }: LeaseSight, now: Instant): boolean {
  return now >= expiresAt(lease, since);
}

/** When the record expires unless it changes. One without a duration says nothing of that. */
export function expiresAt(lease: Lease | undefined, since: Instant): Instant {
  const seconds = lease?.leaseDurationSeconds;
  return seconds === undefined ? Number.POSITIVE_INFINITY : since + seconds * 1000;
}

/** Who holds the Lease; undefined where nobody does, or the record has expired. */
export function holderSeen(sight: LeaseSight | undefined, now: Instant): string | undefined {
  if (!sight || hasExpired(sight, now)) return undefined;
  return sight.lease?.holderIdentity || undefined;
}

/**
 * The leaseTransitions under which a term begins: never one under which anybody has led before. The coordinator counts grants
 * to somebody else; one to the same identity keeps the number, and a coordinator built into an API server counts none.
 */
export function numberOfTerm({ lease, greatest, isNumberNew }: LeaseSight): number {
  if (lease && isNumberNew) return lease.leaseTransitions;
  return Math.min(greatest + 1, MOST_TRANSITIONS);
}

/** A grant is told by its acquireTime: no renewal moves that. */
export function isUnrenewedGrant(lease: Lease | undefined): boolean {
  return lease?.acquireTime !== undefined && lease.acquireTime === lease.renewTime;
}

function isSameRecord(a: Lease | undefined, b: Lease | undefined): boolean {
  return (
    a?.uid === b?.uid &&
    a?.holderIdentity === b?.holderIdentity &&
    a?.renewTime === b?.renewTime &&
    a?.leaseDurationSeconds === b?.leaseDurationSeconds &&
    a?.leaseTransitions === b?.leaseTransitions
  );
}
