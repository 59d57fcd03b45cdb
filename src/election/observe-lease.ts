import {
  type Belief,
  beliefOf,
  leadsUntil,
  matterUntil,
  mayBeDisturbed,
  UNKNOWN_HOLDER,
  USUAL_DURATION_MS,
  withBelief,
  withMore,
  withoutBelief,
} from './beliefs.ts';
import {
  beliefBy,
  hasReleaseDuration,
  LONGEST_GAP_MS,
  loseGrant,
  observeNewcomer,
  observeWatchEnd,
  settleLostGrants,
  supposeGrants,
  withLoss,
  withoutGrant,
  withUnknown,
} from './former-holders.ts';
import {
  allBeliefs,
  type Grant,
  type HolderRecord,
  type LeaseMemory,
  NO_ATTEMPTS,
  recordGrant,
  recordIgnoredWrite,
  withWithdrawal,
} from './lease-memory.ts';
import { type ElectionSettings, FENCE, type Instant, type Lease, type Now } from './model.ts';

/**
 * Returns the memory after this process saw `lease` at `now`. `lease` is undefined if the Lease is gone.
 * `coordinatingSince`: a record seen until this time may be from before this process became the coordinator; Infinity if
 * it is not the coordinator. Set only if a list showed this state. `lateMs`: maximum age of the change, in ms.
 */
export function observeLease(
  memory: LeaseMemory,
  lease: Lease | undefined,
  { monotonic: at }: Now,
  settings: ElectionSettings,
  coordinatingSince?: Instant,
  lateMs = 0,
): LeaseMemory {
  if (!lease) return observeDeletion(memory, at, coordinatingSince);
  const isMadeAnew = memory.record !== undefined && memory.record.leaseUid !== lease.uid;
  const before = isMadeAnew ? observeNewcomer(memory, lease, at) : memory;
  const recognized = recognizeGrant(before, lease, at);
  const { unrenewedGrant } = recognized;
  const isOwnGrant = unrenewedGrant !== undefined && unrenewedGrant.holder === lease.holderIdentity;
  const told = noticeNote(noticeWipedFields(noticeRenewal(recognized, lease, at), lease, at), lease, at);
  const { record } = told;
  const holder = lease.holderIdentity ?? '';
  const isUnchanged =
    record?.leaseUid === lease.uid &&
    record.holder === holder &&
    record.renewTime === lease.renewTime &&
    record.leaseDurationSeconds === lease.leaseDurationSeconds;
  if (isUnchanged) return withOtherFields(told, lease);
  const written = recordOf(lease, holder, at, settings, record, coordinatingSince !== undefined);
  const change = { lease, written, isOwnGrant, coordinatingSince, lateMs };
  return holder === '' ? observeEmptied(told, change) : observeHeld(told, change);
}

interface SeenChange {
  readonly lease: Lease;
  readonly written: HolderRecord;
  /** True if the Lease names the holder of our last grant, and shows this grant or the first state seen after it. */
  readonly isOwnGrant: boolean;
  /** When this process became the coordinator; Infinity while it is not. Set only if a list showed the change. */
  readonly coordinatingSince: Instant | undefined;
  /** How late the watch may have shown the change, in ms. */
  readonly lateMs: number;
}

function withOtherFields(memory: LeaseMemory, { leaseTransitions, preferredHolder }: Lease): LeaseMemory {
  const { record } = memory;
  const isSame = record?.leaseTransitions === leaseTransitions && record.preferredHolder === preferredHolder;
  return record && !isSame ? { ...memory, record: { ...record, leaseTransitions, preferredHolder } } : memory;
}

/** Recognizes our grant in a Lease from the watch. The server's answer to the grant may come later, or never. */
function recognizeGrant(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { grantOnItsWay, supposedGrant, lostGrants } = memory;
  const isSeen = (grant: Grant | undefined): grant is Grant =>
    grant !== undefined && grant.holder === lease.holderIdentity && grant.renewTime === lease.renewTime;
  // Consider supposed and lost grants only if field ownership shows that the holder has not renewed the Lease.
  const others = lease.isUnrenewedGrant
    ? [supposedGrant?.grant, ...lostGrants.map(({ grant }) => grant)]
    : [];
  const grant = [grantOnItsWay, ...others].find(isSeen);
  if (!grant) return memory;
  return recordGrant(settleLostGrants(withoutGrant(memory, grant), at), grant, lease.resourceVersion, at);
}

