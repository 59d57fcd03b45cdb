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

/** The part of a Lease that a holder renews. While it stays the same, the holder has not renewed. */
export interface HolderRecord {
  readonly leaseUid: string;
  readonly holder: string;
  readonly renewTime: MicroTime | undefined;
  readonly leaseDurationSeconds: number | undefined;
  readonly leaseTransitions: number;
  /** Another holder may have led under the same leaseTransitions. */
  readonly isNumberShared?: true;
  readonly preferredHolder: string | undefined;
  readonly since: Instant;
  readonly durationMs: number;
  /** The longest time between two renewals of this holder, in milliseconds; undefined: none was seen (rule 17). */
  readonly renewedEveryMs?: number | undefined;
  /** Set when the Lease went to another candidate because its holder has ended: the holder believes nothing (rule 17). */
  readonly hasEnded?: true;
}

/** A holder that a note asks to give way, and since when this process has seen the note. */
export interface Noted {
  readonly holder: string;
  readonly preferredHolder: string;
  readonly since: Instant;
  readonly renewTime: MicroTime | undefined;
}

/** The number of failures in a row, and the time of the last: the input of a backoff. */
export interface Attempts {
  readonly count: number;
  readonly lastAt: Instant;
}

/** What this process remembers of one Lease, in addition to the Lease itself. Immutable: each function returns a new value. */
export interface LeaseMemory {
  readonly record: HolderRecord | undefined;
  readonly wasHeld: boolean;
  /** The preferredHolder for which the last holder has released the Lease, until the next grant. */
  readonly yieldedTo: string | undefined;
  /** The beliefs of holders that have led, or may have led (rule 8). {@link allBeliefs} adds those of unanswered grants. */
  readonly beliefs: Beliefs;
  /** The assumed duration of a holder whose own is unknown: the last known one, because holders run the same program. */
  readonly usualDurationMs: number;
  /** When each holder last released the Lease, in that order, within two hours, at most a hundred (rules 1 and 3). */
  readonly withdrawals: ReadonlyMap<string, Instant>;
  /** A grant of ours that is in flight. It may be written or not, until the server answers or the watch shows it. */
  readonly grantOnItsWay: Grant | undefined;
  /** A grant of ours that was in flight when another change of the Lease was seen. It is kept until the server refuses it. */
  readonly supposedGrant: SupposedGrant | undefined;
  /** Grants of ours whose answers were lost. Their holders may renew until the next sight of the Lease. */
  readonly lostGrants: readonly SupposedGrant[];
  /** Our last grant, until its holder renews it. */
  readonly unrenewedGrant: UnrenewedGrant | undefined;
  /** The number of grants of ours that replaced each other in a row, including the last one, and since when (rule 12). */
  readonly grantSeries: { readonly count: number; readonly since: Instant };
  /** Lapses in a row, by holder: grants that the holder did not take up (rule 7). */
  readonly lapses: ReadonlyMap<string, Attempts>;
  /** Lapses in a row of all holders of the Lease, since a holder last took up a grant. */
  readonly lapsesOfLease: Attempts;
  /** Fields that we last wrote beside the current holder, to notice when its renewals wipe them. */
  readonly written: { readonly preferredHolder?: string; readonly strategy?: string };
  /** Set while only a note asks the holder to give way: the holder may not read notes (rule 14). */
  readonly noted: Noted | undefined;
  readonly ignoredWrites: Attempts;
  readonly failedPreemptions: Attempts;
  readonly preemptedAt: Instant;
  /** Rounds of pings to silent candidates since the Lease last had a leader. */
  readonly rounds: Attempts;
  /** Identifies the strategy conflict that was reported last: its candidates and their strategies. */
  readonly conflict: string | undefined;
  /** When the last election was decided. Earlier acks do not count any more. */
  readonly decidedAt: Instant;
  /** When the server confirmed the first ping of the current election (rule 6). */
  readonly askingSince: Instant | undefined;
}

/** A grant of ours that may have been written and taken up, and the belief of its holder in that case. */
export interface SupposedGrant {
  readonly grant: Grant;
  readonly belief: Belief;
}

/** A grant of ours that its holder has not renewed, as far as this process has seen (rule 12). */
export interface UnrenewedGrant {
  readonly holder: string;
  readonly renewTime: MicroTime;
  /** Identifies the written grant. A holder may renew with the renewTime that we wrote. */
  readonly resourceVersion: string;
  /** In seconds. */
  readonly leaseDurationSeconds: number;
  /** When a running holder has taken up the grant (rule 12). */
  readonly takeUpBy: Instant;
  readonly isPreemption: boolean;
  readonly isReturn?: true;
}

/** What a grant means for the former holder; known when the grant is decided. */
export interface Grant {
  readonly holder: string;
  /** The renewTime that the grant writes. Any other renewTime is the holder's own. */
  readonly renewTime: MicroTime;
  readonly former: string | undefined;
  /** In seconds. */
  readonly leaseDurationSeconds: number;
  /** Set when `former` has not taken up its grant, in time or at all: it never led by that grant. */
  readonly hasFormerLapsed: boolean;
  /** Why the grant replaces one that `former` has not renewed and that has not expired (rule 12), if it does. */
  readonly revises: 'holderLost' | 'holderWorse' | 'holderLate' | undefined;
  /** Set when there is proof that the holder before this grant has ended (rule 17). */
  readonly hasFormerEnded?: true;
  /** Set when `holder` may still believe in an earlier record of its own: the grant gives the Lease back (rule 8). */
  readonly isReturn?: true;
  readonly isPreemption: boolean;
  /** Set when we had set another preferredHolder, and that candidate has become silent or is gone. */
  readonly hasPreferredFailed?: true;
}

