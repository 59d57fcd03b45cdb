import { withLost } from './beliefs.ts';
import { type Attempts, type Grant, type LeaseMemory, NO_ATTEMPTS } from './lease-memory.ts';
import type { Instant } from './time.ts';

/** A preferredHolder that loses the Lease this soon has not been worth the eviction: a crash loop, most likely. */
const PREEMPTION_PROBATION_MS = 60_000;

const TAKE_UP_MS = 5000;

/**
 * How long a coordinated elector that runs may take to take a grant up, in milliseconds: client-go's looks every 2.0 to 4.4 s
 * (rule 12). Where grants last longer than usual, as electors look more rarely, half of their time.
 */
export function takeUpMs(leaseDurationSeconds: number): number {
  return Math.max(TAKE_UP_MS, leaseDurationSeconds * 500);
}

/** Failures further apart than this have nothing to do with each other. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** After the server's answer, or a holder's renewal, lacked what we wrote. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/**
 * After the server has answered at `at` that a grant, sent at `sentAt`, is written, as `resourceVersion`; the watch may have
 * shown it before.
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
  // What the watch showed first was not the grant itself any more, alike as it looked.
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
