import type { Lease } from '../election/model.ts';
import { type Instant, SAFE_SHARE } from '../support/clock.ts';
import { expiresAt, hasExpired, isUnrenewedGrant, type LeaseSight, numberOfTerm } from './lease-sight.ts';
import type { TermEnd } from './term.ts';

/** How often an elector renews, and how long it leads without. All in milliseconds. */
export interface ElectorTiming {
  /** What it writes into the Lease, in whole seconds. */
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** A term that has begun, and whose callback has not ended. */
export interface TermView {
  /** leaseTransitions of all its renewals. */
  readonly number: number;
  /** When the last renewal that was answered had been sent. */
  readonly renewedAt: Instant;
  /** Whether the program was told to stop. */
  readonly isOver: boolean;
}

/** All that an elector decides on. */
export interface ElectorView {
  readonly identity: string;
  readonly timing: ElectorTiming;
  /** Undefined: nothing is known of the Lease yet. */
  readonly sight: LeaseSight | undefined;
  readonly term: TermView | undefined;
  /** Why it is not to lead; undefined: it is. */
  readonly refusal: 'resigned' | 'stopped' | undefined;
  /** Where the Lease names this identity it means another running program, or an elector of the program's own. */
  readonly hasRival: boolean;
  /** A request is under way: the next waits for its answer. */
  readonly isCalling: boolean;
  /** No request is sent before. */
  readonly callFrom: Instant;
  /** When it gives up releasing what it held when it was told not to lead. */
  readonly releaseUntil: Instant;
}

/** What an elector does next. */
export type ElectorStep =
  /** Nothing, unless something changes before `until`. */
  | { readonly kind: 'await'; readonly until: Instant }
  /** The first renewal of a term: it leads once that is answered. */
  | { readonly kind: 'takeUp'; readonly lease: Lease; readonly number: number }
  | { readonly kind: 'renew'; readonly lease: Lease; readonly number: number }
  /** Tells the program to stop. */
  | { readonly kind: 'end'; readonly why: TermEnd }
  /** Writes that nobody holds the Lease. */
  | { readonly kind: 'release'; readonly lease: Lease }
  /** It does not lead, as was asked, and holds nothing. */
  | { readonly kind: 'rest' };

const NEVER = Number.POSITIVE_INFINITY;

/** What follows from what is known at `now` (rule 15). */
export function decideElector(view: ElectorView, now: Instant): ElectorStep {
  const { term } = view;
  if (!term) return decideFollowing(view, now);
  // Neither renewed nor released while the program may still act as leader: it lapses.
  if (term.isOver) return { kind: 'await', until: laterThan(now, lapsesAt(term, view.timing)) };
  return decideLeading(view, term, now);
}

/** Until when the program may lead, unless the Lease is taken from this term by force: no other can by then, by any clock. */
export function leadsUntil({ renewedAt }: TermView, { leaseDurationMs }: ElectorTiming): Instant {
  return renewedAt + leaseDurationMs * SAFE_SHARE;
}

/** When the Lease expires by this machine's clock, unless it is renewed. */
export function lapsesAt({ renewedAt }: TermView, { leaseDurationMs }: ElectorTiming): Instant {
  return renewedAt + leaseDurationMs;
}

/** Whether the Lease is another's than the term's, or may have been meanwhile. */
export function isTaken(
  { sight, identity }: Pick<ElectorView, 'sight' | 'identity'>,
  term: TermView,
): boolean {
  const lease = sight?.lease;
  return lease !== undefined && (lease.holderIdentity !== identity || lease.leaseTransitions > term.number);
}

/**
 * Whether the Lease tells of another running program with the same identity as the one whose term has the number: that renews
 * it under a greater one, which no grant has written.
 */
export function isRivals(lease: Lease | undefined, identity: string, number: number): boolean {
  return lease?.holderIdentity === identity && lease.leaseTransitions > number && !isUnrenewedGrant(lease);
}

function decideLeading(view: ElectorView, term: TermView, now: Instant): ElectorStep {
  const { timing, sight, refusal, identity, callFrom } = view;
  const deadline = term.renewedAt + timing.renewDeadlineMs;
  const isExpired = sight?.lease !== undefined && hasExpired(sight, now);
  if (now >= deadline || isExpired || isTaken(view, term)) return { kind: 'end', why: 'lost' };
  if (refusal) return { kind: 'end', why: refusal };
  const lease = sight?.lease;
  if (lease && prefersAnother(lease, identity)) return { kind: 'end', why: 'yielded' };
  // A Lease that was deleted is still this term's; only the coordinator creates it again.
  if (view.isCalling || !lease) return { kind: 'await', until: deadline };
  const renewFrom = Math.max(term.renewedAt + timing.retryPeriodMs, callFrom);
  if (now < renewFrom) return { kind: 'await', until: Math.min(renewFrom, deadline) };
  return { kind: 'renew', lease, number: term.number };
}

function decideFollowing(view: ElectorView, now: Instant): ElectorStep {
  const { sight, identity, refusal, callFrom } = view;
  if (view.isCalling) return { kind: 'await', until: NEVER };
  const lease = sight && isOurs(view, sight, now) ? sight.lease : undefined;
  if (refusal && (!lease || now >= givesUpAt(view, sight))) return { kind: 'rest' };
  // Woken at the expiry, as nobody is known to lead from then on.
  if (!sight || !lease) return { kind: 'await', until: laterThan(now, expiryOf(sight)) };
  if (now < callFrom) return { kind: 'await', until: Math.min(callFrom, expiryOf(sight)) };
  // Whether it was granted just now or is left of a former term: those who may lead need not wait for its expiry.
  if (refusal || prefersAnother(lease, identity)) return { kind: 'release', lease };
  return { kind: 'takeUp', lease, number: numberOfTerm(sight) };
}

/** Whether the Lease is this program's, and not expired: what has may only be granted anew. */
function isOurs({ identity, hasRival }: ElectorView, sight: LeaseSight, now: Instant): boolean {
  return sight.lease?.holderIdentity === identity && !hasRival && !hasExpired(sight, now);
}

/** Whether the holder is asked to give way to another: by a field of the Lease, or by a note on it (rule 14). */
function prefersAnother({ preferredHolder }: Lease, identity: string): boolean {
  return preferredHolder !== undefined && preferredHolder !== identity;
}

/** It has a while for each record: one that is withdrawn may be granted the Lease at any time. */
function givesUpAt({ releaseUntil, timing }: ElectorView, sight: LeaseSight | undefined): Instant {
  return Math.max(releaseUntil, (sight?.since ?? 0) + timing.renewDeadlineMs);
}

function expiryOf(sight: LeaseSight | undefined): Instant {
  return sight ? expiresAt(sight.lease, sight.since) : NEVER;
}

function laterThan(now: Instant, at: Instant): Instant {
  return at > now ? at : NEVER;
}
