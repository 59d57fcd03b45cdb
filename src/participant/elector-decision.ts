import type { Lease } from '../election/model.ts';
import type { Instant } from '../support/clock.ts';
import type { TermEnd } from './term.ts';

export interface ElectorTiming {
  /** The duration that each renewal writes. A multiple of 1000, because the Lease contains whole seconds. */
  readonly leaseDurationMs: number;
  /** If the last successful renewal was sent this long ago, the elector tells the program to stop. */
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** What an elector has seen of its Lease. Immutable: {@link observe} returns a new value. */
export interface LeaseSight {
  /** The Lease as last seen; undefined if the Lease does not exist. */
  readonly lease: Lease | undefined;
  /**
   * The time at which the elector first saw the current record (see `isSameRecord`). If the elector first saw the
   * record in the answer to its own write, `since` is the time at which it sent this write.
   */
  readonly since: Instant;
  /** The greatest leaseTransitions that the elector has seen; -1 if it has never seen the Lease. */
  readonly maxTransitions: number;
  /**
   * True if the current record meets `isUnrenewedGrant`, and the elector saw this grant increase leaseTransitions. In
   * this case, no term of this Lease object has used the current leaseTransitions as its fencing token.
   */
  readonly isTokenUnused: boolean;
}

/** A term whose callback has not ended: the program leads, or still runs after it was told to stop. */
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
  /** The elector must not lead while this is set: the program resigns or has withdrawn, or the participant stops. */
  readonly refusal: 'resigned' | 'stopped' | undefined;
  /**
   * True if another elector may renew the Lease with the same identity: the elector of a duplicate program, or, with
   * `candidateOnly`, the program's own elector. The participant's elector then neither takes up nor releases the Lease.
   */
  readonly hasRival: boolean;
  readonly isRequestInFlight: boolean;
  /** The elector does not write the Lease before this time. */
  readonly retryAt: Instant;
  /** The elector retries a failed release at least until this time, unless the Lease expires earlier. */
  readonly releaseDeadline: Instant;
}

export type ElectorStep =
  /** Waits until the time `until`, or until the Lease or the elector's own state changes. */
  | { readonly kind: 'await'; readonly until: Instant }
  /** Sends a renewal. After a confirmed `takeUp`, a term begins, unless the term would end at once. */
  | { readonly kind: 'takeUp' | 'renew'; readonly lease: Lease; readonly fencingToken: number }
  | { readonly kind: 'end'; readonly why: TermEnd }
  /** Removes the holder from the Lease. */
  | { readonly kind: 'release'; readonly lease: Lease }
  /** Nothing is left to do: the elector must not lead, and either does not hold the Lease, or gives up releasing it. */
  | { readonly kind: 'rest' };

const NEVER = Number.POSITIVE_INFINITY;
/** The largest leaseTransitions: the field is an int32. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

export function decideElector(view: ElectorView, now: Instant): ElectorStep {
  const { term } = view;
  if (!term) return decideFollowing(view, now);
  // Until the callback ends, do not release the Lease: the program may still act as leader. Do not renew it either: the
  // Lease must expire if the callback never ends.
  if (term.isOver) return { kind: 'await', until: laterThan(now, lapsesAt(term, view.timing)) };
  return decideLeading(view, term, now);
}

/** Returns when the Lease expires if the elector does not renew it again, by this machine's clock. */
export function lapsesAt({ renewedAt }: TermView, { leaseDurationMs }: ElectorTiming): Instant {
  return renewedAt + leaseDurationMs;
}

/**
 * Returns whether the Lease no longer belongs to this term: the Lease has another holder or no holder, or a new grant
 * or a duplicate program has increased leaseTransitions.
 */
export function isTaken({ sight, identity }: Pick<ElectorView, 'sight' | 'identity'>, term: TermView) {
  const lease = sight?.lease;
  return (
    lease !== undefined && (lease.holderIdentity !== identity || lease.leaseTransitions > term.fencingToken)
  );
}

/**
 * Returns whether another program with the same identity has renewed the Lease: leaseTransitions is greater than
 * `fencingToken`, and the Lease is not a new grant.
 */
