import { type Belief, beliefOf, leadsUntil, UNKNOWN_HOLDER, withBelief, withMore } from './beliefs.ts';
import type { Grant, LeaseMemory, SupposedGrant } from './lease-memory.ts';
import { FENCE, type Instant, type Lease, type Now } from './model.ts';
import type { ElectionInput } from './view.ts';

// The beliefs of former holders whose renewals this process may not have seen (rule 8).

/** Assumed maximum time without an open watch, in ms. In this time, a Lease may be created and deleted unseen. */
export const LONGEST_GAP_MS = 10_000;

/**
 * Returns the memory with an unknown former holder that last renewed at `renewedAt`. If `renewedAt` is `before`, this
 * holder can no longer lead at `at`. Its assumed duration is the longest of `leastMs`, the usual duration and the
 * durations in `memory.beliefs`.
 */
export function withUnknown(
  memory: LeaseMemory,
  at: Instant,
  renewedAt: Instant | 'before',
  leastMs = 0,
): LeaseMemory {
  const known = memory.beliefs.map((other) => other.durationMs);
  const durationMs = Math.max(memory.usualDurationMs, leastMs, ...known);
  const belief: Belief = {
    holder: UNKNOWN_HOLDER,
    renewedAt: renewedAt === 'before' ? at - durationMs : renewedAt,
    ...{ durationMs, isOwnDuration: true, isParticipant: false, lostAt: at },
  };
  const former = beliefOf(memory.beliefs, UNKNOWN_HOLDER);
  // One belief stands for all unseen holders. The new belief must not end before the former one.
  const aheadMs = former ? Math.max(0, leadsUntil(former) - leadsUntil(belief)) : 0;
  const widest = { ...belief, renewedAt: belief.renewedAt + aheadMs };
  return { ...memory, beliefs: withBelief(memory.beliefs, widest, at) };
}

/**
 * Returns the memory after the holder of its record has lost the Lease without releasing it. `leastMs`: assume
 * that an unseen renewal wrote at least this Lease duration. `hasRenewed` (for a fence always `no`):
 * - `perhaps`: the holder may have renewed unseen as late as `at`.
 * - `before`: the holder may have renewed unseen, but a coordinator has waited until that renewal expired.
 * - `no`: the holder has not renewed since this process last saw a renewal.
 */
export function withLoss(
  memory: LeaseMemory,
  at: Instant,
  hasRenewed: 'perhaps' | 'before' | 'no',
  leastMs = 0,
): LeaseMemory {
  const { record, beliefs, usualDurationMs } = memory;
  if (!record || record.holder === '') return memory;
  const { holder, since } = record;
  const known = beliefOf(beliefs, holder);
  const { isOwnDuration = false, isParticipant = false } = known ?? {};
  const seenMs = Math.max(record.durationMs, known?.durationMs ?? 0);
  // If this process saw only the grant, the holder may have renewed with a duration that this process does not know.
  const unseenMs = isOwnDuration ? leastMs : Math.max(leastMs, usualDurationMs);
  // A fence never renews.
  const renewed = holder === FENCE ? 'no' : hasRenewed;
  const durationMs = renewed === 'no' ? seenMs : Math.max(seenMs, unseenMs);
  const overSince = at - durationMs;
  const renewedAt = {
    perhaps: at,
    before: Math.max(known?.renewedAt ?? overSince, overSince),
    no: known?.renewedAt ?? since,
  }[renewed];
  const belief: Belief = { holder, renewedAt, durationMs, isOwnDuration, isParticipant, lostAt: at };
  return { ...memory, beliefs: withBelief(beliefs, belief, at) };
}

/** True if the duration is 1 s, as in a release, and one of our coordinators or the writer of renewTime wrote it (rule 8). */
export function hasReleaseDuration({ leaseDurationSeconds, isDurationHolders }: Lease): boolean {
  return leaseDurationSeconds === 1 && isDurationHolders === true;
}

/**
 * Assumes an unknown holder for a Lease that this process did not know (rule 8). Exceptions: a Lease that a coordinator
 * of this project has just granted, a Lease without renewTime, and a Lease that a participant has released.
 */
export function observeNewcomer(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { unrenewedGrant, grantOnItsWay } = memory;
  const isOurs = grantOnItsWay !== undefined && grantOnItsWay.holder === lease.holderIdentity;
  if (unrenewedGrant || isOurs || lease.isUnrenewedGrant || lease.renewTime === undefined) return memory;
  if (lease.isReleasedByParticipant) return memory;
  return withUnknown(memory, at, at, (lease.leaseDurationSeconds ?? 0) * 1000);
}

// Grants of this process whose results are unknown: their holders may have taken them up (rule 8).

