import { FENCE } from './group.ts';
import {
  believesUntil,
  type HolderRecord,
  type LeaseMemory,
  NO_ATTEMPTS,
  type Reservation,
} from './lease-memory.ts';
import type { ElectionSettings, Lease } from './model.ts';
import { recordGrant, recordIgnoredWrite } from './record-writes.ts';
import type { Instant, Now } from './time.ts';

/** A release of longer ago says nothing about a candidate any more that its silence would not say by then. */
const WITHDRAWAL_KEPT_MS = 2 * 60 * 60_000;
/** Whoever may write a Lease may release it under thousands of names: that must cost nobody else memory or time. */
const MOST_WITHDRAWALS = 100;

/** The memory after seeing `lease` at `now`; undefined when the Lease was seen to be gone. */
export function observeLease(
  memory: LeaseMemory,
  lease: Lease | undefined,
  { monotonic }: Now,
  settings: ElectionSettings,
): LeaseMemory {
  if (!lease) return observe(memory, lease, monotonic, settings);
  const told = recognizeGrant(memory, lease, monotonic);
  return observe(noticeRenewal(told, lease), lease, monotonic, settings);
}

/** Whoever has changed a Lease since we granted it may have been its holder, however alike it looks. */
function noticeRenewal(memory: LeaseMemory, lease: Lease): LeaseMemory {
  const { unrenewedGrant, record } = memory;
  if (
    !unrenewedGrant ||
    unrenewedGrant.holder !== lease.holderIdentity ||
    unrenewedGrant.resourceVersion === lease.resourceVersion
  ) {
    return memory;
  }
  const { holder } = unrenewedGrant;
  const leader = record?.holder === holder ? { holder, beliefMs: record.beliefMs } : memory.leader;
  return { ...memory, unrenewedGrant: undefined, leader };
}

/** A grant of ours that the watch shows before the server's answer to it arrives, or instead of that. */
function recognizeGrant(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { grantOnItsWay } = memory;
  const isSeen =
    grantOnItsWay?.holder === lease.holderIdentity && grantOnItsWay?.renewTime === lease.renewTime;
  return grantOnItsWay && isSeen ? recordGrant(memory, grantOnItsWay, lease.resourceVersion, at) : memory;
}

function observe(
  memory: LeaseMemory,
  lease: Lease | undefined,
  monotonic: Instant,
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
  const seen = noticeNote(noticeWipedFields(memory, lease, monotonic), lease, monotonic);
  if (isUnchanged) return seen;

  const written = recordOf(lease, holder, monotonic, settings);
  const next: LeaseMemory = { ...seen, record: written };
  if (holder !== '') return settleHolder(next, memory, lease, written);
  if (!record || record.holder === '') return next;
  const isRelease =
    record.leaseUid === lease.uid &&
    record.renewTime !== lease.renewTime &&
    lease.leaseDurationSeconds === 1 &&
    // Nobody is there to release a fence: whoever does wakes up late.
    record.holder !== FENCE;
  if (!isRelease) return { ...next, reservation: beliefsIn(withUnseenRenewal(memory, written), monotonic) };
  // A participant empties nobody's Lease but its own, on the state in which it was its own (rule 15).
  const isDoubted = monotonic < memory.releaseDoubtedUntil && !lease.isReleasedByParticipant;
  if (isDoubted) return { ...next, reservation: beliefsIn(memory, monotonic) };
  return {
    ...next,
    leader: undefined,
    reservation: withoutHolder(memory.reservation, record.holder, monotonic),
    withdrawals: withWithdrawal(memory.withdrawals, record.holder, monotonic),
  };
}

function withWithdrawal(
  withdrawals: LeaseMemory['withdrawals'],
  holder: string,
  at: Instant,
): LeaseMemory['withdrawals'] {
  const kept = [...withdrawals].filter(
    ([name, earlier]) => name !== holder && at - earlier < WITHDRAWAL_KEPT_MS,
  );
  return new Map([...kept.slice(1 - MOST_WITHDRAWALS), [holder, at]]);
}

function recordOf(lease: Lease, holder: string, since: Instant, settings: ElectionSettings): HolderRecord {
  const { renewTime, leaseDurationSeconds } = lease;
  const beliefMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 1000;
  return { leaseUid: lease.uid, holder, renewTime, leaseDurationSeconds, since, beliefMs };
}

/**
 * The memory as if the holder had renewed an emptied Lease right before: another renewTime than the one that was seen is the
 * holder's own, most likely, from when no watch could tell.
 */
