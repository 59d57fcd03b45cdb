import { believesUntil } from '../election/lease-memory.ts';
import {
  type CandidateState,
  type ElectionInput,
  surveyCandidates,
  surveyTenure,
  type Tenure,
} from '../election/survey.ts';
import type { Instant, Now } from '../election/time.ts';
import type { ElectionRecords } from './election-records.ts';
import type { LeaseKey } from './lease-key.ts';

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
  readonly candidates: Readonly<Record<CandidateState, number>>;
}

/** Looks at every Lease that has candidates, by what this process has seen of them; changes nothing. */
export function surveyElections(records: ElectionRecords, now: Now): ElectionsSurvey {
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
  let leases = 0;
  for (const key of records.contestedLeases()) {
    leases++;
    const input = records.gather(key);
    const tenure = surveyTenure(input, now.monotonic);
    if (tenure.kind === 'vacant') unled.push({ key, since: unledSince(input, tenure) });
    for (const { state } of surveyCandidates(input, tenure, now)) candidates[state]++;
  }
  return { leases, unled, candidates };
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
      return memory.record?.since;
    case 'LeaseMissing':
      return memory.reservation?.from;
  }
}
