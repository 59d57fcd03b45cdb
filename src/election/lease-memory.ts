import type { ElectionSettings, Lease } from './model.ts';
import type { Instant, MicroTime, Now } from './time.ts';

/** The part of a Lease that a holder renews: while it stays the same, the holder has not been heard of. */
export interface HolderRecord {
  readonly leaseUid: string;
  readonly holder: string;
  readonly renewTime: MicroTime | undefined;
  readonly leaseDurationSeconds: number | undefined;
  /** Since when this process has seen exactly this record. */
  readonly since: Instant;
  /** How long from `since` the holder may believe that it leads, in milliseconds (rule 8). */
  readonly beliefMs: number;
}

/**
 * A Lease that lost its holder's record in a way that does not prove that the holder knows: it stays that holder's for a
 * while. It outlives a grant to that same holder, which may be shorter than what the holder believes in.
 */
export interface Reservation {
  readonly holder: string;
  readonly from: Instant;
  readonly until: Instant;
  /** How long the holder believes in a record of its own, in milliseconds. */
  readonly beliefMs: number;
}

/** How often something failed in a row, and when last: what a backoff is computed from. */
export interface Attempts {
  readonly count: number;
  readonly lastAt: Instant;
}

/** What this process remembers of one Lease, beyond what the Lease itself says. Immutable; the functions give the next. */
export interface LeaseMemory {
  readonly record: HolderRecord | undefined;
  readonly reservation: Reservation | undefined;
  /** The holder that last released the Lease, and when (rule 3). */
  readonly withdrawal: { readonly holder: string; readonly at: Instant } | undefined;
  /** By holder, when it was last seen to release the Lease; of the last two hours at most. */
  readonly withdrawals: ReadonlyMap<string, Instant>;
  /** Our last grant, until its holder renews it. */
  readonly unrenewedGrant: { readonly holder: string; readonly renewTime: MicroTime } | undefined;
  /** Until when a release may be the work of the holder that our last grant by expiry replaced (rule 8). */
  readonly releaseDoubtedUntil: Instant;
  /** Grants that ran out without ever being renewed, in a row, by holder (rule 7). */
  readonly lapses: ReadonlyMap<string, Attempts>;
  /** What we last wrote beside the current holder, to notice when its renewals wipe it. */
  readonly written: { readonly preferredHolder?: string; readonly strategy?: string };
  readonly ignoredWrites: Attempts;
  readonly failedPreemptions: Attempts;
  /** When the Lease last went to a preferredHolder. */
  readonly preemptedAt: Instant;
  /** Rounds of pings to everybody since the Lease was last led. */
  readonly rounds: Attempts;
  /** Which candidates, asking for what, are in the strategy conflict that was reported last. */
  readonly conflict: string | undefined;
  /** Acks from before the last decision are used up. */
  readonly decidedAt: Instant;
}

/** A preferredHolder that loses the Lease this soon has not been worth the eviction: a crash loop, most likely. */
const PREEMPTION_PROBATION_MS = 60_000;

/** Failures further apart than this have nothing to do with each other. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** How long a release is remembered. */
const WITHDRAWALS_KEPT_MS = 2 * 60 * 60_000;

const NONE: Attempts = { count: 0, lastAt: Number.NEGATIVE_INFINITY };

/** What is remembered of a Lease never seen before. */
export const noMemory: LeaseMemory = {
  record: undefined,
  reservation: undefined,
  withdrawal: undefined,
  withdrawals: new Map(),
  unrenewedGrant: undefined,
  releaseDoubtedUntil: Number.NEGATIVE_INFINITY,
  lapses: new Map(),
  written: {},
  ignoredWrites: NONE,
  failedPreemptions: NONE,
  preemptedAt: Number.NEGATIVE_INFINITY,
  rounds: NONE,
  conflict: undefined,
  decidedAt: Number.NEGATIVE_INFINITY,
};

