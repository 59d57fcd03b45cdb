import type { LeaseKey } from '../coordination/lease-key.ts';
import { reservationFor } from '../election/beliefs.ts';
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
import { HEARD_WITHIN_MS, heardAt, noteRedundancy, type Redundancy } from './redundancy.ts';

/** What a candidate counts for that can lead, or may turn out to be able to. */
const MAY_LEAD: ReadonlySet<CandidateState> = new Set(['Live', 'Awaiting', 'Idle', 'Withdrawn', 'Lapsed']);

/** What a candidate counts for that has stopped answering, be it long ago. */
const SILENT: ReadonlySet<CandidateState> = new Set(['Unresponsive', 'Expired']);

/** Redundancy that was lost longer ago than this is missed by nobody any more. */
const REDUNDANCY_MISSED_MS = 24 * 60 * 60_000;

/** How much later than its leader the rest of a component ends when all of it is told to: what Kubernetes grants to a pod. */
const LAST_WORDS_MS = 30_000;

/** A Lease that has candidates but no valid holder. */
export interface UnledLease {
  readonly key: LeaseKey;
  /** Since when it has had no valid holder, as far as this process has seen that; undefined when it never saw it. */
  readonly since: Instant | undefined;
}

/** How all Leases that somebody is a candidate for stand at one moment. */
export interface ElectionsSurvey {
  readonly leases: number;
  /** Leases without valid holder, but for those whose candidates have all ended in good order. */
  readonly unled: readonly UnledLease[];
  /** Leases that lost their redundancy: who could have led stopped answering, and none but the holder is left. */
  readonly withoutSuccessor: number;
  /** What the next survey has to know of this one. */
  readonly redundancy: Redundancy;
  /** Leases by the reason of what was last decided about them. */
  readonly reasons: ReadonlyMap<Reason, number>;
  readonly candidates: Readonly<Record<CandidateState, number>>;
}

/** How one Lease that somebody is a candidate for stands, by what this process has seen of it. */
export interface SurveyedElection {
  readonly key: LeaseKey;
  readonly input: ElectionInput;
  readonly tenure: Tenure;
  readonly standings: readonly Standing[];
  /** When it was looked at. */
  readonly now: Now;
  /** The reason of what was last decided; undefined where this replica has not decided anything. */
  readonly reason: Reason | undefined;
}

/** Looks at one Lease after the other; changes nothing. */
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

/** Adds up how all Leases stand; `known` is what the survey before found of their redundancy. */
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
    // What only finalizers keep is nobody's candidate any more.
    const left = standings.filter(({ state }) => state !== 'Deleting');
    if (left.length === 0) continue;
    leases++;
    noteRedundancy(redundancy, left, known, now);
    const present = left.filter((standing) => !hasSaidItGoes(standing, input));
    const lost = lostOf(present, redundancy, now.monotonic);
    if (tenure.kind === 'vacant') {
      if (hasEndedInOrder(left, present, lost, input, now)) continue;
      unled.push({ key, since: unledSince(input, tenure) });
    }
    if (lost.length > 0 && !present.some(canFollow)) withoutSuccessor++;
  }
  return { leases, unled, withoutSuccessor, redundancy, reasons, candidates };
}

/** Whether a candidate released the Lease, and has been silent since: it ended by its own word. */
function hasSaidItGoes({ candidate, observation, isHolder }: Standing, { memory }: ElectionInput): boolean {
  const releasedAt = memory.withdrawals.get(candidate.name);
  return releasedAt !== undefined && !isHolder && observation.unchangedSince <= releasedAt;
}

function canFollow({ state, isHolder }: Standing): boolean {
  return !isHolder && MAY_LEAD.has(state);
}

/**
 * Those that fell silent beside another candidate. A component that runs only once has no successor either, and nothing to
 * lose: not when it crashes, nor while its old and its new pod meet in an update.
 */
function lostOf(standings: readonly Standing[], redundancy: Redundancy, at: Instant): readonly Standing[] {
  return standings.filter(
    (standing) =>
      SILENT.has(standing.state) &&
      redundancy.has(standing.candidate.uid) &&
      at - heardAt(standing) < REDUNDANCY_MISSED_MS,
  );
}

/**
 * Whether nobody leads a vacant Lease because all of its component was told to end, as by scaling it to nothing: its leader
 * released it, and of the others (`present`) none has been heard of since. They say nothing when they end. But if there was
 * nobody left to end together with the leader, as the others (`lost`) had been silent before, these hang.
 */
function hasEndedInOrder(
  left: readonly Standing[],
  present: readonly Standing[],
  lost: readonly Standing[],
  input: ElectionInput,
  now: Now,
): boolean {
  if (present.length === 0) return true;
  const releasedAt = releaseOf(input, now);
  if (releasedAt === undefined || !present.every(({ state }) => SILENT.has(state))) return false;
  const { record } = input.memory;
  const isHeard = present.some((standing) => heardAt(standing) > releasedAt + LAST_WORDS_MS);
  const isLedSince =
    record !== undefined && record.holder !== '' && record.since > releasedAt + LAST_WORDS_MS;
  if (isHeard || isLedSince) return false;
  const wasThere = (standing: Standing) => heardAt(standing) >= releasedAt - HEARD_WITHIN_MS;
  return lost.every(wasThere) || left.filter(wasThere).length > 1;
}

/** When the Lease was last released: as seen here or, from before that, as it says itself. */
function releaseOf({ memory }: ElectionInput, now: Now): Instant | undefined {
  const { record, withdrawals } = memory;
  if (withdrawals.size > 0) return Math.max(...withdrawals.values());
  const isReleased =
    record?.holder === '' &&
    record.leaseDurationSeconds === 1 &&
    reservationFor(blockingBeliefs(memory), now.monotonic)?.holder === undefined;
  if (!isReleased || record.renewTime === undefined) return undefined;
  return Math.min(record.since, now.monotonic - Number(now.wall - record.renewTime) / 1000);
}

/** Since when a Lease has had no valid holder, as far as this process has seen that; undefined while it has one. */
export function unledSince({ memory }: ElectionInput, tenure: Tenure): Instant | undefined {
  if (tenure.kind !== 'vacant') return undefined;
  switch (tenure.need) {
    case 'LeaseExpired':
      return expiryOf(memory);
    case 'LeaseReleased':
    case 'LeaseFenced':
    case 'GrantRevised':
      return memory.record?.since;
    case 'LeaseMissing':
      return tenure.reservation?.from;
  }
}
