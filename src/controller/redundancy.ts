import type { Instant, Now } from '../election/model.ts';
import type { Standing } from '../election/view.ts';

/** The last renewal of each redundant candidate, by uid. Another candidate could have succeeded it then. */
export type Redundancy = ReadonlyMap<string, Instant>;

/** Minimum overlap of redundant candidates, in ms: longer than in a rolling update of a component with one replica. */
const OVERLAP_MS = 10 * 60_000;

/** A candidate renews within this time, in ms: client-go every 5 minutes, or after a ping at 6 minutes (rule 1). */
export const HEARD_WITHIN_MS = 7 * 60_000;

/** Time of the candidate's last renewal. If this process did not see it, the candidate's renewTime. */
export function heardAt({ observation }: Standing): Instant {
  return observation.unchangedSince - observation.ageAtFirstSightMs;
}

/** Adds the redundant candidates of one Lease: from the last survey (`known`), and those that are redundant now. */
export function noteRedundancy(
  redundancy: Map<string, Instant>,
  standings: readonly Standing[],
  known: Redundancy,
  now: Now,
): void {
  const unknown = new Set<string>();
  for (const standing of standings) {
    const { uid } = standing.candidate;
    const heard = heardAt(standing);
    if (known.get(uid) === heard) redundancy.set(uid, heard);
    else unknown.add(uid);
  }
  // The usual case: no candidate has renewed since the last survey.
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

/** Undefined if shorter than the overlap. Uses creationTimestamp: this process may have started later. */
function lifeOf(standing: Standing, now: Now): Life | undefined {
  const { uid, creationTimestamp } = standing.candidate;
  if (creationTimestamp === undefined) return undefined;
  const createdAt = now.monotonic - Number(now.wall - creationTimestamp) / 1000;
  const life = { uid, createdAt, heardAt: heardAt(standing) };
  return life.heardAt - createdAt >= OVERLAP_MS ? life : undefined;
}

/** Yields the `unknown` lives that overlapped with another. Visits each life once: there may be thousands. */
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
    // If `life` is the oldest, the second oldest must have existed for long enough at the last renewal of `life`.
    // Otherwise an older candidate exists, and the check is always true: each life has at least this length.
    if (unknown.has(life.uid) && secondOldestAt <= life.heardAt - OVERLAP_MS) yield life;
  }
}
