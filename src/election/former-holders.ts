import { type Belief, beliefOf, disturbsUntil, matterUntil, UNKNOWN_HOLDER, withBelief } from './beliefs.ts';
import { FENCE } from './group.ts';
import type { LeaseMemory } from './lease-memory.ts';
import type { Lease } from './model.ts';
import type { Instant } from './time.ts';

// What those may believe who had the Lease before, as far as it is not known from their renewals (rule 8).

/**
 * The memory with a former holder that was never seen, and has renewed at `renewedAt` for the last time; `before`: its time is over. Its
 * elector is of the same program as those that were seen: it renews for as long as the longest of them, for `leastMs`, and for client-go's default.
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
  if (former && disturbsUntil(former) >= disturbsUntil(belief)) return memory;
  return { ...memory, beliefs: withBelief(memory.beliefs, belief, at) };
}

/**
 * The memory once the holder of its record has lost the Lease otherwise than by releasing it. `hasRenewed` since it was last seen:
 * `perhaps`, no watch could tell, and then for what stands in the Lease by now, `leastMs`; `no`; `before`: a coordinator has seen
 * all its time pass since.
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
  if (holder === FENCE) {
    const fence = {
      holder,
      renewedAt: since,
      durationMs: seenMs,
      isOwnDuration,
      isParticipant: true,
      lostAt: at,
    };
    return { ...memory, beliefs: withBelief(beliefs, fence, at) };
  }
  // A holder that was only seen to be granted the Lease renews it for a duration of its own.
  const unseenMs = isOwnDuration ? leastMs : Math.max(leastMs, usualDurationMs);
  const durationMs = hasRenewed === 'no' ? seenMs : Math.max(seenMs, unseenMs);
  const overSince = at - durationMs;
  const renewedAt = {
    perhaps: at,
    before: Math.max(known?.renewedAt ?? overSince, overSince),
    no: known?.renewedAt ?? since,
  }[hasRenewed];
  const belief: Belief = { holder, renewedAt, durationMs, isOwnDuration, isParticipant, lostAt: at };
  return { ...memory, beliefs: withBelief(beliefs, belief, at) };
}

/**
 * The memory before a list shows a Lease that was missing, and that is not as a coordinator has just made it: it may have had another
 * holder before, unseen, which renewed it until now.
 */
export function observeNewcomer(memory: LeaseMemory, lease: Lease, at: Instant): LeaseMemory {
  const { unrenewedGrant, grantOnItsWay } = memory;
  const isOurs = unrenewedGrant !== undefined || grantOnItsWay?.holder === lease.holderIdentity;
  if (isOurs || lease.isUnrenewedGrant || lease.renewTime === undefined) return memory;
  const isReleased = !lease.holderIdentity && lease.leaseDurationSeconds === 1;
  return isReleased && at >= matterUntil(memory.beliefs) ? memory : withUnknown(memory, at, at);
}