/** If a later version of the Lease names the holder of our grant, assumes that this holder has renewed the Lease. */
function noticeRenewal(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { record, beliefs, usualDurationMs } = memory;
  const { holder, resourceVersion } = memory.unrenewedGrant ?? {};
  if (holder === undefined || holder !== lease.holderIdentity) return memory;
  if (resourceVersion === lease.resourceVersion) return memory;
  // This process may have missed a first renewal with a longer duration: assume at least the usual duration.
  const isUnsure = record?.holder === holder && !lease.isDurationHolders;
  const knownMs = Math.max(record?.durationMs ?? 0, beliefOf(beliefs, holder)?.durationMs ?? 0);
  const belief = beliefIn(lease, at, Math.max(usualDurationMs, knownMs), true);
  return {
    ...memory,
    unrenewedGrant: undefined,
    beliefs: isUnsure ? withBelief(beliefs, belief, at) : beliefs,
  };
}

/** Records a deletion. The holder may have renewed just before the deletion, so its duration counts from `at` (rule 8). */
function observeDeletion(memory: LeaseMemory, at: Instant, coordinatingSince?: Instant): LeaseMemory {
  const { record, unrenewedGrant } = memory;
  // If the server confirmed a grant to another holder, recordGrant() has already recorded that record.holder lost the Lease.
  const isReplaced = unrenewedGrant !== undefined && unrenewedGrant.holder !== record?.holder;
  const supposed = supposeGrants(memory, undefined, at);
  if (!record) return supposed;
  const lost = isReplaced ? supposed : withLoss(supposed, at, 'perhaps');
  const isPerhapsAnothers = mayBeAnothers(record, coordinatingSince);
  const known = isPerhapsAnothers ? withUnknown(lost, at, at, record.durationMs) : lost;
  return { ...withoutIgnoredWrites(known), record: undefined, unrenewedGrant: undefined };
}

/** Forgets ignored writes if there was a holder that may have removed our fields: this holder has lost the Lease. */
function withoutIgnoredWrites(memory: LeaseMemory): LeaseMemory {
  return memory.record?.holder === '' ? memory : { ...memory, ignoredWrites: NO_ATTEMPTS };
}

/** True if a list showed the change, and another coordinator may have granted the Lease since `record` was seen. */
function mayBeAnothers(record: HolderRecord, coordinatingSince?: Instant): boolean {
  return coordinatingSince !== undefined && record.since <= coordinatingSince;
}

/**
 * Adds the holder of an unseen Lease to the beliefs: the server's answer to a creation has shown that a Lease exists,
 * but the watch has not shown this Lease. Its holder may have renewed it until its deletion, or may renew it unseen
 * until the next list. The name of the holder is known only if the server confirmed our grant.
 */
export function observeUnseen(memory: LeaseMemory, now: Now): LeaseMemory {
  const { unrenewedGrant, beliefs } = memory;
  const { monotonic: at } = now;
  const unseenUntil = at + LONGEST_GAP_MS;
  const next = unrenewedGrant
    ? { ...memory, beliefs: withMore(beliefs, beliefBy(memory, unrenewedGrant, at, unseenUntil)) }
    : withUnknown(memory, at, unseenUntil);
  return { ...observeWatchEnd(next, now), unrenewedGrant: undefined };
}

/** Moves our last grant to the lost grants: its holder may renew unseen. Call this if no Lease or candidate is cached. */
export function observeAbandoned(memory: LeaseMemory, { monotonic: at }: Now): LeaseMemory {
  const { grantOnItsWay, unrenewedGrant } = memory;
  const answered = unrenewedGrant && {
    ...unrenewedGrant,
    ...{ former: undefined, hasFormerLapsed: false, revises: undefined },
  };
  const unseen = grantOnItsWay ?? answered;
  if (!unseen) return memory;
  return loseGrant({ ...memory, grantOnItsWay: unseen, unrenewedGrant: undefined }, at);
}

