import type { Reason } from '../election/decision.ts';
import { believesUntil } from '../election/lease-memory.ts';
import {
  type CandidateState,
  type ElectionInput,
  type Standing,
  surveyCandidates,
  surveyTenure,
  type Tenure,
} from '../election/survey.ts';
import type { Instant, Now } from '../election/time.ts';
import type { ElectionRecords } from './election-records.ts';
import type { LeaseKey } from './lease-key.ts';

/** What a candidate counts for that can lead, or may turn out to be able to. */
const MAY_LEAD: ReadonlySet<CandidateState> = new Set(['Live', 'Awaiting', 'Idle', 'Withdrawn', 'Lapsed']);

/** What a candidate counts for that has stopped answering, be it long ago. */
const SILENT: ReadonlySet<CandidateState> = new Set(['Unresponsive', 'Expired']);

/** A Lease that has candidates but no valid holder. */
export interface UnledLease {
  readonly key: LeaseKey;
  /** Since when it has had no valid holder, as far as this process has seen that; undefined when it never saw it. */
  readonly since: Instant | undefined;
}

/** How all Leases that somebody is a candidate for stand at one moment. */
export interface ElectionsSurvey {
  readonly leases: number;
  readonly unled: readonly UnledLease[];
  /** Leases of which candidates have stopped answering, and none but the holder is left to lead. */
  readonly withoutSuccessor: number;
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
    yield { key, input, tenure, standings: surveyCandidates(input, tenure, now), reason: reasonOf(key) };
  }
}

/** Adds up how all Leases stand. */
export function surveyElections(elections: Iterable<SurveyedElection>): ElectionsSurvey {
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
  let leases = 0;
  let withoutSuccessor = 0;
  for (const { key, input, tenure, standings, reason } of elections) {
    for (const { state } of standings) candidates[state]++;
    if (reason) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    // What only finalizers keep is nobody's candidate any more.
    if (standings.every(({ state }) => state === 'Deleting')) continue;
    leases++;
    if (tenure.kind === 'vacant') unled.push({ key, since: unledSince(input, tenure) });
    if (lacksSuccessor(standings)) withoutSuccessor++;
  }
  return { leases, unled, withoutSuccessor, reasons, candidates };
}

/** A component that runs only once has no successor either, but nobody who fails to answer. */
function lacksSuccessor(standings: readonly Standing[]): boolean {
  return (
    standings.some(({ state }) => SILENT.has(state)) &&
    standings.every(({ state, isHolder }) => isHolder || !MAY_LEAD.has(state))
  );
}

/** Since when a vacant Lease has had no valid holder, as far as this process has seen that. */
export function unledSince(
  { memory }: ElectionInput,
  { need }: Extract<Tenure, { kind: 'vacant' }>,
): Instant | undefined {
  switch (need) {
    case 'LeaseExpired':
      return believesUntil(memory);
    case 'LeaseReleased':
    case 'GrantRevised':
      return memory.record?.since;
    case 'LeaseMissing':
      return memory.reservation?.from;
  }
}
