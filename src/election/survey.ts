import {
  type CandidateObservation,
  isUnanswered,
  liveUntil,
  sinceRenewalMs,
} from './candidate-observation.ts';
import { believesUntil, isGrantUnrenewed, type LeaseMemory, type Reservation } from './lease-memory.ts';
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
    }
  | {
      readonly kind: 'vacant';
      readonly need: 'LeaseMissing' | 'LeaseExpired' | 'LeaseReleased';
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

/** Whose the Lease is at `at`, judged only by what this process has seen of it and when. */
export function surveyTenure({ lease, memory, settings }: ElectionInput, at: Instant): Tenure {
  const { record, reservation } = memory;
  const stillReserved = reservation && at < reservation.until ? reservation : undefined;
  if (!lease) return { kind: 'vacant', need: 'LeaseMissing', lease, reservation: stillReserved };
  if (!record || record.holder === '') {
    return { kind: 'vacant', need: 'LeaseReleased', lease, reservation: stillReserved };
  }
  const expiresAt = believesUntil(memory);
  if (at >= expiresAt) return { kind: 'vacant', need: 'LeaseExpired', lease, reservation: stillReserved };
  const lateAt = Math.max(record.since + (record.beliefMs * 2) / 3, expiresAt - settings.electionDurationMs);
  return { kind: 'held', lease, holder: record.holder, lateAt, expiresAt };
}

/** What each candidate counts for, in the order of their names. */
export function surveyCandidates(input: ElectionInput, tenure: Tenure, now: Now): readonly Standing[] {
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  return input.candidates
    .map((observed): Standing => {
      const isHolder = observed.candidate.name === holder;
      const isAlive = now.monotonic < liveUntil(observed.observation, input.memory.decidedAt, input.settings);
      return {
        ...observed,
        isHolder,
        isAlive,
        state: stateOf(observed, isHolder, isAlive, input, now.monotonic),
      };
    })
    .sort((a, b) => (a.candidate.name < b.candidate.name ? -1 : 1));
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
  const { withdrawal } = memory;
  if (withdrawal?.holder === candidate.name && at < withdrawal.at + settings.electionDurationMs)
    return 'Withdrawn';
  const trustedAgainAt = lapsedUntil(input, candidate.name, at);
  if (isAlive) return trustedAgainAt !== undefined && at < trustedAgainAt ? 'Lapsed' : 'Live';
  if (sinceRenewalMs(observation, at) >= settings.candidateValidityMs) return 'Expired';
  const { ping, unansweredPings } = observation;
  if (unansweredPings > 0 || isUnanswered(observation, at, settings)) return 'Unresponsive';
  if (trustedAgainAt !== undefined && at < trustedAgainAt) return 'Lapsed';
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