/** Records a Lease without a holder: the holder released it, another client emptied it, or it never had a holder. */
function observeEmptied(memory: LeaseMemory, change: SeenChange): LeaseMemory {
  const { lease, written, coordinatingSince } = change;
  const { record } = memory;
  const { since: at } = written;
  const supposed = withoutIgnoredWrites(supposeGrants(memory, undefined, at));
  const next = { ...supposed, record: written, unrenewedGrant: undefined };
  const isSameLease = record?.leaseUid === lease.uid;
  const isRenewed = !isSameLease || record.renewTime !== lease.renewTime;
  const isLikeRelease = isRenewed && hasReleaseDuration(lease);
  if (!record) return next;
  // A list does not show when the release was written. Assume the earliest possible time: when `record` was seen.
  const writtenAfter = coordinatingSince === undefined ? at - change.lateMs : record.since;
  // A grant by the built-in controller does not increase leaseTransitions, so a list may hide such a grant.
  const isPerhapsAnothers = mayBeAnothers(record, coordinatingSince);
  if (record.holder === '') {
    // Do not add an unknown holder if supposeGrants() has already added the holder of `unrenewedGrant`. If the Lease was
    // deleted and created again, observeNewcomer() has already decided whether to add an unknown holder.
    const isKnown = (memory.unrenewedGrant !== undefined && !isPerhapsAnothers) || !isSameLease;
    const isOwn = lease.isReleasedByParticipant || !isPerhapsAnothers;
    const isReleased = isLikeRelease && isOwn && writtenAfter >= matterUntil(allBeliefs(memory));
    return isKnown || !isRenewed || isReleased ? next : withUnknown(next, at, at, written.durationMs);
  }
  // A fence never releases the Lease. If a fenced Lease is released, a former holder has written this release.
  const isRelease = isLikeRelease && isSameLease && record.holder !== FENCE;
  // A changed leaseTransitions has one of two causes: this process missed a holder, or a former holder has written this
  // release, with the number of its own term.
  const grown = lease.leaseTransitions - record.leaseTransitions;
  // An exception: the first renewal of a participant may increase leaseTransitions by 1 (rule 15).
  const isFirstTerm = grown === 1 && memory.unrenewedGrant?.holder === record.holder;
  // If the last seen holder is not a participant, an unseen participant may have got the Lease and released it.
  const belief = beliefOf(memory.beliefs, record.holder);
  const isOthers = isPerhapsAnothers && belief?.isOwnDuration && !belief.isParticipant;
  const isBelieved = lease.isReleasedByParticipant
    ? // A participant empties only its own Lease, and only in the state that it last wrote (rule 15).
      (grown === 0 || isFirstTerm) && !isOthers
    : grown === 0 && !isPerhapsAnothers && !mayBeDisturbed(allBeliefs(memory), record.holder, writtenAfter);
  if (isRelease && isBelieved) {
    const isRefusal = memory.unrenewedGrant?.holder === record.holder;
    return {
      ...next,
      record: isRefusal ? { ...written, refusedBy: record.holder } : written,
      yieldedTo: record.preferredHolder,
      beliefs: withoutBelief(next.beliefs, record.holder),
      supposedGrant: next.supposedGrant?.grant.holder === record.holder ? undefined : next.supposedGrant,
      withdrawals: withWithdrawal(memory.withdrawals, record.holder, at),
    };
  }
  // If renewTime has changed, this process may have missed a renewal by the holder.
  const lost = withLoss({ ...next, record }, at, isRenewed ? 'perhaps' : 'no', written.durationMs);
  // If a participant has released the Lease, an increase of leaseTransitions by 2 is no sign of an unknown holder: the
  // grant to this participant and its first renewal may be the cause (rule 15). This participant cannot lead any more.
  const isUnknowns = grown > (lease.isReleasedByParticipant ? 2 : 0) || isPerhapsAnothers;
  if (!isSameLease || !isUnknowns) return { ...lost, record: written };
  const leastMs = Math.max(written.durationMs, record.durationMs);
  return { ...withUnknown(lost, at, at, leastMs), record: written };
}

