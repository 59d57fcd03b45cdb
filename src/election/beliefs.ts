import { FENCE, type Instant } from './model.ts';

/**
 * What a holder may believe about the Lease (rule 8). For one lease duration after its last renewal, a holder may
 * believe that it leads, even if the Lease has changed or is gone. Until {@link disturbsUntil}, a client-go elector
 * that has not noticed the loss of its Lease may release the Lease, although another holder has it by then.
 */
export interface Belief {
  /** {@link UNKNOWN_HOLDER} for holders of unknown name: this process did not see them hold the Lease. */
  readonly holder: string;
  /** The latest moment at which the holder may have renewed the Lease. In the future if the holder may still renew unseen. */
  readonly renewedAt: Instant;
  readonly durationMs: number;
  /** False if `durationMs` may be from a grant. The holder's own duration may then be longer. */
  readonly isOwnDuration: boolean;
  /** True for a known participant and for the fence: they never empty the Lease of another holder (rule 15). */
  readonly isParticipant: boolean;
  /** When the holder lost the Lease; undefined if it has not lost the Lease since its last renewal. */
  readonly lostAt: Instant | undefined;
}

/** At most one belief per holder. An array, because it needs less memory than a Map. */
export type Beliefs = readonly Belief[];

export const UNKNOWN_HOLDER = '';

/** Minimum assumed duration of a holder whose own duration is unknown, in ms: the default of Kubernetes' components. */
export const USUAL_DURATION_MS = 15_000;

/** The reservation of a vacant Lease for a former holder, which may still believe that it leads (rule 8). */
export interface Reservation {
  /** The former holder whose belief ends last; undefined if its name is not known, or while a fence holds the Lease. */
  readonly holder: string | undefined;
  /** When the former holder lost the Lease; if it did not, its last possible renewal. For a fence: when it was first seen. */
  readonly from: Instant;
  readonly until: Instant;
  /** After this time, only `holder` may believe that it leads. */
  readonly othersUntil: Instant;
}

/** How long a belief is kept after {@link disturbsUntil}, in ms: a list may show the holder's release late. */
const KEPT_MS = 5 * 60_000;

/** Maximum number of remembered holders per Lease. A client may write thousands of names into a Lease. */
const MAX_HOLDERS = 100;

export function leadsUntil({ renewedAt, durationMs }: Belief): Instant {
  return renewedAt + durationMs;
}

/** Returns the time after which the holder can no longer release another holder's Lease by mistake (rule 8). */
export function disturbsUntil(belief: Belief): Instant {
  const { lostAt = Number.NEGATIVE_INFINITY, durationMs, isOwnDuration, isParticipant } = belief;
  const until = leadsUntil(belief);
  const deadlineMs = isOwnDuration ? durationMs : Math.max(durationMs, USUAL_DURATION_MS);
  return isParticipant ? until : Math.max(until, lostAt) + deadlineMs;
}

export function beliefOf(beliefs: Beliefs, holder: string): Belief | undefined {
  return beliefs.find((belief) => belief.holder === holder);
}

/** Adds or replaces one belief. Drops old beliefs of holders that have lost the Lease. Keeps at most MAX_HOLDERS. */
export function withBelief(beliefs: Beliefs, belief: Belief, at: Instant): Beliefs {
  const others = withoutBelief(beliefs, belief.holder);
  const kept = others.filter((other) => other.lostAt === undefined || at < disturbsUntil(other) + KEPT_MS);
  if (kept.length >= MAX_HOLDERS) kept.sort((a, b) => leadsUntil(b) - leadsUntil(a));
  // An array literal with one entry needs a fifth of the memory of an array that has grown.
  return kept.length === 0 ? [belief] : [...kept.slice(0, MAX_HOLDERS - 1), belief];
}

/** Returns the beliefs with `belief` added. If its holder already has a belief, keeps the one that ends later. */
export function withMore(beliefs: Beliefs, belief: Belief): Beliefs {
  const known = beliefOf(beliefs, belief.holder);
  const isLonger = !known || leadsUntil(belief) > leadsUntil(known);
  // Keep the known lostAt: with a later lostAt, the holder's answers to earlier pings would not count (rule 8).
  const longer = isLonger ? { ...belief, lostAt: known?.lostAt ?? belief.lostAt } : known;
  return [...withoutBelief(beliefs, belief.holder), longer];
}

export function withLost(beliefs: Beliefs, holder: string, at: Instant): Beliefs {
  const belief = beliefOf(beliefs, holder);
  return belief ? withBelief(beliefs, { ...belief, lostAt: at }, at) : beliefs;
}

export function withoutBelief(beliefs: Beliefs, holder: string): Beliefs {
  return beliefOf(beliefs, holder) ? beliefs.filter((belief) => belief.holder !== holder) : beliefs;
}

/** Returns the reservation for the holder whose belief ends last; undefined if all beliefs have ended at `at`. */
export function reservationFor(beliefs: Beliefs, at: Instant): Reservation | undefined {
  let last: Belief | undefined;
  let othersUntil = Number.NEGATIVE_INFINITY;
  for (const belief of beliefs) {
    const until = leadsUntil(belief);
    if (until <= at) continue;
    const isLonger = !last || until > leadsUntil(last);
    const other = isLonger ? last : belief;
    if (other) othersUntil = Math.max(othersUntil, leadsUntil(other));
    if (isLonger) last = belief;
  }
  if (!last) return undefined;
  const holder = last.holder === UNKNOWN_HOLDER ? undefined : last.holder;
  return { holder, from: last.lostAt ?? last.renewedAt, until: leadsUntil(last), othersUntil };
}

/** Returns the known holder that last lost the Lease without releasing it; undefined if none. Ignores the fence. */
export function lastLoser(beliefs: Beliefs): string | undefined {
  let last: string | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const { holder, lostAt } of beliefs) {
    if (lostAt === undefined || lostAt < lastAt || holder === UNKNOWN_HOLDER || holder === FENCE) continue;
    [last, lastAt] = [holder, lostAt];
  }
  return last;
}

/** True if a former holder that has not noticed the loss of its Lease may release the Lease of `holder`. */
export function mayBeDisturbed(beliefs: Beliefs, holder: string, at: Instant): boolean {
  const others = withoutBelief(beliefs, holder);
  return others.some((other) => !other.isParticipant && at < disturbsUntil(other));
}

/** Returns the time after which no holder in `beliefs` can lead or disturb another; -Infinity without beliefs. */
export function matterUntil(beliefs: Beliefs): Instant {
  return Math.max(...beliefs.map(disturbsUntil));
}