function withUnseenRenewal(memory: LeaseMemory, emptied: HolderRecord): LeaseMemory {
  const { record } = memory;
  if (!record || record.leaseUid !== emptied.leaseUid || record.renewTime === emptied.renewTime)
    return memory;
  const beliefMs = Math.max(record.beliefMs, emptied.beliefMs);
  return { ...memory, record: { ...record, since: emptied.since, beliefMs } };
}

/**
 * What a change of the Lease that is not its holder's own leaves behind: nothing tells the holder, it may lead on until its
 * own record has run out. Of several such beliefs the longest counts; until the others are over, nobody gets the Lease.
 */
function beliefsIn(memory: LeaseMemory, at: Instant): Reservation | undefined {
  const { record, reservation } = memory;
  if (!record || record.holder === '') return reservation;
  const until = believesUntil(memory);
  const isOwn = reservation?.holder === record.holder;
  const othersUntil = reservation?.othersUntil ?? Number.NEGATIVE_INFINITY;
  if (reservation && reservation.until > until)
    return isOwn ? reservation : { ...reservation, othersUntil: Math.max(othersUntil, until) };
  if (until <= at) return undefined;
  const formerUntil = reservation && !isOwn ? reservation.until : Number.NEGATIVE_INFINITY;
  return { holder: record.holder, from: at, until, othersUntil: Math.max(othersUntil, formerUntil) };
}

/** What is left of a reservation once `holder` has released the Lease: others may still believe in it. */
function withoutHolder(
  reservation: Reservation | undefined,
  holder: string,
  at: Instant,
): Reservation | undefined {
  if (reservation?.holder !== holder) return reservation;
  const { othersUntil } = reservation;
  const never = Number.NEGATIVE_INFINITY;
  return othersUntil > at
    ? { holder: undefined, from: at, until: othersUntil, othersUntil: never }
    : undefined;
}

/** The memory once `lease` has a new record, of somebody who holds it. */
function settleHolder(
  memory: LeaseMemory,
  previous: LeaseMemory,
  lease: Lease,
  { holder, beliefMs, since: at }: HolderRecord,
): LeaseMemory {
  const { unrenewedGrant, lapses } = memory;
  const { record } = previous;
  const isOurGrant = unrenewedGrant?.holder === holder && unrenewedGrant.renewTime === lease.renewTime;
  const isSameHolder = record?.holder === holder;
  // Somebody's grant is told by its acquireTime: no renewal moves that.
  const isAcquired = lease.acquireTime !== undefined && lease.acquireTime === lease.renewTime;
  // Nor does one take renewTime away.
  const isRenewed = lease.renewTime !== undefined && record?.renewTime !== lease.renewTime;
  const isRenewal = isSameHolder && isRenewed && !isAcquired;
  // What somebody else writes into its record takes nothing from what a leader believes.
  const formerMs = isSameHolder && !isRenewal ? (previous.leader?.beliefMs ?? 0) : 0;
  const loser = previous.leader?.holder === holder ? undefined : previous.leader;
  return {
    ...memory,
    // What a grant of ours takes away was recorded with it; this is another coordinator's.
    releaseDoubtedUntil:
      isAcquired && !isOurGrant && loser
        ? Math.max(memory.releaseDoubtedUntil, at + loser.beliefMs)
        : memory.releaseDoubtedUntil,
    leader: isOurGrant
      ? memory.leader
      : holder === FENCE
        ? undefined
        : { holder, beliefMs: Math.max(beliefMs, formerMs) },
    reservation: isRenewal || isOurGrant ? memory.reservation : beliefsIn(previous, at),
    unrenewedGrant: isOurGrant ? unrenewedGrant : undefined,
    // Only a renewal by the holder itself proves that it has taken the grant up.
    lapses: isRenewal && lapses.has(holder) ? without(lapses, holder) : lapses,
    written: isSameHolder ? memory.written : {},
    ignoredWrites: isSameHolder ? memory.ignoredWrites : NO_ATTEMPTS,
    rounds: isSameHolder ? memory.rounds : NO_ATTEMPTS,
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

/** Since when a holder has been asked to give way by a note alone (rule 14). */
function noticeNote(memory: LeaseMemory, lease: Lease, since: Instant): LeaseMemory {
  const { noted } = memory;
  const { holderIdentity: holder = '', preferredHolder = '', isPreferredHolderNoted } = lease;
  if (!isPreferredHolderNoted) return noted ? { ...memory, noted: undefined } : memory;
  if (noted?.holder === holder && noted.preferredHolder === preferredHolder) return memory;
  return { ...memory, noted: { holder, preferredHolder, since, renewTime: lease.renewTime } };
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
