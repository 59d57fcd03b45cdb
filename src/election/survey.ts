import {
  type CandidateObservation,
  isUnanswered,
  liveUntil,
  sinceRenewalMs,
} from './candidate-observation.ts';
import {
  believesUntil,
  isGrantUnrenewed,
  isProvisional,
  type LeaseMemory,
  type Reservation,
} from './lease-memory.ts';
import type { ElectionSettings, Lease, LeaseCandidate } from './model.ts';
import { backoffMs, type Instant, type Now } from './time.ts';

/** A candidate together with what this process has seen of it. */
export interface ObservedCandidate {
  readonly candidate: LeaseCandidate;
  readonly observation: CandidateObservation;
}

/** Everything a decision about one Lease depends on, but for the time. */
export interface ElectionInput {
  readonly namespace: string;
  readonly name: string;
  readonly lease: Lease | undefined;
  readonly memory: LeaseMemory;
  /** The candidates whose leaseName is the Lease's name, in its namespace; in any order. */
  readonly candidates: readonly ObservedCandidate[];
  readonly settings: ElectionSettings;
}

/**
 * What a candidate counts for right now (rules 1 and 3).
 *
 * Live: takes part. Awaiting: pinged, its answer is waited for. Idle: valid, but must answer a ping before it is trusted.
 * Lapsed: let its grants run out; takes part only if nobody else can lead. Withdrawn: has just released the Lease; the
 * same. Unresponsive: did not answer; takes no part until it renews. Expired: not valid any more. Deleting: gone.
 */
export type CandidateState =
  | 'Live'
  | 'Awaiting'
  | 'Idle'
  | 'Lapsed'
  | 'Withdrawn'
  | 'Unresponsive'
  | 'Expired'
  | 'Deleting';

/** A candidate and what it counts for. */
export interface Standing extends ObservedCandidate {
  readonly state: CandidateState;
  readonly isHolder: boolean;
  /** True when it counts as alive by a renewal or an ack, whatever its state makes of that. */
  readonly isAlive: boolean;
}

/** Whose the Lease is. */
export type Tenure =
  | {
      readonly kind: 'held';
      readonly lease: Lease;
      readonly holder: string;
      /** From when the holder has missed so many renewals that successors are pinged (rule 6). */
      readonly lateAt: Instant;
      readonly expiresAt: Instant;
      /** True while nobody leads yet, by a grant of ours that its holder has still to take up (rule 12). */
      readonly isProvisional: boolean;
    }
  | {
      readonly kind: 'vacant';
      /** GrantRevised: our grant still stands, but its holder is gone or silent and has never taken it up (rule 12). */
      readonly need: 'LeaseMissing' | 'LeaseExpired' | 'LeaseReleased' | 'GrantRevised';
      readonly lease: Lease | undefined;
      /** Set while a former holder may still believe that the Lease is its own (rule 8). */
      readonly reservation: Reservation | undefined;
    };

/** Whether an election is about this Lease or was, candidates or not: it names a strategy or a preferredHolder. */
export function showsElection(lease: Lease | undefined): boolean {
  return lease?.strategy !== undefined || lease?.preferredHolder !== undefined;
}

const LAPSES_ALLOWED = 1;
const LAPSE_BACKOFF_CAP_MS = 10 * 60_000;

/** So long before an expiry successors are asked, in milliseconds: time for three waves of pings (rule 6). */
const ASK_AHEAD_MS = 3000;

/** Whose the Lease is at `at`, judged only by what this process has seen of it and when. */
export function surveyTenure(input: ElectionInput, at: Instant): Tenure {
  const { lease, memory, settings } = input;
  const { record } = memory;
  const reservation = memory.reservation && at < memory.reservation.until ? memory.reservation : undefined;
  if (!lease) return { kind: 'vacant', need: 'LeaseMissing', lease, reservation };
  if (!record || record.holder === '') return { kind: 'vacant', need: 'LeaseReleased', lease, reservation };
  const expiresAt = believesUntil(memory);
  if (at >= expiresAt) return { kind: 'vacant', need: 'LeaseExpired', lease, reservation };
  const isProvisionalNow = isProvisional(memory, at);
  if (isProvisionalNow && isGranteeLost(input, record.holder, at)) {
    return { kind: 'vacant', need: 'GrantRevised', lease, reservation: undefined };
  }
  const aheadMs = Math.min(ASK_AHEAD_MS, settings.electionDurationMs);
  const lateAt = Math.max(record.since + (record.beliefMs * 2) / 3, expiresAt - aheadMs);
  return {
    kind: 'held',
    lease,
    holder: record.holder,
    lateAt,
    expiresAt,
    isProvisional: isProvisionalNow,
  };
}

