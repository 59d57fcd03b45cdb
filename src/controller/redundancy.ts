import { lastRenewedAt } from '../election/candidate-observation.ts';
import type { Instant, Now } from '../election/model.ts';
import type { Standing } from '../election/view.ts';

/**
 * The time of the last renewal of each redundant candidate, by uid. A candidate is redundant if another candidate of
 * its Lease existed together with it during all of the last OVERLAP_MS before this time.
 */
export type Redundancy = ReadonlyMap<string, Instant>;

/**
 * Candidates are redundant only if they existed together for at least this time, in ms. In a rolling update of a
 * component with one replica, the old and the new candidate exist together for a shorter time.
 */
const OVERLAP_MS = 10 * 60_000;

/**
 * A live candidate renews at least once in this time, in ms: client-go renews every 5 minutes, and the coordinator
 * pings a candidate that has not renewed for 6 minutes (rule 1).
 */
export const HEARD_WITHIN_MS = 7 * 60_000;

/**
 * Adds the redundant candidates of one Lease to `redundancy`. A candidate that was redundant at the last survey
 * (`known`) stays redundant if it has not renewed since. This function checks all other candidates again.
 */
export function noteRedundancy(
  redundancy: Map<string, Instant>,
  standings: readonly Standing[],
  known: Redundancy,
  now: Now,
): void {
  const unknown = new Set<string>();
  for (const standing of standings) {
    const { uid } = standing.candidate;
    const heard = lastRenewedAt(standing.observation);
    if (known.get(uid) === heard) redundancy.set(uid, heard);
    else unknown.add(uid);
  }
  // Skip the search if all candidates were redundant at the last survey, and none has renewed since.
  if (unknown.size === 0) return;
  const lives = standings.flatMap((standing) => lifeOf(standing, now) ?? []);
  for (const life of unknownWithCompany(lives, unknown)) redundancy.set(life.uid, life.heardAt);
}

/** The time from the creation of a candidate to its last renewal. */
interface Life {
  readonly uid: string;
  readonly createdAt: Instant;
  readonly heardAt: Instant;
}

/**
 * Returns the life of a candidate; undefined if it is shorter than OVERLAP_MS or has no known start. Uses
 * creationTimestamp, because this process may have started after the creation.
 */
function lifeOf(standing: Standing, now: Now): Life | undefined {
  const { uid, creationTimestamp } = standing.candidate;
  if (creationTimestamp === undefined) return undefined;
  const createdAt = now.monotonic - Number(now.wall - creationTimestamp) / 1000;
  const life = { uid, createdAt, heardAt: lastRenewedAt(standing.observation) };
  return life.heardAt - createdAt >= OVERLAP_MS ? life : undefined;
}

/**
 * Yields the lives of redundant candidates in `unknown`: another candidate existed during all of the last OVERLAP_MS
 * of such a life. A candidate counts as existing until HEARD_WITHIN_MS after its last renewal. There may be thousands
 * of lives, so this function does not compare every pair.
 */
function* unknownWithCompany(lives: readonly Life[], unknown: ReadonlySet<string>) {
  const latestFirst = lives.toSorted((a, b) => b.heardAt - a.heardAt);
  let oldestAt = Number.POSITIVE_INFINITY;
  let secondOldestAt = Number.POSITIVE_INFINITY;
  let next = 0;
  for (const life of latestFirst) {
    const since = life.heardAt - HEARD_WITHIN_MS;
    for (let other = latestFirst[next]; other && other.heardAt >= since; other = latestFirst[++next]) {
      secondOldestAt = Math.min(secondOldestAt, Math.max(oldestAt, other.createdAt));
      oldestAt = Math.min(oldestAt, other.createdAt);
    }
    // If `life` is the oldest, the second oldest must have existed for OVERLAP_MS at the last renewal of `life`.
    // If `life` is not the oldest, the check is always true, because each life lasts at least OVERLAP_MS.
    if (unknown.has(life.uid) && secondOldestAt <= life.heardAt - OVERLAP_MS) yield life;
  }
}
