import type { ElectionSettings, Instant, LeaseCandidate, MicroTime, Now } from './model.ts';

/**
 * Why a candidate was pinged. An ack to one purpose answers the others too, but a preemption wants one of its own.
 *
 * election: its Lease has no holder, and its answer may settle who gets it. expiry: the same, ahead of an expiry.
 * revival: it was silent before, and the Lease has no leader. preemption: it may be better than the holder. validity: it has been
 * silent for some minutes. collection: it is to be deleted unless it answers.
 */
export type PingPurpose = 'election' | 'expiry' | 'revival' | 'preemption' | 'validity' | 'collection';

/** The last ping this process sent to a candidate. */
export interface Ping {
  readonly purpose: PingPurpose;
  /** What it writes, in the candidate's own time: an answer comes with it. Undefined where it is only supposed. */
  readonly pingTime: MicroTime | undefined;
  readonly sentAt: Instant;
  /** When the server confirmed the write: the time to answer starts here (rule 9). Undefined while the request is in flight. */
  readonly deliveredAt: Instant | undefined;
  /** True once the candidate was seen with this pingTime. Any later renewal answers it, even if another coordinator has pinged since. */
  readonly isSeen: boolean;
  /** When the first renewal after it was seen; undefined while unanswered. */
  readonly ackedAt: Instant | undefined;
}

/** How often a candidate that is to be collected was asked for a sign of life, and when first and last. */
export interface Collection {
  readonly pings: number;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
}

/**
 * What this process has seen a candidate do, on its own monotonic clock. Values are immutable; each function below gives
 * the next one.
 */
export interface CandidateObservation {
  readonly uid: string;
  /** When it was created, as far as this process can tell: when it was first seen, or earlier by its creationTimestamp (rule 6). */
  readonly appearedAt: Instant;
  readonly renewTime: MicroTime | undefined;
  /** Since when this process has seen this renewTime. */
  readonly unchangedSince: Instant;
  /** How old the renewTime was at first sight, in milliseconds; 0 once it was seen to change. */
  readonly ageAtFirstSightMs: number;
  /** Until when its last renewal lets it be trusted without a ping; before `unchangedSince` when it does not. */
  readonly freshUntil: Instant;
  readonly ping: Ping | undefined;
  /** Pings in a row that went unanswered, the one still open not among them. */
  readonly unansweredPings: number;
  /** The pings ahead of its deletion, since it last renewed (rule 1). */
  readonly collection: Collection | undefined;
  /** When the last attempt to delete it failed. */
  readonly deletionFailedAt: Instant;
}

/**
 * The observation after seeing `candidate` at `now`; `previous` is undefined at first sight, and `isNew` when it was not
 * there a moment ago: it was created just now.
 */
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
    uid: candidate.uid,
    appearedAt: previous.appearedAt,
    renewTime: candidate.renewTime,
    unchangedSince: monotonic,
    ageAtFirstSightMs: 0,
    freshUntil: monotonic + settings.electionDurationMs,
    ping: previous.ping && withAnswer(previous.ping, candidate, monotonic),
    unansweredPings: 0,
    collection: undefined,
    deletionFailedAt: previous.deletionFailedAt,
  };
}

function withPingSeen(observation: CandidateObservation, { pingTime }: LeaseCandidate): CandidateObservation {
  const { ping } = observation;
  if (!ping || ping.isSeen || pingTime !== ping.pingTime) return observation;
  return { ...observation, ping: { ...ping, isSeen: true } };
}

/**
 * A renewal that was written before the ping, and is only seen now, does not have that yet: it is no answer. Another
 * coordinator may have asked with an earlier time since, if it does not know for how long the candidate has been silent.
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
  // Here alone another machine's clock is compared with ours (rules 1 and 3): there is nothing else to go by yet.
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

/** A server whose clock is ahead of ours by more than this leaves unknown how old a candidate is, in milliseconds. */
const CLOCK_TOLERANCE_MS = 2000;

function appearedAt({ creationTimestamp }: LeaseCandidate, { monotonic, wall }: Now): Instant {
  if (creationTimestamp === undefined) return Number.NEGATIVE_INFINITY;
  const ageMs = Number(wall - creationTimestamp) / 1000;
  return ageMs < -CLOCK_TOLERANCE_MS ? Number.NEGATIVE_INFINITY : monotonic - Math.max(0, ageMs);
}

/** When the candidate last gave a sign of life, as seen here or, from before that, as it claims. */
export function lastRenewedAt({ unchangedSince, ageAtFirstSightMs }: CandidateObservation): Instant {
  return unchangedSince - ageAtFirstSightMs;
}

/** The server has written when a candidate was created, to the second: if that was just now, our own clock may be wrong. */
function oldestAtCreationMs({ creationTimestamp, renewTime }: LeaseCandidate): number {
  if (creationTimestamp === undefined || renewTime === undefined) return Number.POSITIVE_INFINITY;
  return Number(creationTimestamp - renewTime) / 1000 + 1000;
}