/** Whether the holder of a grant that nobody has taken up yet is gone, or does not answer. */
function isGranteeLost({ candidates, settings }: ElectionInput, holder: string, at: Instant): boolean {
  const grantee = candidates.find(({ candidate }) => candidate.name === holder);
  if (!grantee || grantee.candidate.isDeleting) return true;
  return isSilent(grantee.observation, at, settings);
}

/** Whether it was asked, and let the time for an answer pass, be it a while ago. */
function isSilent(observation: CandidateObservation, at: Instant, settings: ElectionSettings): boolean {
  return observation.unansweredPings > 0 || isUnanswered(observation, at, settings);
}

/** What each candidate counts for, in the order of the input. */
export function surveyCandidates(input: ElectionInput, tenure: Tenure, now: Now): readonly Standing[] {
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  return input.candidates.map((observed): Standing => {
    const { candidate, observation } = observed;
    const isHolder = candidate.name === holder;
    const isAlive = now.monotonic < liveUntil(observation, input.memory.decidedAt, input.settings);
    const state = stateOf(observed, isHolder, isAlive, input, now.monotonic);
    return { candidate, observation, isHolder, isAlive, state };
  });
}

function stateOf(
  { candidate, observation }: ObservedCandidate,
  isHolder: boolean,
  isAlive: boolean,
  input: ElectionInput,
  at: Instant,
): CandidateState {
  const { memory, settings } = input;
  if (candidate.isDeleting) return 'Deleting';
  // The renewals of a valid holder are its answer.
  if (isHolder) return 'Live';
  const withdrawnAt = memory.withdrawals.get(candidate.name);
  if (withdrawnAt !== undefined && at < withdrawnAt + settings.electionDurationMs) return 'Withdrawn';
  const trustedAgainAt = lapsedUntil(input, candidate.name, at);
  if (isAlive) return trustedAgainAt !== undefined && at < trustedAgainAt ? 'Lapsed' : 'Live';
  if (sinceRenewalMs(observation, at) >= settings.candidateValidityMs) return 'Expired';
  if (isSilent(observation, at, settings)) return 'Unresponsive';
  if (trustedAgainAt !== undefined && at < trustedAgainAt) return 'Lapsed';
  const { ping } = observation;
  return ping && ping.ackedAt === undefined ? 'Awaiting' : 'Idle';
}

/** Until when a candidate that let grants run out takes no part while anyone else can lead (rule 7). */
export function lapsedUntil(
  { memory, settings }: ElectionInput,
  name: string,
  at: Instant,
): Instant | undefined {
  const { record, lapses } = memory;
  const ranOutAt = record?.holder === name && isGrantUnrenewed(memory) ? believesUntil(memory) : undefined;
  const hasJustLapsed = ranOutAt !== undefined && at >= ranOutAt;
  const earlier = lapses.get(name);
  const count = (earlier?.count ?? 0) + (hasJustLapsed ? 1 : 0);
  const lastAt = hasJustLapsed ? ranOutAt : earlier?.lastAt;
  if (lastAt === undefined || count <= LAPSES_ALLOWED) return undefined;
  return (
    lastAt + backoffMs(count - LAPSES_ALLOWED, 2000 * settings.leaseDurationSeconds, LAPSE_BACKOFF_CAP_MS)
  );
}

/** True when the candidate answered a ping that was sent at `since` or later. */
export function hasAnsweredSince({ ping }: CandidateObservation, since: Instant): boolean {
  return ping?.ackedAt !== undefined && ping.sentAt >= since;
}
