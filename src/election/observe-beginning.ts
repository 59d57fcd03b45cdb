import type { ElectionInput } from './election-input.ts';
import { withUnknown } from './former-holders.ts';
import type { LeaseMemory } from './lease-memory.ts';
import type { Lease } from './model.ts';
import { LONGEST_GAP_MS } from './observe-lease.ts';
import type { Now } from './time.ts';

/** A holder that has renewed for so long has no predecessor that could still sleep, in milliseconds. */
const LONG_HELD_MS = 5 * 60_000;
/** Candidates that are younger than this when they are first listed may have had no election yet, in milliseconds. */
const JUST_CREATED_MS = 1000;
/** creationTimestamp has whole seconds. */
const CREATION_PRECISION_MS = 1000;

/** From when this process knows what becomes of a Lease: it has listed all for the first time, or has become the coordinator. */
export type Beginning = 'firstList' | 'takeOver';

/**
 * Returns the memory at such a beginning, which cannot know what was a moment before. A Lease without a holder may have had one,
 * which still leads; the holder before the one that is there may sleep, and empty what it finds (rule 8). A coordinator that takes
 * over has watched, but what it watches may lag behind the one before it: a Lease that it creates must not have been deleted.
 */
export function observeBeginning(
  { lease, memory, candidates, settings }: ElectionInput,
  { monotonic: at }: Now,
  beginning: Beginning,
): LeaseMemory {
  const oldestNewAt = at - Math.max(settings.settleMs ?? 0, JUST_CREATED_MS) - CREATION_PRECISION_MS;
  // A coordinator that may have missed something cannot know what the one before it has done with new ones.
  const hadCandidates =
    beginning === 'takeOver'
      ? candidates.length > 0
      : candidates.some(({ observation }) => observation.appearedAt < oldestNewAt);
  if (!hadCandidates || (lease && beginning === 'takeOver')) return memory;
  const durationMs = settings.leaseDurationSeconds * 1000;
  if (lease?.holderIdentity) {
    if (isLongHeld(lease)) return memory;
    // A candidate was granted the Lease when its former holder's time was over; a fence or a stranger has taken it.
    const isCandidate = candidates.some(({ candidate }) => candidate.name === lease.holderIdentity);
    const isGranted = isCandidate && lease.isAcquireTimeHolders;
    return withUnknown(memory, at, isGranted ? 'before' : at, durationMs);
  }
  // A participant releases no Lease but its own; one without renewTime was made for others to grant (rule 4).
  const isKnownFree = lease && (lease.isReleasedByParticipant || lease.renewTime === undefined);
  // What the coordinator before it has created may go on unseen, until a list shows what there is.
  const unseenUntil = beginning === 'takeOver' ? at + LONGEST_GAP_MS : at;
  return isKnownFree ? memory : withUnknown(memory, at, unseenUntil, durationMs);
}

/** A thief's renewals keep the acquireTime of the holder before it. */
function isLongHeld({ acquireTime, renewTime, isAcquireTimeHolders }: Lease): boolean {
  if (!isAcquireTimeHolders || acquireTime === undefined || renewTime === undefined) return false;
  return Number(renewTime - acquireTime) / 1000 >= LONG_HELD_MS;
}
