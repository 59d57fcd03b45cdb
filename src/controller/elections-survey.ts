import type { LeaseKey } from '../coordination/lease-key.ts';
import { reservationFor } from '../election/beliefs.ts';
import { lastRenewedAt } from '../election/candidate-observation.ts';
import type { Reason } from '../election/decision.ts';
import { blockingBeliefs, expiryOf } from '../election/lease-memory.ts';
import type { Instant, Now } from '../election/model.ts';
import {
  type CandidateState,
  type ElectionInput,
  type Standing,
  surveyStandings,
  surveyTenure,
  type Tenure,
} from '../election/view.ts';
import type { ElectionRecords } from './election-records.ts';
import { HEARD_WITHIN_MS, noteRedundancy, type Redundancy } from './redundancy.ts';

/** States of possible successors: all states except `Unresponsive`, `Expired` and `Deleting`. */
const MAY_LEAD: ReadonlySet<CandidateState> = new Set(['Live', 'Awaiting', 'Idle', 'Withdrawn', 'Lapsed']);
const SILENT: ReadonlySet<CandidateState> = new Set(['Unresponsive', 'Expired']);

/** A redundant candidate that stopped answering counts as lost for this time after its last renewal, in ms. */
const REDUNDANCY_MISSED_MS = 24 * 60 * 60_000;

/** Kubernetes' default: all pods of a stopped component end within this time, in ms. */
const TERMINATION_GRACE_PERIOD_MS = 30_000;

export interface UnledLease {
  readonly key: LeaseKey;
  /** The time since which the Lease counts as unled; undefined if this time is unknown. */
  readonly since: Instant | undefined;
}

/** Totals over all Leases that have candidates. */
export interface ElectionsSurvey {
  readonly leases: number;
  /** Leases without a valid holder, except Leases whose candidates have all shut down. */
  readonly unled: readonly UnledLease[];
  /** Number of Leases without a possible successor, because redundant candidates stopped answering. */
  readonly withoutSuccessor: number;
  /** The redundant candidates. The next survey needs them as its input. */
  readonly redundancy: Redundancy;
  /** Number of Leases by the reason of their last decision. */
  readonly reasons: ReadonlyMap<Reason, number>;
  readonly candidates: Readonly<Record<CandidateState, number>>;
}

/** One Lease that has candidates, with the observations of this process. */
export interface SurveyedElection {
  readonly key: LeaseKey;
  readonly input: ElectionInput;
  readonly tenure: Tenure;
  readonly standings: readonly Standing[];
  readonly now: Now;
  /** The reason of the last decision; undefined if this replica has made none, or may not write now. */
  readonly reason: Reason | undefined;
}

export function* surveyEach(
  records: ElectionRecords,
  reasonOf: (key: LeaseKey) => Reason | undefined,
  now: Now,
): Generator<SurveyedElection, void, void> {
  for (const key of records.contestedLeases()) {
    const input = records.gather(key);
    const tenure = surveyTenure(input, now.monotonic);
    yield { key, input, tenure, standings: surveyStandings(input, tenure, now), now, reason: reasonOf(key) };
  }
}

/** @param known the redundant candidates that the last survey found */
export async function surveyElections(
  elections: Iterable<SurveyedElection> | AsyncIterable<SurveyedElection>,
  known: Redundancy = new Map(),
): Promise<ElectionsSurvey> {
  const candidates: Record<CandidateState, number> = {
    Live: 0,
    Awaiting: 0,
    Idle: 0,
    Lapsed: 0,
    Withdrawn: 0,
    Unresponsive: 0,
    Expired: 0,
    Deleting: 0,
  };
  const unled: UnledLease[] = [];
  const reasons = new Map<Reason, number>();
  const redundancy = new Map<string, Instant>();
  let leases = 0;
  let withoutSuccessor = 0;
  for await (const { key, input, tenure, standings, now, reason } of elections) {
    for (const { state } of standings) candidates[state]++;
    if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    // Ignore deleted candidates that finalizers keep, and candidates with the fence's name: they take no part.
    const left = standings.filter(({ state }) => state !== 'Deleting');
    if (left.length === 0) continue;
    leases++;
    noteRedundancy(redundancy, left, known, now);
    const present = left.filter((standing) => !hasReleased(standing, input));
    const lost = lostOf(present, redundancy, now.monotonic);
    if (tenure.kind === 'vacant') {
      if (hasShutDown(left, present, lost, input, now)) continue;
      unled.push({ key, since: unledSince(input, tenure) });
    }
    const hasSuccessor = present.some(({ state, isHolder }) => !isHolder && MAY_LEAD.has(state));
    if (lost.length > 0 && !hasSuccessor) withoutSuccessor++;
  }
  return { leases, unled, withoutSuccessor, redundancy, reasons, candidates };
}

