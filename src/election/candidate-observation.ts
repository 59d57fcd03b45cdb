import type { ElectionSettings, Instant, LeaseCandidate, MicroTime, Now } from './model.ts';

/**
 * Why the coordinator pinged a candidate. A preemption needs the answer to a ping with the purpose `preemption`. In all
 * other cases, the purpose of the answered ping does not matter.
 */
export type PingPurpose =
  | 'election' // The Lease has no valid holder, and the answer may settle the election.
  | 'expiry' // The Lease may soon need a new holder, and the answer may settle its next election.
  | 'revival' // The candidate is silent, and the Lease has no leader.
  | 'preemption' // The candidate is the preferredHolder, may be better than the holder, or may change the strategy.
  | 'validity' // The candidate has not renewed for some minutes, or its clock was set back.
  | 'collection'; // The coordinator deletes the candidate unless it answers.

/** Pings that belong to no election. */
export const HOUSEKEEPING_PINGS: ReadonlySet<PingPurpose> = new Set(['validity', 'collection']);

export interface Ping {
  readonly purpose: PingPurpose;
  /** The pingTime in the ping, see {@link pingTimeFor}; undefined if this process did not send the ping. */
  readonly pingTime: MicroTime | undefined;
  readonly sentAt: Instant;
  /** When the server confirmed the ping, or refused it permanently. The timeout starts at this time (rule 9). */
  readonly deliveredAt: Instant | undefined;
  /** True if this process saw this pingTime with the old renewTime. Without an earlier ack, the next renewal is the ack. */
  readonly isSeen: boolean;
  /** When this process saw the ack of the ping (rule 3); undefined while there is none. */
  readonly ackedAt: Instant | undefined;
}

/** What this process has seen of a candidate, and when, by the monotonic clock of this process. Immutable. */
export interface CandidateObservation {
  readonly uid: string;
  /**
   * When this process first saw the candidate, if it appeared after the first list. Otherwise, the time of its creation;
   * -Infinity if creationTimestamp is missing or too far in the future (rule 6).
   */
  readonly appearedAt: Instant;
  readonly renewTime: MicroTime | undefined;
  readonly unchangedSince: Instant;
  /** Age of renewTime at first sight, in ms. Without a renewTime: age of the candidate. 0 after an observed renewal. */
  readonly ageAtFirstSightMs: number;
  /** Until when the candidate is fresh; -Infinity if it was not fresh at first sight and has not renewed since. */
  readonly freshUntil: Instant;
  readonly ping: Ping | undefined;
  /** Number of consecutive unanswered pings before `ping`. */
  readonly unansweredPings: number;
  /** Number of collection pings delivered since the last renewal, and when the first and last were delivered (rule 1). */
  readonly collection:
    | { readonly pings: number; readonly firstAt: Instant; readonly lastAt: Instant }
    | undefined;
  readonly deletionFailedAt: Instant;
}

/** Returns the observation after this process saw `candidate`. `isNew`: the candidate appeared after the first list. */
export function observeCandidate(
  previous: CandidateObservation | undefined,
  candidate: LeaseCandidate,
  now: Now,
  settings: ElectionSettings,
  isNew = false,
): CandidateObservation {
  const { monotonic } = now;
  if (previous?.uid !== candidate.uid) return firstSight(candidate, now, settings, isNew);
  if (previous.renewTime === candidate.renewTime) return withPingSeen(previous, candidate);
  return {
    ...previous,
    renewTime: candidate.renewTime,
    unchangedSince: monotonic,
    ageAtFirstSightMs: 0,
    freshUntil: monotonic + settings.electionDurationMs,
    ping: previous.ping && withAnswer(previous.ping, candidate, monotonic),
    unansweredPings: 0,
    collection: undefined,
  };
}

function withPingSeen(observation: CandidateObservation, { pingTime }: LeaseCandidate): CandidateObservation {
  const { ping } = observation;
  if (!ping || ping.isSeen || pingTime !== ping.pingTime) return observation;
  return { ...observation, ping: { ...ping, isSeen: true } };
}

/**
 * Records a renewal if it is the first answer to `ping`. A renewal with an earlier pingTime was usually written before
 * the ping, so it is not an answer. But if this process has already seen the candidate with the pingTime of `ping`, any
 * renewal is an answer: another coordinator may have overwritten that pingTime with an earlier one.
 */
function withAnswer(ping: Ping, { pingTime }: LeaseCandidate, at: Instant): Ping {
  const isEarlier =
    !ping.isSeen && ping.pingTime !== undefined && pingTime !== undefined && pingTime < ping.pingTime;
  return isEarlier ? ping : { ...ping, ackedAt: ping.ackedAt ?? at };
}

function firstSight(
  candidate: LeaseCandidate,
  now: Now,
  settings: ElectionSettings,
  isNew: boolean,
): CandidateObservation {
  const claimed = candidate.renewTime ?? candidate.creationTimestamp;
  // This process has not seen the last renewal. Only a timestamp by another clock shows its age (rules 1 to 3).
  const ageMs = claimed === undefined ? 0 : Number(now.wall - claimed) / 1000;
  const isFresh = candidate.renewTime !== undefined && Math.abs(ageMs) <= settings.electionDurationMs;
  return {
    uid: candidate.uid,
    appearedAt: isNew ? now.monotonic : appearedAt(candidate, now),
    renewTime: candidate.renewTime,
    unchangedSince: now.monotonic,
    ageAtFirstSightMs: Math.max(0, isNew ? Math.min(ageMs, oldestAtCreationMs(candidate)) : ageMs),
    freshUntil: isFresh ? now.monotonic + settings.electionDurationMs : Number.NEGATIVE_INFINITY,
    ping: undefined,
    unansweredPings: 0,
    collection: undefined,
    deletionFailedAt: Number.NEGATIVE_INFINITY,
  };
}

