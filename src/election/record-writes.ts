import { type Attempts, type Grant, type LeaseMemory, NO_ATTEMPTS } from './lease-memory.ts';
import type { Instant } from './time.ts';

/** A preferredHolder that loses the Lease this soon has not been worth the eviction: a crash loop, most likely. */
const PREEMPTION_PROBATION_MS = 60_000;

/** Failures further apart than this have nothing to do with each other. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** After the server's answer, or a holder's renewal, lacked what we wrote. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/** After the server has answered that a grant is written, as `resourceVersion`; the watch may have shown it before. */
export function recordGrantAnswered(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
): LeaseMemory {
  if (memory.grantOnItsWay === grant) return recordGrant(memory, grant, resourceVersion, at);
  const { unrenewedGrant } = memory;
  // What the watch showed first was not the grant itself any more, alike as it looked.
  const isRenewed = unrenewedGrant?.resourceVersion !== resourceVersion;
  return { ...memory, decidedAt: at, unrenewedGrant: isRenewed ? undefined : unrenewedGrant };
}

/** After the Lease was granted at `at`, by a write that gave it `resourceVersion`. */
export function recordGrant(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
): LeaseMemory {
  const { former, holder, revises, hasFormerLapsed } = grant;
  // A winner that is soon overtaken by a better one has not failed: upgrades come in quick succession.
  const isEarlyLoss =
    !grant.isPreemption &&
    revises !== 'holderWorse' &&
    former !== holder &&
    at < memory.preemptedAt + PREEMPTION_PROBATION_MS;
  // Given to the same holder again, the Lease is still to be given away.
  const loser = memory.leader?.holder === holder ? undefined : memory.leader;
  const { count, since } = memory.grantSeries;
  return {
    ...memory,
    grantOnItsWay: undefined,
    reservation: memory.reservation?.holder === holder ? memory.reservation : undefined,
    unrenewedGrant: { holder, renewTime: grant.renewTime, resourceVersion },
    grantSeries: revises ? { count: count + 1, since } : { count: 1, since: at },
    leader: loser ? undefined : memory.leader,
    releaseDoubtedUntil: loser
      ? Math.max(memory.releaseDoubtedUntil, at + loser.beliefMs)
      : memory.releaseDoubtedUntil,
    lapses: former !== undefined && hasFormerLapsed ? withLapse(memory.lapses, former, at) : memory.lapses,
    written: {},
    ignoredWrites: NO_ATTEMPTS,
    preemptedAt: grant.isPreemption ? at : isEarlyLoss ? Number.NEGATIVE_INFINITY : memory.preemptedAt,
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

/** Those of long ago are forgotten: a program in a crash loop comes back under a new name each time. */
function withLapse(lapses: LeaseMemory['lapses'], holder: string, at: Instant): LeaseMemory['lapses'] {
  const recent = [...lapses].filter(([, { lastAt }]) => at - lastAt <= ATTEMPTS_DECAY_MS);
  return new Map(recent).set(holder, again(lapses.get(holder) ?? NO_ATTEMPTS, at));
}