/** The memory after seeing `lease` at `now`; undefined when the Lease was seen to be gone. */
export function observeLease(
  memory: LeaseMemory,
  lease: Lease | undefined,
  { monotonic }: Now,
  settings: ElectionSettings,
): LeaseMemory {
  const { record } = memory;
  if (!lease)
    return record ? { ...memory, reservation: beliefsIn(memory, monotonic), record: undefined } : memory;

  const holder = lease.holderIdentity ?? '';
  const isUnchanged =
    record?.leaseUid === lease.uid &&
    record.holder === holder &&
    record.renewTime === lease.renewTime &&
    record.leaseDurationSeconds === lease.leaseDurationSeconds;
  const seen = noticeWipedFields(memory, lease, monotonic);
  if (isUnchanged) return seen;

  const next: LeaseMemory = { ...seen, record: recordOf(lease, holder, monotonic, settings) };
  if (holder !== '') return settleHolder(next, memory, lease, monotonic);
  if (!record || record.holder === '') return next;
  const isRelease =
    record.leaseUid === lease.uid && record.renewTime !== lease.renewTime && lease.leaseDurationSeconds === 1;
  if (!isRelease || monotonic < memory.releaseDoubtedUntil) {
    return { ...next, reservation: beliefsIn(memory, monotonic) };
  }
  const reservation = memory.reservation?.holder === record.holder ? undefined : memory.reservation;
  const withdrawals = withWithdrawal(memory.withdrawals, record.holder, monotonic);
  return { ...next, reservation, withdrawal: { holder: record.holder, at: monotonic }, withdrawals };
}

function withWithdrawal(withdrawals: LeaseMemory['withdrawals'], holder: string, at: Instant) {
  const recent = [...withdrawals].filter(([, releasedAt]) => at - releasedAt <= WITHDRAWALS_KEPT_MS);
  return new Map(recent).set(holder, at);
}

function recordOf(lease: Lease, holder: string, since: Instant, settings: ElectionSettings): HolderRecord {
  const { renewTime, leaseDurationSeconds } = lease;
  const seconds =
    renewTime === undefined || leaseDurationSeconds === undefined
      ? settings.leaseDurationSeconds
      : leaseDurationSeconds;
  return { leaseUid: lease.uid, holder, renewTime, leaseDurationSeconds, since, beliefMs: seconds * 1000 };
}

/** Until when the holder of `memory.record` may believe in it. */
export function believesUntil({ record, reservation }: LeaseMemory): Instant {
  if (!record) return Number.NEGATIVE_INFINITY;
  const until = record.since + record.beliefMs;
  return reservation?.holder === record.holder ? Math.max(until, reservation.until) : until;
}

/**
 * What a change of the Lease that is not its holder's own leaves behind: nothing tells the holder, it may lead on until its
 * own record has run out. Of two such beliefs the longer one counts.
 */
function beliefsIn(memory: LeaseMemory, at: Instant): Reservation | undefined {
  const { record, reservation } = memory;
  if (!record || record.holder === '') return reservation;
  const until = believesUntil(memory);
  if (reservation && reservation.until > until) return reservation;
  return until > at ? { holder: record.holder, from: at, until, beliefMs: record.beliefMs } : undefined;
}

/** True when the Lease is as our last grant left it: its holder has never renewed it. */
export function isGrantUnrenewed({ record, unrenewedGrant }: LeaseMemory): boolean {
  return (
    record !== undefined &&
    record.holder === unrenewedGrant?.holder &&
    record.renewTime === unrenewedGrant.renewTime
  );
}

function settleHolder(memory: LeaseMemory, previous: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const holder = lease.holderIdentity ?? '';
  const { unrenewedGrant, lapses } = memory;
  const { record } = previous;
  const isOurGrant = unrenewedGrant?.holder === holder && unrenewedGrant.renewTime === lease.renewTime;
  const isSameHolder = record?.holder === holder;
  // A grant of ours, which the watch may show before it is recorded, is told by its acquireTime: no renewal moves that.
  const isAcquired = lease.acquireTime !== undefined && lease.acquireTime === lease.renewTime;
  const isRenewal = isSameHolder && record.renewTime !== lease.renewTime && !isAcquired;
  const former = record && record.holder !== '' ? record : previous.reservation;
  return {
    ...memory,
    // Seen rather than recorded: the grant may be another coordinator's, or one of ours that was never answered.
    releaseDoubtedUntil:
      isAcquired && former && former.holder !== holder
        ? Math.max(memory.releaseDoubtedUntil, at + former.beliefMs)
        : memory.releaseDoubtedUntil,
    reservation: isRenewal ? memory.reservation : beliefsIn(previous, at),
    unrenewedGrant: isOurGrant ? unrenewedGrant : undefined,
    // Only a renewal by the holder itself proves that it has taken the grant up.
    lapses: isRenewal && lapses.has(holder) ? without(lapses, holder) : lapses,
    written: isSameHolder ? memory.written : {},
    ignoredWrites: isSameHolder ? memory.ignoredWrites : NONE,
    rounds: isSameHolder ? memory.rounds : NONE,
    conflict: isSameHolder ? memory.conflict : undefined,
  };
}