/** The observation once a ping is on its way. */
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
    unansweredPings: observation.unansweredPings + (isUnanswered(observation, sentAt, settings) ? 1 : 0),
  };
}

/** The observation once the server has answered, at `at`, that the ping sent at `sentAt` is written. */
export function recordPingDelivered(
  observation: CandidateObservation,
  sentAt: Instant,
  at: Instant,
): CandidateObservation {
  const { ping, collection } = observation;
  if (ping?.sentAt !== sentAt) return observation;
  const delivered = { ...ping, deliveredAt: at };
  // An answer that was seen before the server's to us has ended the collection.
  if (ping.purpose !== 'collection' || ping.ackedAt !== undefined) return { ...observation, ping: delivered };
  const { pings = 0, firstAt = at } = collection ?? {};
  return { ...observation, ping: delivered, collection: { pings: pings + 1, firstAt, lastAt: at } };
}

/** The observation once it is known that the ping sent at `sentAt` was not written, or may not have been. */
export function recordPingNotSent(observation: CandidateObservation, sentAt: Instant): CandidateObservation {
  const { ping } = observation;
  return ping?.sentAt === sentAt && ping.ackedAt === undefined
    ? { ...observation, ping: undefined }
    : observation;
}

/** How long ago the candidate last renewed, in milliseconds: as seen here or, from before that, as it claims (rule 1). */
export function sinceRenewalMs(observation: CandidateObservation, at: Instant): number {
  return at - lastRenewedAt(observation);
}

/** True when the last ping was given its whole electionDuration, from when it was delivered, and nothing came back. */
export function isUnanswered(
  observation: CandidateObservation,
  at: Instant,
  settings: ElectionSettings,
): boolean {
  const { ping } = observation;
  return ping !== undefined && ping.ackedAt === undefined && at >= ackDueAt(ping, settings);
}

/** True when the answer to a ping came before that was given up on. */
export function hasAnsweredInTime(ping: Ping, settings: ElectionSettings): boolean {
  return ping.ackedAt !== undefined && ping.ackedAt < ackDueAt(ping, settings);
}

/** True while nothing speaks against the candidate: no ping of ours is open or was in vain, and it is valid. */
export function isUnsuspected(
  observation: CandidateObservation,
  at: Instant,
  settings: ElectionSettings,
): boolean {
  const { ping, unansweredPings } = observation;
  return (
    unansweredPings === 0 &&
    (ping === undefined || ping.ackedAt !== undefined) &&
    sinceRenewalMs(observation, at) < settings.candidateValidityMs
  );
}

/**
 * When a ping is given up on: its candidate has electionDuration from when it could see it. What the server took to write
 * the ping it may take once more, to write the answer.
 */
export function ackDueAt({ sentAt, deliveredAt }: Ping, settings: ElectionSettings): Instant {
  if (deliveredAt === undefined) return Number.POSITIVE_INFINITY;
  return deliveredAt + settings.electionDurationMs + (deliveredAt - sentAt);
}

/**
 * Until when the candidate counts as alive: its renewal's freshness, or its ack's longer one. An ack from before
 * `decidedAt` was used up by the election decided then (rule 3).
 */
export function liveUntil(
  observation: CandidateObservation,
  decidedAt: Instant,
  settings: ElectionSettings,
): Instant {
  const ackedAt = observation.ping?.ackedAt;
  const ackUntil =
    ackedAt !== undefined && ackedAt > decidedAt
      ? ackedAt + 2 * settings.electionDurationMs
      : Number.NEGATIVE_INFINITY;
  return Math.max(observation.freshUntil, ackUntil);
}

/**
 * The pingTime that asks `candidate` for a sign of life, in the candidate's own time: its renewTime plus how long this
 * process has seen that unchanged. Thus it is never ahead of the candidate's clock, which would make it renew in a loop,
 * and always after its renewTime, which would make it not answer (rule 2).
 */
export function pingTimeFor(
  candidate: LeaseCandidate,
  observation: CandidateObservation,
  now: Now,
): MicroTime {
  if (candidate.renewTime === undefined) return now.wall;
  const seenForMicros = BigInt(Math.floor(Math.max(0, now.monotonic - observation.unchangedSince) * 1000));
  const pingTime = candidate.renewTime + (seenForMicros > 0n ? seenForMicros : 1n);
  // Writing the value that stands would change nothing, and so tell the candidate nothing.
  return pingTime === candidate.pingTime ? pingTime + 1n : pingTime;
}

/** True when the candidate did not answer its last ping in time, and has not renewed since. */
export function isSilent(
  observation: CandidateObservation,
  at: Instant,
  settings: ElectionSettings,
): boolean {
  return observation.unansweredPings > 0 || isUnanswered(observation, at, settings);
}
