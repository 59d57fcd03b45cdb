import { backoffDelayMs } from '../support/backoff.ts';
import { ackDueAt, liveUntil } from './candidate-observation.ts';
import type { Action, Reason } from './decision.ts';
import type { Instant } from './model.ts';
import { lapsedUntil, possibleCandidates, type Standing, type View, withdrawnUntil } from './view.ts';

/** The result of one policy. `decideElection()` adds the parts of a Decision that all policies share. */
export interface Verdict {
  readonly reason: Reason;
  readonly actions?: readonly Action[];
  /** Times at which the verdict may change without an event. */
  readonly recheckAt?: readonly (Instant | undefined)[];
  /** When the holder counts as late, unless it renews before this time. */
  readonly lateAt?: Instant;
  readonly isRound?: boolean;
  readonly isAsking?: boolean;
  readonly conflict?: string;
}

/** True while the last ping to the candidate has no answer, and the deadline for the answer has not passed. */
export function isPingPending(view: View, { observation: { ping } }: Standing): boolean {
  return ping !== undefined && ping.ackedAt === undefined && view.at < ackDueAt(ping, view.input.settings);
}

/** Returns the earliest deadline for the answer to a pending ping; Infinity if no ping is pending. */
export function ackDeadline(view: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const standing of view.standings) {
    const { ping } = standing.observation;
    if (ping && isPingPending(view, standing)) first = Math.min(first, ackDueAt(ping, view.input.settings));
  }
  return first;
}

/** Returns when the next candidate stops counting as alive; Infinity if none is alive. Ignores a holder that may lead. */
export function livenessExpiry({ standings, tenure, input: { memory, settings } }: View): Instant {
  const mayHolderLead = tenure.kind === 'held' && !tenure.isProvisional;
  let first = Number.POSITIVE_INFINITY;
  for (const { isAlive, isHolder, observation } of standings) {
    if (isAlive && !(isHolder && mayHolderLead))
      first = Math.min(first, liveUntil(observation, memory.decidedAt, settings));
  }
  return first;
}

/** Returns when the next candidate leaves the state `Withdrawn` or `Lapsed`; Infinity if none is in these states. */
export function reinstatementTime({ standings, input, at }: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { state, candidate } of standings) {
    if (state === 'Withdrawn') first = Math.min(first, withdrawnUntil(input, candidate.name));
    else if (state === 'Lapsed') first = Math.min(first, lapsedUntil(input, candidate.name, at) ?? first);
  }
  return first;
}

/** Returns the next times at which a candidate may become silent, or take part again, without an event; Infinity for none. */
export function candidateChanges(view: View): readonly Instant[] {
  return [ackDeadline(view), livenessExpiry(view), reinstatementTime(view)];
}

/** Returns when the next priority ends (rule 16), converted from the wall clock; Infinity if no priority ends. */
export function priorityEnd({ standings, now, at }: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { candidate } of standings) {
    const { end } = candidate.priority;
    if (end) first = Math.min(first, at + Number(end.at - now.wall) / 1000);
  }
  return first;
}

/** Returns the last reported conflict if {@link conflictParties} still returns the same value; undefined otherwise. */
export function knownConflict(view: View): string | undefined {
  const { conflict } = view.input.memory;
  return conflict !== undefined && conflict === conflictParties(view) ? conflict : undefined;
}

/**
 * Identifies all candidates that may take part in the election, their binaryVersions and their strategies, by sums of
 * hashes. Sums do not depend on the order of the candidates, and sorting thousands of candidates would be too slow.
 */
export function conflictParties(view: View): string {
  const candidates = possibleCandidates(view);
  let [sum, otherSum] = [0, 0];
  for (const { uid, binaryVersion, preference } of candidates) {
    let hash = hashOf(uid, hashOf(binaryVersion ?? '', START));
    if (preference.kind === 'strategy') hash = hashOf(preference.strategy, hash);
    else for (const strategy of preference.strategies) hash = hashOf(strategy, ~hash);
    sum = (sum + hash) | 0;
    otherSum = (otherSum + Math.imul(hash ^ (hash >>> 15), OTHER_PRIME)) | 0;
  }
  return `${candidates.length} ${sum} ${otherSum}`;
}

// Start and prime of the hash FNV-1a, and a multiplier for the second sum.
const START = 0x811c9dc5;
const PRIME = 0x01000193;
const OTHER_PRIME = 0x85ebca6b;

/** Continues the hash `from`. "ab" followed by "c" has another hash than "a" followed by "bc". */
function hashOf(text: string, from: number): number {
  let hash = from ^ text.length;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}

const BACKOFF = { initialMs: 30_000, maxMs: 10 * 60_000 };

/** Backs off if the server, the holder or another client has removed or changed fields that we wrote (rule 7). */
export function decideIgnoredWrites(view: View): Verdict | undefined {
  const { count, lastAt } = view.input.memory.ignoredWrites;
  const retryAt = lastAt + backoffDelayMs(count, BACKOFF);
  return view.at < retryAt ? { reason: 'WritesIgnored', recheckAt: [retryAt] } : undefined;
}
