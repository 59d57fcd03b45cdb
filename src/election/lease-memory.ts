import {
  type Belief,
  type Beliefs,
  beliefOf,
  leadsUntil,
  reservationFor,
  USUAL_DURATION_MS,
  withLost,
  withMore,
} from './beliefs.ts';
import type { Instant, Lease, MicroTime } from './model.ts';

/** The part of a Lease that a holder renews: while it stays the same, the holder has not been heard of. */
export interface HolderRecord {
  readonly leaseUid: string;
  readonly holder: string;
  readonly renewTime: MicroTime | undefined;
  readonly leaseDurationSeconds: number | undefined;
  readonly leaseTransitions: number;
  /** Another holder may have led under the same leaseTransitions. */
  readonly isNumberShared?: true;
  readonly preferredHolder: string | undefined;
  /** Since when this process has seen exactly this record. */
  readonly since: Instant;
  /** How long from `since` the record lasts, in milliseconds. */
  readonly durationMs: number;
}

/** A holder that is asked to give way by a note, and since when this process has seen that. */
export interface Noted {
  readonly holder: string;
  readonly preferredHolder: string;
  readonly since: Instant;
  /** What the Lease had then. */
  readonly renewTime: MicroTime | undefined;
}

/** How often something failed in a row, and when last: what a backoff is computed from. */
export interface Attempts {
  readonly count: number;
  readonly lastAt: Instant;
}

/** What this process remembers of one Lease, beyond what the Lease itself says. Immutable; the functions give the next. */
export interface LeaseMemory {
  readonly record: HolderRecord | undefined;
  /** Whether the Lease was ever seen to have a holder. */
  readonly wasHeld: boolean;
  /** The preferredHolder for which the last holder has released the Lease, until that is granted. */
  readonly yieldedTo: string | undefined;
  /** The beliefs of holders that have led, or may have led (rule 8). {@link allBeliefs} adds those of unanswered grants. */
  readonly beliefs: Beliefs;
  /**
   * How long a holder leads by one renewal whose own duration is not known, in milliseconds: as long as the last one did whose is
   * known, as all are of one program, and never less than {@link USUAL_DURATION_MS}.
   */
  readonly usualDurationMs: number;
  /** By holder, when it last released the Lease, in the order of the releases; of the last two hours, and a hundred at most (rules 1 and 3). */
  readonly withdrawals: ReadonlyMap<string, Instant>;
  /** A grant of ours that is in flight: it may or may not be written, until it is answered or seen. */
  readonly grantOnItsWay: Grant | undefined;
  /** A grant of ours that was still in flight when another change of the Lease was seen; kept until the server refuses it. */
  readonly supposedGrant: SupposedGrant | undefined;
  /** Grants of ours whose answers were lost. Their holders may renew until the next sight of the Lease. */
  readonly lostGrants: readonly SupposedGrant[];
  /** Our last grant, until its holder renews it. */
  readonly unrenewedGrant: UnrenewedGrant | undefined;
  /** The number of grants of ours that replaced each other in a row, the last one included, and since when (rule 12). */
  readonly grantSeries: { readonly count: number; readonly since: Instant };
  /** Grants that were not taken up, in a row, by holder (rule 7). */
  readonly lapses: ReadonlyMap<string, Attempts>;
  /** The same for the Lease, for holders of any name: grants in a row since the last one that was taken up. */
  readonly lapsesOfLease: Attempts;
  /** What we last wrote beside the current holder, to notice when its renewals wipe it. */
  readonly written: { readonly preferredHolder?: string; readonly strategy?: string };
  /** Set while only a note asks the holder to give way: the holder may not read notes (rule 14). */
  readonly noted: Noted | undefined;
  readonly ignoredWrites: Attempts;
  readonly failedPreemptions: Attempts;
  /** When the Lease last went to a preferredHolder. */
  readonly preemptedAt: Instant;
  /** Rounds of pings to silent candidates since the Lease was last led. */
  readonly rounds: Attempts;
  /** Which candidates, asking for what, are in the strategy conflict that was reported last. */
  readonly conflict: string | undefined;
  /** Acks from before the last decision are used up. */
  readonly decidedAt: Instant;
  /** When the server answered the first ping of the election that is under way (rule 6). */
  readonly askingSince: Instant | undefined;
}

/** A grant of ours that may have been written and taken up, and what its holder believes then. */
export interface SupposedGrant {
  readonly grant: Grant;
  readonly belief: Belief;
}

/** A grant of ours that its holder has not renewed, as far as this process has seen (rule 12). */
export interface UnrenewedGrant {
  readonly holder: string;
  readonly renewTime: MicroTime;
  /**
   * What the grant was given by the server: a holder whose clock differs from ours may renew the Lease with the very renewTime
   * that we wrote.
   */
  readonly resourceVersion: string;
  /** In seconds. */
  readonly leaseDurationSeconds: number;
  /** When a running holder has taken it up (rule 12). */
  readonly takeUpBy: Instant;
  readonly isPreemption: boolean;
  /** See {@link Grant}. */
  readonly isReturn?: true;
}