/** True if a candidate released the Lease or provably ended, has not renewed since then, and does not hold the Lease. */
function hasReleased({ candidate, observation, isHolder }: Standing, { memory }: ElectionInput): boolean {
  const releasedAt = memory.withdrawals.get(candidate.name);
  return releasedAt !== undefined && !isHolder && observation.unchangedSince <= releasedAt;
}

/** Returns the redundant candidates that stopped answering and last renewed less than a day ago. */
function lostOf(standings: readonly Standing[], redundancy: Redundancy, at: Instant): readonly Standing[] {
  return standings.filter(
    (standing) =>
      SILENT.has(standing.state) &&
      redundancy.has(standing.candidate.uid) &&
      at - lastRenewedAt(standing.observation) < REDUNDANCY_MISSED_MS,
  );
}

/**
 * True if the whole component was stopped, for example scaled to zero. Then, the candidates that have not released the
 * Lease (`present`) are silent. None of them has renewed later than one grace period after the last release. All
 * redundant candidates (`lost`), or at least two candidates of any kind, had renewed in the HEARD_WITHIN_MS before that
 * release, or later. If not, the silent candidates probably hang.
 */
function hasShutDown(
  left: readonly Standing[],
  present: readonly Standing[],
  lost: readonly Standing[],
  input: ElectionInput,
  now: Now,
): boolean {
  const releasedAt = releaseOf(input, now);
  if (present.length === 0) return releasedAt !== undefined;
  if (releasedAt === undefined || !present.every(({ state }) => SILENT.has(state))) return false;
  const { record } = input.memory;
  const stoppedBy = releasedAt + TERMINATION_GRACE_PERIOD_MS;
  if (record && record.holder !== '' && record.since > stoppedBy) return false;
  if (present.some(({ observation }) => lastRenewedAt(observation) > stoppedBy)) return false;
  const wasThere = ({ observation }: Standing) => lastRenewedAt(observation) >= releasedAt - HEARD_WITHIN_MS;
  return lost.every(wasThere) || left.filter(wasThere).length > 1;
}

/**
 * Returns the time of the last known release. If none is known, but the Lease looks released and is not reserved for a
 * known holder, estimates this time from renewTime. Otherwise, or if a holder has provably ended since, returns undefined.
 */
function releaseOf({ memory }: ElectionInput, now: Now): Instant | undefined {
  const { record, withdrawals, endedAt } = memory;
  const last = Math.max(...withdrawals.values());
  if (withdrawals.size > 0) return last === endedAt ? undefined : last;
  const isReleased =
    record?.holder === '' &&
    record.leaseDurationSeconds === 1 &&
    reservationFor(blockingBeliefs(memory), now.monotonic)?.holder === undefined;
  if (!isReleased || record.renewTime === undefined) return undefined;
  return Math.min(record.since, now.monotonic - Number(now.wall - record.renewTime) / 1000);
}

/** Returns the time since which the Lease counts as unled; undefined if it is held, or if this time is unknown. */
export function unledSince({ memory }: ElectionInput, tenure: Tenure): Instant | undefined {
  if (tenure.kind !== 'vacant') return undefined;
  switch (tenure.need) {
    case 'LeaseExpired':
      return expiryOf(memory);
    case 'LeaseReleased':
    case 'HolderEnded':
    case 'LeaseFenced':
    case 'GrantRevised':
      return memory.record?.since;
    case 'LeaseMissing':
      return tenure.reservation?.from;
  }
}