/** How far creationTimestamp may be ahead of our clock, in ms. If it is further ahead, the candidate counts as old. */
const CLOCK_TOLERANCE_MS = 2000;

function appearedAt({ creationTimestamp }: LeaseCandidate, { monotonic, wall }: Now): Instant {
  if (creationTimestamp === undefined) return Number.NEGATIVE_INFINITY;
  const ageMs = Number(wall - creationTimestamp) / 1000;
  return ageMs < -CLOCK_TOLERANCE_MS ? Number.NEGATIVE_INFINITY : monotonic - Math.max(0, ageMs);
}

/** Returns the maximum age of renewTime at the candidate's creation, in ms. Adds 1 s: creationTimestamp has whole seconds. */
function oldestAtCreationMs({ creationTimestamp, renewTime }: LeaseCandidate): number {
  if (creationTimestamp === undefined || renewTime === undefined) return Number.POSITIVE_INFINITY;
  return Number(creationTimestamp - renewTime) / 1000 + 1000;
}

export function recordPing(
  observation: CandidateObservation,
  purpose: PingPurpose,
  sentAt: Instant,
  settings: ElectionSettings,
  pingTime?: MicroTime,
): CandidateObservation {
  return {
    ...observation,
    ping: { purpose, pingTime, sentAt, deliveredAt: undefined, isSeen: false, ackedAt: undefined },
    unansweredPings: observation.unansweredPings + Number(isUnanswered(observation, sentAt, settings)),
  };
}

/** Records the ping that was sent at `sentAt` as delivered: at `at`, the server confirmed or permanently refused it. */
export function recordPingDelivered(
  observation: CandidateObservation,
  sentAt: Instant,
  at: Instant,
): CandidateObservation {
  const { ping, collection } = observation;
  if (ping?.sentAt !== sentAt) return observation;
  const delivered = { ...ping, deliveredAt: at };
  // Count only collection pings. If this process has already seen the candidate's answer, the collection has ended.
  if (ping.purpose !== 'collection' || ping.ackedAt !== undefined) return { ...observation, ping: delivered };
  const { pings = 0, firstAt = at } = collection ?? {};
  return { ...observation, ping: delivered, collection: { pings: pings + 1, firstAt, lastAt: at } };
}

/** Drops the unanswered ping that was sent at `sentAt`, because its write has failed or may have failed. */
export function recordPingNotSent(observation: CandidateObservation, sentAt: Instant): CandidateObservation {
  const { ping } = observation;
  const isPending = ping?.sentAt === sentAt && ping.ackedAt === undefined;
  return isPending ? { ...observation, ping: undefined } : observation;
}

export function sinceRenewalMs(observation: CandidateObservation, at: Instant): number {
  return at - lastRenewedAt(observation);
}

/** Returns the time of the last renewal. For a renewal before the first sight, uses the candidate's timestamps. */
export function lastRenewedAt({ unchangedSince, ageAtFirstSightMs }: CandidateObservation): Instant {
  return unchangedSince - ageAtFirstSightMs;
}

export function isUnanswered(seen: CandidateObservation, at: Instant, settings: ElectionSettings): boolean {
  const { ping } = seen;
  return ping !== undefined && ping.ackedAt === undefined && at >= ackDueAt(ping, settings);
}

export function isUnsuspected(seen: CandidateObservation, at: Instant, settings: ElectionSettings): boolean {
  const { ping, unansweredPings } = seen;
  const isAnswered = unansweredPings === 0 && (ping === undefined || ping.ackedAt !== undefined);
  return isAnswered && sinceRenewalMs(seen, at) < settings.candidateValidityMs;
}

/**
 * Returns the deadline for the answer to a ping; Infinity until the ping is delivered. Adds the time that the delivery
 * took, because a slow server also delays the answer (rule 9).
 */
export function ackDueAt({ sentAt, deliveredAt }: Ping, settings: ElectionSettings): Instant {
  if (deliveredAt === undefined) return Number.POSITIVE_INFINITY;
  return deliveredAt + settings.electionDurationMs + (deliveredAt - sentAt);
}

/** Returns the time until which the candidate counts as alive. An ack counts only if it came after `decidedAt` (rule 3). */
export function liveUntil(
  observation: CandidateObservation,
  decidedAt: Instant,
  settings: ElectionSettings,
): Instant {
  const { freshUntil, ping } = observation;
  if (ping?.ackedAt === undefined || ping.ackedAt <= decidedAt) return freshUntil;
  return Math.max(freshUntil, ping.ackedAt + 2 * settings.electionDurationMs);
}

/**
 * Returns the pingTime of a new ping, by the candidate's clock: renewTime plus the time since this process saw that
 * renewTime. If pingTime were ahead of that clock, the candidate would renew in a loop. If pingTime were not after
 * renewTime, the candidate would not answer (rule 2). Without a renewTime, returns the time of our own clock.
 */
export function pingTimeFor(candidate: LeaseCandidate, seen: CandidateObservation, now: Now): MicroTime {
  if (candidate.renewTime === undefined) return now.wall;
  const seenForMicros = BigInt(Math.floor(Math.max(0, now.monotonic - seen.unchangedSince) * 1000));
  const pingTime = candidate.renewTime + (seenForMicros > 0n ? seenForMicros : 1n);
  // A write of the same value would change nothing, so the candidate would see no event.
  return pingTime === candidate.pingTime ? pingTime + 1n : pingTime;
}

/** True if the candidate has left a ping unanswered and has not renewed since. */
export function isSilent(seen: CandidateObservation, at: Instant, settings: ElectionSettings): boolean {
  return seen.unansweredPings > 0 || isUnanswered(seen, at, settings);
}
