import type { Lease } from '../election/model.ts';
import type { Instant } from '../support/clock.ts';
import type { TermEnd } from './term.ts';

export interface ElectorTiming {
  /** A multiple of 1000: the Lease contains whole seconds. */
  readonly leaseDurationMs: number;
  /** The elector stops leading if it has not renewed the Lease for this long. */
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** The observations of a Lease by an elector. Immutable: {@link observe} returns the next value. */
export interface LeaseSight {
  /** Undefined: the Lease does not exist. */
  readonly lease: Lease | undefined;
  /** When the elector first saw the current record. Each renewal changes the record. */
  readonly since: Instant;
  /** The greatest leaseTransitions so far; -1 before the first observation. */
  readonly maxTransitions: number;
  /** True after the elector saw a grant increase leaseTransitions, until a renewal: no term used the new value. */
  readonly isTokenUnused: boolean;
}

/** A term whose callback has not ended. */
export interface TermView {
  /** The leaseTransitions that every renewal of the term writes. */
  readonly fencingToken: number;
  /** When the last successful renewal was sent. */
  readonly renewedAt: Instant;
  /** Whether the program has been asked to stop. */
  readonly isOver: boolean;
}

export interface ElectorView {
  readonly identity: string;
  readonly timing: ElectorTiming;
  readonly sight: LeaseSight | undefined;
  readonly term: TermView | undefined;
  /** Why the elector must not lead; undefined if it may lead. */
  readonly refusal: 'resigned' | 'stopped' | undefined;
  /** Whether a duplicate program, or the program's own elector, may hold the Lease with this identity. */
  readonly hasRival: boolean;
  readonly isRequestInFlight: boolean;
  /** The elector sends no request before this time. */
  readonly retryAt: Instant;
  /** When the elector stops trying to release the Lease. */
  readonly releaseDeadline: Instant;
}

export type ElectorStep =
  /** Waits until the time `until`, or until a change. */
  | { readonly kind: 'await'; readonly until: Instant }
  /** Sends a renewal. `takeUp` is the first renewal of a term. The term begins with the answer. */
  | { readonly kind: 'takeUp' | 'renew'; readonly lease: Lease; readonly fencingToken: number }
  | { readonly kind: 'end'; readonly why: TermEnd }
  /** Removes the holder from the Lease. */
  | { readonly kind: 'release'; readonly lease: Lease }
  /** Does nothing: the elector must not lead, and it holds nothing. */
  | { readonly kind: 'rest' };

const NEVER = Number.POSITIVE_INFINITY;
/** leaseTransitions is an int32. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

export function decideElector(view: ElectorView, now: Instant): ElectorStep {
  const { term } = view;
  if (!term) return decideFollowing(view, now);
  // The program may still act as leader: neither renew nor release the Lease, but let it expire.
  if (term.isOver) return { kind: 'await', until: laterThan(now, lapsesAt(term, view.timing)) };
  return decideLeading(view, term, now);
}

/** Returns when the term's last renewal expires, by this machine's clock. */
export function lapsesAt({ renewedAt }: TermView, { leaseDurationMs }: ElectorTiming): Instant {
  return renewedAt + leaseDurationMs;
}

/** Returns whether another holder has taken the Lease since the term began. */
export function isTaken({ sight, identity }: Pick<ElectorView, 'sight' | 'identity'>, term: TermView) {
  const lease = sight?.lease;
  return (
    lease !== undefined && (lease.holderIdentity !== identity || lease.leaseTransitions > term.fencingToken)
  );
}

/** Returns whether a duplicate program has renewed the Lease: leaseTransitions has grown without a grant. */
export function isRenewedByRival(lease: Lease | undefined, identity: string, fencingToken: number): boolean {
  return (
    lease?.holderIdentity === identity && lease.leaseTransitions > fencingToken && !isUnrenewedGrant(lease)
  );
}

/** Returns `former` with one more observation. `lease` is undefined if the Lease does not exist. */
export function observe(former: LeaseSight | undefined, lease: Lease | undefined, at: Instant): LeaseSight {
  if (former && isSameRecord(former.lease, lease)) return { ...former, lease };
  const transitions = lease?.leaseTransitions ?? -1;
  const isTokenUnused =
    former !== undefined && transitions > former.maxTransitions && isUnrenewedGrant(lease);
  const maxTransitions = Math.max(former?.maxTransitions ?? -1, transitions);
  return { lease, since: at, maxTransitions, isTokenUnused };
}

/** Returns whether the record is unchanged for its duration. The holder must not renew an expired Lease. */
export function hasExpired(sight: LeaseSight, now: Instant): boolean {
  return now >= expiresAt(sight);
}

/** Returns the holder, or undefined if there is none or its record has expired. */
export function holderSeen(sight: LeaseSight | undefined, now: Instant): string | undefined {
  if (!sight || hasExpired(sight, now)) return undefined;
  return sight.lease?.holderIdentity || undefined;
}

/**
 * Returns the fencing token of a term that begins now, which no earlier term had. The coordinator increases
 * leaseTransitions only if it grants the Lease to another holder. The coordinator in an API server never does.
 */
export function nextFencingToken({ lease, maxTransitions, isTokenUnused }: LeaseSight): number {
  if (lease && isTokenUnused) return lease.leaseTransitions;
  return Math.min(maxTransitions + 1, MAX_TRANSITIONS);
}

/** Returns whether the Lease was granted and not renewed since. A renewal changes renewTime and keeps acquireTime. */
export function isUnrenewedGrant(lease: Lease | undefined): boolean {
  return lease?.acquireTime !== undefined && lease.acquireTime === lease.renewTime;
}

function decideLeading(view: ElectorView, term: TermView, now: Instant): ElectorStep {
  const { timing, sight, refusal, identity, retryAt } = view;
  const deadline = term.renewedAt + timing.renewDeadlineMs;
  const isExpired = sight?.lease !== undefined && hasExpired(sight, now);
  if (now >= deadline || isExpired || isTaken(view, term)) return { kind: 'end', why: 'lost' };
  if (refusal) return { kind: 'end', why: refusal };
  const lease = sight?.lease;
  if (lease && prefersAnother(lease, identity)) return { kind: 'end', why: 'yielded' };
  // If the Lease was deleted, the term continues. Only the coordinator creates the Lease again.
  if (view.isRequestInFlight || !lease) return { kind: 'await', until: deadline };
  const renewAt = Math.max(term.renewedAt + timing.retryPeriodMs, retryAt);
  if (now < renewAt) return { kind: 'await', until: Math.min(renewAt, deadline) };
  return { kind: 'renew', lease, fencingToken: term.fencingToken };
}

function decideFollowing(view: ElectorView, now: Instant): ElectorStep {
  const { sight, identity, refusal, retryAt, hasRival } = view;
  if (view.isRequestInFlight) return { kind: 'await', until: NEVER };
  // Do not take up an expired Lease: the coordinator must grant it again.
  const isOurs = sight?.lease?.holderIdentity === identity && !hasRival && !hasExpired(sight, now);
  const lease = isOurs ? sight.lease : undefined;
  if (refusal && (!lease || now >= givesUpAt(view))) return { kind: 'rest' };
  // When the Lease expires, wake up: `Elector.holder` is then undefined.
  if (!sight || !lease) return { kind: 'await', until: laterThan(now, sight ? expiresAt(sight) : NEVER) };
  if (now < retryAt) return { kind: 'await', until: Math.min(retryAt, expiresAt(sight)) };
  // Release the Lease, so that other candidates do not wait until it expires. The elector may hold the Lease by a new
  // grant or from an earlier term.
  if (refusal || prefersAnother(lease, identity)) return { kind: 'release', lease };
  return { kind: 'takeUp', lease, fencingToken: nextFencingToken(sight) };
}

/** Returns whether a field or a note of the Lease asks the holder to yield to another candidate (rule 14). */
function prefersAnother({ preferredHolder }: Lease, identity: string): boolean {
  return preferredHolder !== undefined && preferredHolder !== identity;
}

/** Returns the deadline of the release. Each new record extends it: a withdrawn elector may still get the Lease. */
function givesUpAt({ sight, releaseDeadline, timing }: ElectorView): Instant {
  return Math.max(releaseDeadline, (sight?.since ?? 0) + timing.renewDeadlineMs);
}

/** A record without a duration does not expire. */
function expiresAt({ lease, since }: LeaseSight): Instant {
  const seconds = lease?.leaseDurationSeconds;
  return seconds === undefined ? NEVER : since + seconds * 1000;
}

function laterThan(now: Instant, at: Instant): Instant {
  return at > now ? at : NEVER;
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