export function isRenewedByRival(lease: Lease | undefined, identity: string, fencingToken: number): boolean {
  return lease?.holderIdentity === identity && lease.leaseTransitions > fencingToken && !isGrant(lease);
}

/** True if the Lease looks like an unrenewed grant: a coordinator wrote renewTime, or renewTime equals acquireTime. */
export function isGrant(lease: Lease): boolean {
  return lease.isRenewedByCoordinator === true || isUnrenewedGrant(lease);
}

/**
 * Returns `former` with one more observation: the elector saw `lease` at the time `at`. `lease` is undefined if the
 * Lease does not exist.
 */
export function observe(former: LeaseSight | undefined, lease: Lease | undefined, at: Instant): LeaseSight {
  if (former && isSameRecord(former.lease, lease)) return { ...former, lease };
  const transitions = lease?.leaseTransitions ?? -1;
  const isTokenUnused =
    former !== undefined && transitions > former.maxTransitions && isUnrenewedGrant(lease);
  const maxTransitions = Math.max(former?.maxTransitions ?? -1, transitions);
  return { lease, since: at, maxTransitions, isTokenUnused };
}

/**
 * Returns whether the Lease has expired: the elector has seen the same record for the whole duration of the Lease. A
 * holder must not renew an expired Lease, because another candidate may get it at any moment.
 */
export function hasExpired(sight: LeaseSight, now: Instant): boolean {
  return now >= expiresAt(sight);
}

/** Returns the holder; undefined if the Lease was not read yet, is missing, has no holder or has expired. */
export function holderSeen(sight: LeaseSight | undefined, now: Instant): string | undefined {
  if (!sight || hasExpired(sight, now)) return undefined;
  return sight.lease?.holderIdentity || undefined;
}

/**
 * Returns the fencing token of a term that begins now: the current leaseTransitions if `isTokenUnused`, otherwise a new
 * value. An earlier term may have used the current leaseTransitions, because not every grant increases it. For example,
 * the coordinator built into kube-apiserver never increases leaseTransitions.
 */
export function nextFencingToken({ lease, maxTransitions, isTokenUnused }: LeaseSight): number {
  if (lease && isTokenUnused) return lease.leaseTransitions;
  return Math.min(maxTransitions + 1, MAX_TRANSITIONS);
}

/**
 * Returns whether the Lease looks like an unrenewed grant: acquireTime equals renewTime. Most grants set both to the
 * same time, and a renewal then changes renewTime, but not acquireTime. Exceptions: a grant of the built-in coordinator
 * sets no acquireTime, and a grant of a reserved Lease sets acquireTime to an earlier time than renewTime (rule 8).
 */
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
  // Wait for the request in flight. Also wait if the Lease was deleted: this elector never creates a Lease. The term
  // then continues at most until its deadline.
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
  // A new record gives more time for the release, because it may be a new grant, which the elector must release too.
  const givesUpAt = Math.max(view.releaseDeadline, (sight?.since ?? 0) + view.timing.renewDeadlineMs);
  if (refusal && (!lease || now >= givesUpAt)) return { kind: 'rest' };
  // Wake up when the Lease expires, because `Elector.holder` becomes undefined at that time.
  if (!sight || !lease) return { kind: 'await', until: laterThan(now, sight ? expiresAt(sight) : NEVER) };
  if (now < retryAt) return { kind: 'await', until: Math.min(retryAt, expiresAt(sight)) };
  // The elector holds the Lease, by a new grant or from an earlier term, but must not lead or has to yield. Release the
  // Lease, so that other candidates do not wait until it expires.
  if (refusal || prefersAnother(lease, identity)) return { kind: 'release', lease };
  return { kind: 'takeUp', lease, fencingToken: nextFencingToken(sight) };
}

/**
 * Returns whether the coordinator asks the holder to yield to another candidate. `preferredHolder` comes from the
 * field, or from an annotation (a note) if the API server drops the field (rule 14).
 */
function prefersAnother({ preferredHolder }: Lease, identity: string): boolean {
  return preferredHolder !== undefined && preferredHolder !== identity;
}

/** Returns the time at which the Lease expires if its record stays the same. Without a duration, it never expires. */
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