export const NO_ATTEMPTS: Attempts = { count: 0, lastAt: Number.NEGATIVE_INFINITY };

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

/** Returns the beliefs of all holders that may have led (rule 8), including the holders of unanswered grants. */
export function allBeliefs(memory: LeaseMemory): Beliefs {
  let all = withSupposed(memory);
  for (const { belief } of memory.lostGrants) all = withMore(all, belief);
  return all;
}

/** Returns the beliefs that block a grant. Had a lost grant changed the Lease, the server would refuse our write. */
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

/** True when the holder has never renewed its grant. The grant may be ours, or another replica's by field ownership. */
export function isGrantUnrenewed({ record, unrenewedGrant }: LeaseMemory, lease: Lease | undefined): boolean {
  if (record === undefined || record.holder === '') return false;
  if (lease?.isUnrenewedGrant && lease.holderIdentity === record.holder) return true;
  return record.holder === unrenewedGrant?.holder && record.renewTime === unrenewedGrant.renewTime;
}

/** True while no holder leads by this record or an earlier one: the grant is not taken up (rules 8 and 12). */
export function isProvisional(memory: LeaseMemory, lease: Lease, at: Instant): boolean {
  return isGrantUnrenewed(memory, lease) && reservationFor(blockingBeliefs(memory), at) === undefined;
}

/** A preferredHolder that loses the Lease within this time counts as a failed preemption: it probably crashes in a loop. */
const PREEMPTION_PROBATION_MS = 60_000;

const TAKE_UP_MS = 5000;

/**
 * Returns how long a running coordinated elector may need to take up a grant, in milliseconds. client-go's elector reads
 * the Lease every 2.0 to 4.4 s (rule 12). For grants that last longer than usual it is half of their duration, because
 * electors then read less often.
 */
export function takeUpMs(leaseDurationSeconds: number): number {
  return Math.max(TAKE_UP_MS, leaseDurationSeconds * 500);
}

/** Failures further apart than this are counted separately. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** Records that the server's answer, or a holder's renewal, lacked what we wrote. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/** Records the server's answer to a grant. The watch may have shown the grant before. */
export function recordGrantAnswered(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
  sentAt = at,
): LeaseMemory {
  if (memory.grantOnItsWay === grant) return recordGrant(memory, grant, resourceVersion, at, sentAt);
  const { unrenewedGrant } = memory;
  // The watch showed a later object first, which looked like the grant.
  const isRenewed = unrenewedGrant?.resourceVersion !== resourceVersion;
  return { ...memory, decidedAt: at, unrenewedGrant: isRenewed ? undefined : unrenewedGrant };
}

/** Records at `at` that a grant, sent at `sentAt`, is written as `resourceVersion`. */
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
  // A preferredHolder that a better candidate soon replaces has not failed: several versions may be deployed in quick
  // succession.
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
      // A server that answers us slowly answers the holder slowly too.
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

export function again(attempts: Attempts, lastAt: Instant): Attempts {
  return { count: lastAt - attempts.lastAt > ATTEMPTS_DECAY_MS ? 1 : attempts.count + 1, lastAt };
}

/** The number of lapses in a row for which a candidate is not held back (rule 7). */
export const LAPSES_ALLOWED = 1;

/** Adds a lapse. One is enough to hold a holder back for which a leader had to give way. */
export function withLapse(
  attempts: Attempts,
  { unrenewedGrant }: LeaseMemory,
  at: Instant,
  isEnough = unrenewedGrant?.isPreemption,
): Attempts {
  const { count, lastAt } = again(attempts, at);
  return { count: isEnough ? Math.max(count, LAPSES_ALLOWED + 1) : count, lastAt };
}

/** Records a lapse, and forgets old ones: a program in a crash loop returns under new names. */
function recordLapse(
  memory: LeaseMemory,
  { former = '', revises }: Grant,
  at: Instant,
): Pick<LeaseMemory, 'lapses' | 'lapsesOfLease'> {
  const { lapses, lapsesOfLease } = memory;
  const recent = [...lapses].filter(([, { lastAt }]) => at - lastAt <= ATTEMPTS_DECAY_MS);
  // A holder that was replaced because it was late must not replace its successor in turn.
  const isEnough = revises === 'holderLate' || undefined;
  const own = withLapse(lapses.get(former) ?? NO_ATTEMPTS, memory, at, isEnough);
  return {
    lapses: new Map(recent).set(former, own),
    lapsesOfLease: withLapse(lapsesOfLease, memory, at),
  };
}

/** How long a release is remembered. After that, the candidate's silence has the same effect. */
const WITHDRAWAL_KEPT_MS = 2 * 60 * 60_000;
/** Limits the releases remembered of one Lease: a client may release it under thousands of names. */
const MAX_WITHDRAWALS = 100;

/** Returns the releases with another one, at `at`. */
export function withWithdrawal(
  withdrawals: LeaseMemory['withdrawals'],
  holder: string,
  at: Instant,
): LeaseMemory['withdrawals'] {
  const kept = [...withdrawals].filter(
    ([name, earlier]) => name !== holder && at - earlier < WITHDRAWAL_KEPT_MS,
  );
  return new Map([...kept.slice(1 - MAX_WITHDRAWALS), [holder, at]]);
}
