import { type CandidateObservation, isSilent, liveUntil, sinceRenewalMs } from './candidate-observation.ts';
import type { ElectionInput, ObservedCandidate } from './election-input.ts';
import { FENCE } from './group.ts';
import { expiryOf, isGrantUnrenewed, NO_ATTEMPTS } from './lease-memory.ts';
import type { LeaseCandidate } from './model.ts';
import { withCurrentPriority } from './priority.ts';
import { LAPSES_ALLOWED, withLapse } from './record-writes.ts';
import type { Tenure } from './tenure.ts';
import { backoffMs, type Instant, type Now } from './time.ts';

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

const LAPSE_BACKOFF_CAP_MS = 10 * 60_000;

/** What each candidate counts for, in the order of the input. */
export function surveyStandings(input: ElectionInput, tenure: Tenure, now: Now): readonly Standing[] {
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  return input.candidates.map((observed): Standing => {
    const { observation } = observed;
    const candidate = withCurrentPriority(observed.candidate, now.wall);
    const isHolder = candidate.name === holder;
    const isAlive = now.monotonic < liveUntil(observation, input.memory.decidedAt, input.settings);
    const state = stateOf(observed, isHolder, isAlive, input, now.monotonic);
    return { candidate, observation, isHolder, isAlive, state };
  });
}

/** What the twins of candidates count for: no part in an election, whatever their state (rule 13). */
export function surveyTwins(input: ElectionInput, { monotonic: at }: Now): readonly Standing[] {
  const { twins = [], memory, settings } = input;
  return twins.map((observed): Standing => {
    const isAlive = at < liveUntil(observed.observation, memory.decidedAt, settings);
    return { ...observed, isHolder: false, isAlive, state: stateOf(observed, false, isAlive, input, at) };
  });
}

function stateOf(
  { candidate, observation }: ObservedCandidate,
  isHolder: boolean,
  isAlive: boolean,
  input: ElectionInput,
  at: Instant,
): CandidateState {
  const { settings } = input;
  // Whoever has the name of the fence could not be told from it.
  if (candidate.isDeleting || candidate.name === FENCE) return 'Deleting';
  // The renewals of a valid holder are its answer.
  if (isHolder) return 'Live';
  if (isWithdrawn(input, candidate.name, at)) return 'Withdrawn';
  const hasLapsed = isLapsed(input, candidate.name, at);
  if (isAlive) return hasLapsed ? 'Lapsed' : 'Live';
  if (sinceRenewalMs(observation, at) >= settings.candidateValidityMs) return 'Expired';
  if (isSilent(observation, at, settings)) return 'Unresponsive';
  if (hasLapsed) return 'Lapsed';
  const { ping } = observation;
  return ping && ping.ackedAt === undefined ? 'Awaiting' : 'Idle';
}

/** Whether a candidate takes no part while another can lead, be it the holder or not (rule 3). */
export function isHeldBack(input: ElectionInput, name: string, at: Instant): boolean {
  return isWithdrawn(input, name, at) || isLapsed(input, name, at);
}

/** Whether a candidate has released the Lease so recently that it takes no part while another can lead (rule 3). */
function isWithdrawn({ memory, settings }: ElectionInput, name: string, at: Instant): boolean {
  const withdrawnAt = memory.withdrawals.get(name);
  return withdrawnAt !== undefined && at < withdrawnAt + settings.electionDurationMs;
}

/** Whether a candidate has let so many grants lapse that it takes no part while another can lead (rule 7). */
function isLapsed(input: ElectionInput, name: string, at: Instant): boolean {
  const trustedAgainAt = lapsedUntil(input, name, at);
  return trustedAgainAt !== undefined && at < trustedAgainAt;
}

/**
 * Until when a candidate whose last grant has lapsed takes no part while another can lead. Lapses in a row count whatever the
 * candidates are called: a program in a crash loop comes back under other names (rule 7).
 */
export function lapsedUntil(
  { memory, lease, settings }: ElectionInput,
  name: string,
  at: Instant,
): Instant | undefined {
  const { record, lapses, lapsesOfLease } = memory;
  const ranOutAt = record?.holder === name && isGrantUnrenewed(memory, lease) ? expiryOf(memory) : undefined;
  const hasJustLapsed = ranOutAt !== undefined && at >= ranOutAt;
  const earlier = lapses.get(name);
  const own = hasJustLapsed ? withLapse(earlier ?? NO_ATTEMPTS, memory, ranOutAt) : earlier;
  if (!own) return undefined;
  const ofLease = hasJustLapsed ? withLapse(lapsesOfLease, memory, ranOutAt) : lapsesOfLease;
  // The first lapse of a candidate is its second if another one's has come before.
  const excess = Math.max(own.count, Math.min(ofLease.count, LAPSES_ALLOWED + 1)) - LAPSES_ALLOWED;
  if (excess <= 0) return undefined;
  return own.lastAt + backoffMs(excess, 2000 * settings.leaseDurationSeconds, LAPSE_BACKOFF_CAP_MS);
}

/** True when the candidate answered a ping that was sent at `since` or later. */
export function hasAnsweredSince({ ping }: CandidateObservation, since: Instant): boolean {
  return ping?.ackedAt !== undefined && ping.sentAt >= since;
}

export function standingsIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly Standing[] {
  return standings.filter(({ state }) => states.includes(state));
}

export function candidatesIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly LeaseCandidate[] {
  const candidates: LeaseCandidate[] = [];
  for (const { state, candidate } of standings) if (states.includes(state)) candidates.push(candidate);
  return candidates;
}