function observeHeld(memory: LeaseMemory, change: SeenChange): LeaseMemory {
  const { lease, written, isOwnGrant } = change;
  const { unrenewedGrant, lapses, record: former } = memory;
  const { holder, since: at } = written;
  const isSameHolder = former?.holder === holder;
  const isSameLease = former?.leaseUid === lease.uid;
  const isAsGranted = unrenewedGrant?.holder === holder && unrenewedGrant.renewTime === lease.renewTime;
  // Equal times show that a client took or granted the Lease: a renewal changes renewTime, but not acquireTime.
  const isAcquired = lease.acquireTime === lease.renewTime;
  // A missing renewTime is no renewal: another client has removed it.
  const isRenewed = lease.renewTime !== undefined && former?.renewTime !== lease.renewTime;
  const isRenewal = isSameHolder && isSameLease && isRenewed && !isAcquired;
  const isTakenUp = (isRenewal || isOwnGrant) && !isAsGranted && !lease.isRenewedByCoordinator;
  let next = isTakenUp ? settleLostGrants(memory, at) : memory;
  if (!isAsGranted && !isTakenUp) {
    next = supposeGrants(memory, holder, at);
    if (!isSameHolder || !isSameLease)
      next = withLoss(next, at, lease.isUnrenewedGrant ? 'before' : 'perhaps', written.durationMs);
  }
  next = withUnseenHolder(next, lease, at, isOwnGrant);
  const belief = isAsGranted ? undefined : holderBelief(next, change, isTakenUp);
  const isKnown = belief?.isOwnDuration && holder !== FENCE;
  return {
    ...next,
    record: hasSharedNumber(former, written) ? { ...written, isNumberShared: true } : written,
    wasHeld: true,
    yieldedTo: undefined,
    beliefs: belief ? withBelief(next.beliefs, belief, at) : next.beliefs,
    usualDurationMs: isKnown ? Math.max(belief.durationMs, USUAL_DURATION_MS) : next.usualDurationMs,
    unrenewedGrant: isAsGranted ? unrenewedGrant : undefined,
    // Only a renewal by the holder itself proves that it has taken up the grant.
    lapses:
      isTakenUp && lapses.has(holder) ? new Map([...lapses].filter(([name]) => name !== holder)) : lapses,
    lapsesOfLease: isTakenUp ? NO_ATTEMPTS : memory.lapsesOfLease,
    written: isSameHolder ? memory.written : {},
    ignoredWrites: isSameHolder ? memory.ignoredWrites : NO_ATTEMPTS,
    rounds: isSameHolder ? memory.rounds : NO_ATTEMPTS,
    conflict: isSameHolder ? memory.conflict : undefined,
  };
}

/** True if another holder may have led with this leaseTransitions: the number did not grow when the holder changed. */
function hasSharedNumber(former: HolderRecord | undefined, record: HolderRecord): boolean {
  if (former?.leaseUid !== record.leaseUid || record.leaseTransitions > former.leaseTransitions) return false;
  return former.holder === record.holder ? former.isNumberShared === true : true;
}

/** Adds an unknown holder if leaseTransitions has grown more than expected: this process may have missed a holder. */
function withUnseenHolder(memory: LeaseMemory, lease: Lease, at: Instant, isOwnGrant: boolean): LeaseMemory {
  const { record } = memory;
  const leastMs = (lease.leaseDurationSeconds ?? 0) * 1000;
  const grown = record ? lease.leaseTransitions - record.leaseTransitions : 0;
  // A grant or a fence by a coordinator of this project may increase leaseTransitions by 1. The first renewal of a
  // participant may increase leaseTransitions by another 1 (rule 15).
  const isCoordinators = isOwnGrant || lease.isUnrenewedGrant || lease.holderIdentity === FENCE;
  if (grown <= Number(isCoordinators) + Number(lease.isRenewedByParticipant ?? false)) return memory;
  return withUnknown(memory, at, lease.isUnrenewedGrant ? 'before' : at, leastMs);
}

/** Returns the belief of a record's holder. Keeps the earlier belief if the holder has certainly not renewed. */
function holderBelief(memory: LeaseMemory, change: SeenChange, isTakenUp: boolean): Belief | undefined {
  const { lease, written, isOwnGrant, coordinatingSince } = change;
  const { holder, since: at, durationMs } = written;
  const { record: former } = memory;
  const own = beliefOf(memory.beliefs, holder);
  const known = beliefOf(allBeliefs(memory), holder);
  if (holder === FENCE) {
    const longestMs = Math.max(durationMs, known?.durationMs ?? 0);
    return { ...beliefIn(lease, at, longestMs, true), isParticipant: true };
  }
  const isEdited = former?.holder === holder && former.leaseUid === lease.uid && !isTakenUp;
  if (isEdited && own && former.renewTime === lease.renewTime) return own;
  if (lease.isUnrenewedGrant) return own;
  const isAcquired = lease.acquireTime === undefined || lease.acquireTime === lease.renewTime;
  const isRenewed = lease.isRenewedByParticipant === true || !(isAcquired || lease.isRenewedByCoordinator);
  const isOwnDuration = isTakenUp || isRenewed;
  // Another client may have reduced the duration after the holder's renewal, and before this process saw the Lease.
  const isPerhapsReduced = !lease.isDurationHolders;
  // A shorter duration counts only from the second record that has it. Until then, the longer duration counts.
  // A record of our own grant does not count as the first of the two, because the holder has not written it.
  const isSeenAgain = former?.holder === holder && former.durationMs === durationMs;
  const isRepeated = isTakenUp && isSeenAgain && !isOwnGrant && !isPerhapsReduced;
  const isListed = coordinatingSince !== undefined;
  const isUnknown = (isOwnGrant || isListed) && isPerhapsReduced && !known?.isOwnDuration;
  const unknownMs = isUnknown ? memory.usualDurationMs : 0;
  const knownMs = known === undefined ? 0 : isRepeated ? leadsUntil(known) - at : known.durationMs;
  return beliefIn(lease, at, Math.max(durationMs, unknownMs, knownMs), isOwnDuration);
}