/** Returns the memory without `grant`: the server did not write it, or its holder has not taken it up. */
export function withoutGrant(memory: LeaseMemory, grant: Grant): LeaseMemory {
  const { grantOnItsWay, supposedGrant, lostGrants } = memory;
  return {
    ...memory,
    grantOnItsWay: grantOnItsWay === grant ? undefined : grantOnItsWay,
    supposedGrant: supposedGrant?.grant === grant ? undefined : supposedGrant,
    lostGrants: lostGrants.filter((lost) => lost.grant !== grant),
  };
}

/**
 * For each of our grants that the Lease does not show, assumes that its holder took it up and renewed until `at`.
 * `holder`: the holder in the Lease, if any. observeLease() ensures that `holder` is not the holder of `unrenewedGrant`.
 */
export function supposeGrants(memory: LeaseMemory, holder: string | undefined, at: Instant): LeaseMemory {
  const { unrenewedGrant, grantOnItsWay, lostGrants, record } = memory;
  const isUnseen = unrenewedGrant !== undefined && unrenewedGrant.holder !== record?.holder;
  const isSupposed = grantOnItsWay !== undefined && grantOnItsWay.holder !== holder;
  if (!isUnseen && !isSupposed && lostGrants.length === 0) return memory;
  const next = withLostGrants(memory, at);
  return {
    ...next,
    ...(isUnseen && {
      beliefs: withMore(next.beliefs, beliefBy(memory, unrenewedGrant, at)),
      unrenewedGrant: undefined,
    }),
    // Keep the belief of this grant apart: if the server refuses the grant, the memory drops this belief.
    ...(isSupposed && { grantOnItsWay: undefined, supposedGrant: supposed(memory, grantOnItsWay, at) }),
  };
}

/**
 * Extends the beliefs of lost grants after a watch of Leases has ended. The request of a lost grant may reach the server
 * late. Until the next watch or list, it may create the Lease, and the Lease may be renewed and deleted unseen.
 */
export function observeWatchEnd(memory: LeaseMemory, { monotonic: at }: Now): LeaseMemory {
  const { record, lostGrants } = memory;
  if (record || lostGrants.length === 0) return memory;
  const unseenUntil = at + LONGEST_GAP_MS;
  return { ...memory, lostGrants: lostGrants.map(({ grant }) => supposed(memory, grant, at, unseenUntil)) };
}

/** Moves `grantOnItsWay` to the lost grants. If the server wrote it, its holder may renew unseen for `gapMs`. */
export function loseGrant(memory: LeaseMemory, at: Instant, gapMs = LONGEST_GAP_MS): LeaseMemory {
  const { grantOnItsWay, lostGrants } = memory;
  if (!grantOnItsWay) return memory;
  return {
    ...memory,
    grantOnItsWay: undefined,
    lostGrants: [...lostGrants, supposed(memory, grantOnItsWay, at, at + gapMs)],
  };
}

/** Stops waiting for the answer to the previous grant, because the coordinator sends another grant now. */
export function withoutAnswer(memory: LeaseMemory, at: Instant): LeaseMemory {
  const { beliefs, supposedGrant } = memory;
  const next = loseGrant(memory, at, 0);
  // Copy each grant: the copy stands for all lost grants to its holder, so a late refusal of one must not remove it.
  const lost = new Map(next.lostGrants.map((one) => [one.grant.holder, { ...one, grant: { ...one.grant } }]));
  return {
    ...next,
    // Keep only the last grant to each holder. The others matter only if the server still refuses one, which is rare.
    lostGrants: [...lost.values()],
    supposedGrant: undefined,
    beliefs: supposedGrant ? withMore(beliefs, supposedGrant.belief) : beliefs,
  };
}

/**
 * Returns the memory after the server wrote a grant or a renewal. If the Lease was known before, the lost grants were
 * not written: each of them would have changed the resourceVersion, and this write would have failed. If the Lease was
 * not known, a lost grant may have created an earlier Lease, whose holder may still lead.
 */
export function settleLostGrants(memory: LeaseMemory, at: Instant): LeaseMemory {
  const { record, lostGrants } = memory;
  if (lostGrants.length === 0) return memory;
  return record ? { ...memory, lostGrants: [] } : withLostGrants(memory, at);
}

/** Returns the memory with a belief for each lost grant, as if its holder had taken it up and renewed until `at`. */
function withLostGrants(memory: LeaseMemory, at: Instant): LeaseMemory {
  let { beliefs } = memory;
  for (const { grant } of memory.lostGrants) beliefs = withMore(beliefs, beliefBy(memory, grant, at));
  return { ...memory, beliefs, lostGrants: [] };
}