/** A holder that renews with fields of its own only (a plain elector) wipes preferredHolder and strategy (rule 7). */
function noticeWipedFields(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { written, record } = memory;
  const isSameHolder = record !== undefined && record.holder !== '' && record.holder === lease.holderIdentity;
  const isWiped =
    (written.preferredHolder !== undefined && lease.preferredHolder !== written.preferredHolder) ||
    (written.strategy !== undefined && lease.strategy !== written.strategy);
  return isSameHolder && isWiped ? recordIgnoredWrite(memory, at) : memory;
}

/** After the server's answer, or a holder's renewal, lacked what we wrote. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/** What a grant means for those who held the Lease before; known when it is decided. */
export interface Grant {
  readonly holder: string;
  /** The renewTime that the grant itself writes: any other is the holder's own. */
  readonly renewTime: MicroTime;
  /** Who had the Lease before, and for how long it believes in a record of its own, in milliseconds. */
  readonly former: { readonly holder: string; readonly beliefMs: number } | undefined;
  /** Set when `former` let a grant run out without ever renewing it. */
  readonly hasFormerLapsed: boolean;
  /** Set when the new holder was the preferredHolder. */
  readonly isPreemption: boolean;
}

/** After the Lease was granted at `at`. */
export function recordGrant(memory: LeaseMemory, grant: Grant, at: Instant): LeaseMemory {
  const { former, holder } = grant;
  // A winner that is soon overtaken by a better one has not failed: upgrades come in quick succession.
  const isEarlyLoss =
    !grant.isPreemption && former?.holder !== holder && at < memory.preemptedAt + PREEMPTION_PROBATION_MS;
  return {
    ...memory,
    reservation: memory.reservation?.holder === holder ? memory.reservation : undefined,
    unrenewedGrant: { holder, renewTime: grant.renewTime },
    // A grant to the same holder again settles nothing about the one before it.
    releaseDoubtedUntil:
      former && former.holder !== holder
        ? Math.max(memory.releaseDoubtedUntil, at + former.beliefMs)
        : memory.releaseDoubtedUntil,
    lapses: former && grant.hasFormerLapsed ? withLapse(memory.lapses, former.holder, at) : memory.lapses,
    written: {},
    ignoredWrites: NONE,
    preemptedAt: grant.isPreemption ? at : isEarlyLoss ? Number.NEGATIVE_INFINITY : memory.preemptedAt,
    failedPreemptions: isEarlyLoss ? again(memory.failedPreemptions, at) : memory.failedPreemptions,
    rounds: NONE,
    conflict: undefined,
    decidedAt: at,
  };
}

/**
 * Before any write to the Lease: the watch may show its effect before the server's answer arrives, and what we change
 * ourselves must not be taken for something wiped by the holder.
 */
export function recordWriting(memory: LeaseMemory): LeaseMemory {
  return { ...memory, written: {} };
}

/** After `preferredHolder` and `strategy`, or the strategy alone, were written beside a valid holder. */
export function recordWritten(
  memory: LeaseMemory,
  written: LeaseMemory['written'],
  at: Instant,
): LeaseMemory {
  return { ...memory, written, decidedAt: at };
}

/** After preferredHolder was taken off again; `hasFailed` when its candidate had not become the holder for a fault of its own. */
export function recordPreferenceRemoved(memory: LeaseMemory, hasFailed: boolean, at: Instant): LeaseMemory {
  return {
    ...memory,
    failedPreemptions: hasFailed ? again(memory.failedPreemptions, at) : memory.failedPreemptions,
  };
}

/** After a round of pings to everybody while nobody leads. */
export function recordRound(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, rounds: again(memory.rounds, at) };
}

/** After a strategy conflict between `parties` was found. */
export function recordConflict(memory: LeaseMemory, parties: string): LeaseMemory {
  return { ...memory, conflict: parties };
}

function again(attempts: Attempts, lastAt: Instant): Attempts {
  return { count: lastAt - attempts.lastAt > ATTEMPTS_DECAY_MS ? 1 : attempts.count + 1, lastAt };
}

/** Those of long ago are forgotten: a program in a crash loop comes back under a new name each time. */
function withLapse(lapses: LeaseMemory['lapses'], holder: string, at: Instant): LeaseMemory['lapses'] {
  const recent = [...lapses].filter(([, { lastAt }]) => at - lastAt <= ATTEMPTS_DECAY_MS);
  return new Map(recent).set(holder, again(lapses.get(holder) ?? NONE, at));
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