/** What a grant means for the former holder; known when the grant is decided. */
export interface Grant {
  readonly holder: string;
  /** The renewTime that the grant itself writes: any other is the holder's own. */
  readonly renewTime: MicroTime;
  /** Who had the Lease before. */
  readonly former: string | undefined;
  /** In seconds. */
  readonly leaseDurationSeconds: number;
  /** Set when `former` has not taken its grant up, in time or at all: it has never led by it. */
  readonly hasFormerLapsed: boolean;
  /** Set when it replaces a grant that `former` has not renewed, nor let run out, and why (rule 12). */
  readonly revises: 'holderLost' | 'holderWorse' | 'holderLate' | undefined;
  /** Set when `holder` may still believe in an earlier record of its own: the grant gives it its Lease back (rule 8). */
  readonly isReturn?: true;
  /** Set when the new holder was the preferredHolder. */
  readonly isPreemption: boolean;
  /** Set when another was the preferredHolder, by our doing, and has fallen silent or gone since. */
  readonly hasPreferredFailed?: true;
}

export const NO_ATTEMPTS: Attempts = { count: 0, lastAt: Number.NEGATIVE_INFINITY };

/** What is remembered of a Lease never seen before. */
export const noMemory: LeaseMemory = {
  record: undefined,
  wasHeld: false,
  yieldedTo: undefined,
  beliefs: [],
  usualDurationMs: USUAL_DURATION_MS,
  withdrawals: new Map(),
  grantOnItsWay: undefined,
  supposedGrant: undefined,
  lostGrants: [],
  unrenewedGrant: undefined,
  grantSeries: { count: 0, since: Number.NEGATIVE_INFINITY },
  lapses: new Map(),
  lapsesOfLease: NO_ATTEMPTS,
  written: {},
  noted: undefined,
  ignoredWrites: NO_ATTEMPTS,
  failedPreemptions: NO_ATTEMPTS,
  preemptedAt: Number.NEGATIVE_INFINITY,
  rounds: NO_ATTEMPTS,
  conflict: undefined,
  decidedAt: Number.NEGATIVE_INFINITY,
  askingSince: undefined,
};

/** Returns the beliefs of all holders that may have led (rule 8), those of unanswered grants included. */
export function allBeliefs(memory: LeaseMemory): Beliefs {
  let all = withSupposed(memory);
  for (const { belief } of memory.lostGrants) all = withMore(all, belief);
  return all;
}

/**
 * Returns the beliefs that block a grant. Lost grants to the Lease that is seen do not: if such a grant was written, the server
 * refuses any other write to that Lease.
 */
export function blockingBeliefs(memory: LeaseMemory): Beliefs {
  return memory.record ? withSupposed(memory) : allBeliefs(memory);
}

function withSupposed({ beliefs, supposedGrant }: LeaseMemory): Beliefs {
  return supposedGrant ? withMore(beliefs, supposedGrant.belief) : beliefs;
}

/** Returns until when the holder of `memory.record` may lead, by that record or an earlier one. */
export function expiryOf(memory: LeaseMemory): Instant {
  const { record } = memory;
  if (!record) return Number.NEGATIVE_INFINITY;
  const belief = beliefOf(blockingBeliefs(memory), record.holder);
  return Math.max(record.since + record.durationMs, belief ? leadsUntil(belief) : Number.NEGATIVE_INFINITY);
}

/**
 * True when the Lease is as this process, or another replica by field ownership, has granted it: its holder has never renewed it.
 */
export function isGrantUnrenewed({ record, unrenewedGrant }: LeaseMemory, lease: Lease | undefined): boolean {
  if (record === undefined || record.holder === '') return false;
  if (lease?.isUnrenewedGrant && lease.holderIdentity === record.holder) return true;
  return record.holder === unrenewedGrant?.holder && record.renewTime === unrenewedGrant.renewTime;
}

/**
 * True while no holder leads by the Lease's record or an earlier one: the grant has not been taken up (rules 8 and 12).
 */
export function isProvisional(memory: LeaseMemory, lease: Lease, at: Instant): boolean {
  return isGrantUnrenewed(memory, lease) && reservationFor(blockingBeliefs(memory), at) === undefined;
}

/** A preferredHolder that loses the Lease this soon counts as a failed preemption: probably a crash loop. */
const PREEMPTION_PROBATION_MS = 60_000;

const TAKE_UP_MS = 5000;