function supposed(memory: LeaseMemory, grant: Grant, at: Instant, renewedAt = at): SupposedGrant {
  return { grant, belief: beliefBy(memory, grant, at, renewedAt) };
}

/** Returns what the holder of a grant believes if it took up the grant and last renewed at `renewedAt`. */
export function beliefBy(
  { beliefs, lostGrants, usualDurationMs }: LeaseMemory,
  { holder, leaseDurationSeconds, isReturn }: Pick<Grant, 'holder' | 'leaseDurationSeconds' | 'isReturn'>,
  at: Instant,
  renewedAt = at,
): Belief {
  const known = beliefOf(beliefs, holder) ?? lostGrants.find((lost) => lost.grant.holder === holder)?.belief;
  // A grant that returns the Lease to a former holder lasts at least as long as this holder may still lead (rule 8).
  // Ignore this duration, because the holder renews with its own duration.
  const grantedMs = isReturn ? 0 : leaseDurationSeconds * 1000;
  const durationMs = Math.max(grantedMs, usualDurationMs, known?.durationMs ?? 0);
  // Keep the known lostAt: with a later lostAt, the holder's answers to earlier pings would not count (rule 8).
  const lostAt = known?.lostAt ?? at;
  return { holder, renewedAt, durationMs, isOwnDuration: false, isParticipant: false, lostAt };
}

/** If a holder has held the Lease for this time, in ms, we assume that no former holder can lead or release it. */
const LONG_HELD_MS = 5 * 60_000;
/** With `firstEver`, candidates up to this age, or settleMs if longer, are too young to have had an election (rule 8). */
const JUST_CREATED_MS = 1000;
/** Precision of creationTimestamp, in ms: whole seconds. */
const CREATION_PRECISION_MS = 1000;

/**
 * The moment from which this process sees every change. `firstList`: the first list, and a coordinator may have run
 * before. `firstEver`: the first list, and it contains no coordinator's lock: assume that no coordinator ran before.
 * `takeOver`: this process became the coordinator, but its watch may have missed Leases.
 */
export type Beginning = 'firstList' | 'firstEver' | 'takeOver';

/**
 * Returns the memory at a beginning, when earlier changes are unknown (rule 8). If the Lease has no holder, its last
 * holder may still lead. If the Lease has a holder, a former holder may still release it by mistake. At a take-over,
 * only a missing Lease matters: the watch may have missed its creation and its deletion.
 */
export function observeBeginning(input: ElectionInput, now: Now, beginning: Beginning): LeaseMemory {
  const { lease, memory, candidates, settings } = input;
  const { monotonic: at } = now;
  const hadElection = beginning === 'firstEver' ? hasOldCandidate(input, at) : candidates.length > 0;
  if (!hadElection || (lease && beginning === 'takeOver')) return memory;
  const durationMs = Math.max(settings.leaseDurationSeconds, lease?.leaseDurationSeconds ?? 0) * 1000;
  if (lease?.holderIdentity) {
    if (isLongHeld(lease, now)) return memory;
    // A coordinator of this project waits until no other holder can lead, grants only to a candidate, and writes both
    // holderIdentity and acquireTime. Another client may take the Lease while the former holder still leads.
    const isCandidate = candidates.some(({ candidate }) => candidate.name === lease.holderIdentity);
    const isGranted = isCandidate && lease.isAcquireTimeHolders;
    return withUnknown(memory, at, isGranted ? 'before' : at, durationMs);
  }
  // A participant releases only its own Lease. A Lease without renewTime never had a holder (rule 4).
  const isKnownFree = lease && (lease.isReleasedByParticipant || lease.renewTime === undefined);
  // The former coordinator may have created the Lease unseen. Until the next list, its holder may renew it unseen.
  const unseenUntil = beginning === 'takeOver' ? at + LONGEST_GAP_MS : at;
  return isKnownFree ? memory : withUnknown(memory, at, unseenUntil, durationMs);
}

/** True if acquireTime is LONG_HELD_MS or more before both renewTime and our wall clock: the holder's clock may be ahead. */
function isLongHeld({ acquireTime, renewTime, isAcquireTimeHolders }: Lease, { wall }: Now): boolean {
  if (!isAcquireTimeHolders || acquireTime === undefined || renewTime === undefined) return false;
  const heldUntil = renewTime < wall ? renewTime : wall;
  return Number(heldUntil - acquireTime) / 1000 >= LONG_HELD_MS;
}

function hasOldCandidate({ candidates, settings }: ElectionInput, at: Instant): boolean {
  const oldestNewAt = at - Math.max(settings.settleMs ?? 0, JUST_CREATED_MS) - CREATION_PRECISION_MS;
  return candidates.some(({ observation }) => observation.appearedAt < oldestNewAt);
}
