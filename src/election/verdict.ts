import { ackDueAt, liveUntil } from './candidate-observation.ts';
import type { Action, Reason } from './decision.ts';
import { backoffMs, earliest, type Instant, type LeaseCandidate } from './model.ts';
import { lapsedUntil, possibleCandidates, type Standing, type View } from './view.ts';

/** What a policy decides; the rest of a Decision is the same for all of them. */
export interface Verdict {
  readonly reason: Reason;
  readonly actions?: readonly Action[];
  /** Moments at which the verdict may change by itself. */
  readonly recheckAt?: readonly (Instant | undefined)[];
  /** When the holder is late, if it does not renew until then. */
  readonly lateAt?: Instant;
  readonly isRound?: boolean;
  readonly isAsking?: boolean;
  readonly conflict?: string;
}

/** True while a ping of ours is neither answered nor given up on. */
export function isPingPending(view: View, { observation: { ping } }: Standing): boolean {
  return ping !== undefined && ping.ackedAt === undefined && view.at < ackDueAt(ping, view.input.settings);
}

/** When the wait for the next of the answers that are awaited is over; Infinity: none is. */
export function ackDeadline(view: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { state, observation } of view.standings) {
    const { ping } = observation;
    if (state === 'Awaiting' && ping) first = Math.min(first, ackDueAt(ping, view.input.settings));
  }
  return first;
}

/** When the first of those who are alive by an ack or a renewal, and not by holding the Lease, no longer counts as alive; Infinity: nobody is. */
export function livenessExpiry({ standings, input: { memory, settings } }: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { isAlive, isHolder, observation } of standings) {
    if (isAlive && !isHolder) first = Math.min(first, liveUntil(observation, memory.decidedAt, settings));
  }
  return first;
}

/** When the first of those who are held back takes part again. */
export function reinstatementTime({ standings, input, at }: View): Instant | undefined {
  const { withdrawals } = input.memory;
  let first: Instant | undefined;
  for (const { state, candidate } of standings) {
    if (state === 'Withdrawn')
      first = earliest([first, (withdrawals.get(candidate.name) ?? at) + input.settings.electionDurationMs]);
    else if (state === 'Lapsed') first = earliest([first, lapsedUntil(input, candidate.name, at)]);
  }
  return first;
}

/** When the first of those who have a priority that ends loses it, as our two clocks stand now (rule 16). */
export function priorityEnd({ standings, now, at }: View): Instant | undefined {
  let first: Instant | undefined;
  for (const { candidate } of standings) {
    const { end } = candidate.priority;
    if (end) first = earliest([first, at + Number(end.at - now.wall) / 1000]);
  }
  return first;
}

/** The parties of the conflict that the candidates of `view` would be in: who they are, and what they ask for. */
export function conflictParties(view: View): string {
  return partiesOf(possibleCandidates(view));
}

/** The conflict that was reported last, while it is still among the same parties. */
export function knownConflict(view: View): string | undefined {
  const { conflict } = view.input.memory;
  return conflict !== undefined && conflict === conflictParties(view) ? conflict : undefined;
}

/**
 * Tells one set of candidates, with what they ask for, from another, in whatever order they are: by sums of two hashes of
 * each. A crowd of them would take long to be sorted.
 */
function partiesOf(candidates: readonly LeaseCandidate[]): string {
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

// FNV-1a.
const START = 0x811c9dc5;
const PRIME = 0x01000193;
const OTHER_PRIME = 0x85ebca6b;

/** Goes on from `from`, so that "ab" and "c" come to something else than "a" and "bc". */
function hashOf(text: string, from: number): number {
  let hash = from ^ text.length;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}

const BACKOFF_MS = 30_000;
const BACKOFF_CAP_MS = 10 * 60_000;

/** Where the holder or the server drops what we write, writing again after each renewal would only be noise (rule 7). */
export function decideIgnoredWrites(view: View): Verdict | undefined {
  const { count, lastAt } = view.input.memory.ignoredWrites;
  const retryAt = lastAt + backoffMs(count, BACKOFF_MS, BACKOFF_CAP_MS);
  return view.at < retryAt ? { reason: 'WritesIgnored', recheckAt: [retryAt] } : undefined;
}