/**
 * How long a coordinated elector that runs may take to take a grant up, in milliseconds: client-go's looks every 2.0 to 4.4 s
 * (rule 12). Where grants last longer than usual, as electors look more rarely, half of their time.
 */
export function takeUpMs(leaseDurationSeconds: number): number {
  return Math.max(TAKE_UP_MS, leaseDurationSeconds * 500);
}

/** Failures further apart than this are counted separately. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** After the server's answer, or a holder's renewal, lacked what we wrote. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/**
 * Records the server's answer, at `at`, that a grant sent at `sentAt` is written, as `resourceVersion`. The watch may have shown
 * it before.
 */
export function recordGrantAnswered(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
  sentAt = at,
): LeaseMemory {
  if (memory.grantOnItsWay === grant) return recordGrant(memory, grant, resourceVersion, at, sentAt);
  const { unrenewedGrant } = memory;
  // The object that the watch showed first was a later one, though it looked like the grant.
  const isRenewed = unrenewedGrant?.resourceVersion !== resourceVersion;
  return { ...memory, decidedAt: at, unrenewedGrant: isRenewed ? undefined : unrenewedGrant };
}

/** After the Lease was granted by a write, sent at `sentAt`, that gave it `resourceVersion`, as is known at `at`. */
export function recordGrant(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
  sentAt = at,
): LeaseMemory {
  const {
    former,
    holder,
    renewTime,
    leaseDurationSeconds,
    isPreemption,
    revises,
    hasFormerLapsed,
    isReturn,
  } = grant;
  // A winner that is soon overtaken by a better one has not failed: upgrades come in quick succession.
  const isEarlyLoss =
    !isPreemption &&
    revises !== 'holderWorse' &&
    former !== holder &&
    at < memory.preemptedAt + PREEMPTION_PROBATION_MS;
  const { record, grantSeries } = memory;
  const { count, since } = grantSeries;
  const isOthers = record !== undefined && record.holder !== '' && record.holder !== holder;
  return {
    ...memory,
    grantOnItsWay: undefined,
    wasHeld: true,
    yieldedTo: undefined,
    beliefs: isOthers ? withLost(memory.beliefs, record.holder, at) : memory.beliefs,
    unrenewedGrant: {
      holder,
      renewTime,
      resourceVersion,
      leaseDurationSeconds,
      // A server that takes long to answer us takes as long to answer the holder.
      takeUpBy: at + takeUpMs(leaseDurationSeconds) + (at - sentAt),
      isPreemption,
      ...(isReturn && { isReturn }),
    },
    grantSeries: revises ? { count: count + 1, since } : { count: 1, since: at },
    ...(former !== undefined && hasFormerLapsed && recordLapse(memory, grant, at)),
    written: {},
    ignoredWrites: NO_ATTEMPTS,
    preemptedAt: isPreemption ? at : isEarlyLoss ? Number.NEGATIVE_INFINITY : memory.preemptedAt,
    failedPreemptions:
      isEarlyLoss || grant.hasPreferredFailed
        ? again(memory.failedPreemptions, at)
        : memory.failedPreemptions,
    rounds: NO_ATTEMPTS,
    conflict: undefined,
    decidedAt: at,
    askingSince: undefined,
  };
}

/** The attempts with one more, at `lastAt`. */
export function again(attempts: Attempts, lastAt: Instant): Attempts {
  return { count: lastAt - attempts.lastAt > ATTEMPTS_DECAY_MS ? 1 : attempts.count + 1, lastAt };
}

/** So many lapses in a row are no reason to hold a candidate back (rule 7). */
export const LAPSES_ALLOWED = 1;

/** The attempts with one more lapse; one of a holder that a leader had to give way to is enough to be held back. */
export function withLapse(
  attempts: Attempts,
  { unrenewedGrant }: LeaseMemory,
  at: Instant,
  isEnough = unrenewedGrant?.isPreemption,
): Attempts {
  const { count, lastAt } = again(attempts, at);
  return { count: isEnough ? Math.max(count, LAPSES_ALLOWED + 1) : count, lastAt };
}

/** Those of long ago are forgotten: a program in a crash loop comes back under a new name each time. */
function recordLapse(
  memory: LeaseMemory,
  { former = '', revises }: Grant,
  at: Instant,
): Pick<LeaseMemory, 'lapses' | 'lapsesOfLease'> {
  const { lapses, lapsesOfLease } = memory;
  const recent = [...lapses].filter(([, { lastAt }]) => at - lastAt <= ATTEMPTS_DECAY_MS);
  // One that was replaced must not replace its successor in turn.
  const isEnough = revises === 'holderLate' || undefined;
  const own = withLapse(lapses.get(former) ?? NO_ATTEMPTS, memory, at, isEnough);
  return {
    lapses: new Map(recent).set(former, own),
    lapsesOfLease: withLapse(lapsesOfLease, memory, at),
  };
}