function beliefIn(lease: Lease, renewedAt: Instant, durationMs: number, isOwnDuration: boolean): Belief {
  const isParticipant = lease.isRenewedByParticipant ?? false;
  const holder = lease.holderIdentity ?? UNKNOWN_HOLDER;
  return { holder, renewedAt, durationMs, isOwnDuration, isParticipant, lostAt: undefined };
}

function recordOf(
  lease: Lease,
  holder: string,
  since: Instant,
  settings: ElectionSettings,
  former: HolderRecord | undefined,
  isListed: boolean,
): HolderRecord {
  const { renewTime, leaseDurationSeconds, leaseTransitions, preferredHolder } = lease;
  const durationMs = (leaseDurationSeconds ?? settings.leaseDurationSeconds) * 1000;
  return {
    leaseUid: lease.uid,
    holder,
    renewTime,
    leaseDurationSeconds,
    leaseTransitions,
    preferredHolder,
    since,
    durationMs,
    ...(lease.isRenewedByCoordinator && { isGrant: true as const }),
    ...(settings.isCrashEvidenceUsed && termOf(lease, since, former, isListed)),
  };
}

/**
 * Returns the longest observed time between two renewals, and `acquiredAfter`: when this process saw the holder acquire
 * the Lease (rule 17) or, if a list showed the new holder, when this process saw the previous record.
 */
function termOf(
  lease: Lease,
  at: Instant,
  former: HolderRecord | undefined,
  isListed: boolean,
): Pick<HolderRecord, 'renewedEveryMs' | 'acquiredAfter'> {
  const isSameLease = former?.leaseUid === lease.uid;
  if (!isSameLease || former.holder !== lease.holderIdentity) {
    // A list does not show when the holder changed: the change may have come at any time after the last seen record.
    const listedAfter = isSameLease ? former.since : undefined;
    return { renewedEveryMs: undefined, acquiredAfter: isListed ? listedAfter : at };
  }
  // The time to take up a grant is not the time between two renewals.
  const isTakenUp =
    former.isGrant || (former.renewTime === lease.acquireTime && !lease.isAcquireTimeRenewers);
  const renewedEveryMs = isTakenUp ? undefined : Math.max(former.renewedEveryMs ?? 0, at - former.since);
  return { renewedEveryMs, acquiredAfter: former.acquiredAfter };
}

/** Detects that our preferredHolder or strategy was removed or changed, for example by a plain elector (rule 7). */
function noticeWipedFields(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { written, record } = memory;
  const isSameHolder = record !== undefined && record.holder !== '' && record.holder === lease.holderIdentity;
  const { preferredHolder = lease.preferredHolder, strategy = lease.strategy } = written;
  const isWiped = lease.preferredHolder !== preferredHolder || lease.strategy !== strategy;
  return isSameHolder && isWiped ? recordIgnoredWrite(memory, at) : memory;
}

/** Remembers when this process first saw that a note, not spec.preferredHolder, asks the holder to yield (rule 14). */
function noticeNote(memory: LeaseMemory, lease: Lease, since: Instant): LeaseMemory {
  const { noted, record } = memory;
  const { holderIdentity: holder = '', preferredHolder = '', isPreferredHolderNoted } = lease;
  if (!isPreferredHolderNoted) return noted ? { ...memory, noted: undefined } : memory;
  // If leaseTransitions has changed, the holder may have lost and regained the Lease unseen: set a new `since`.
  const isSameTerm = record?.leaseTransitions === lease.leaseTransitions;
  if (noted?.holder === holder && noted.preferredHolder === preferredHolder && isSameTerm) return memory;
  return { ...memory, noted: { holder, preferredHolder, since, renewTime: lease.renewTime } };
}
