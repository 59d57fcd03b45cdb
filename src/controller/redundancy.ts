import type { Instant, Now } from '../election/model.ts';
import type { Standing } from '../election/view.ts';

/**
 * The candidates that had another one beside them when they were last heard of, by uid, with when that was: had one of them
 * led, and failed, the other could have followed. It outlives the other one's LeaseCandidate.
 */
export type Redundancy = ReadonlyMap<string, Instant>;

/**
 * For how long two candidates must have been there together to count as redundant: longer than the old and the new pod of a
 * component with one replica are in a rolling update.
 */
const OVERLAP_MS = 10 * 60_000;

/**
 * A candidate that runs is heard of this often at least, in milliseconds: client-go's renew every 5 minutes, and one that is
 * silent for 6 is asked (rule 1).
 */
export const HEARD_WITHIN_MS = 7 * 60_000;

/** When the candidate last renewed: as seen here or, from before that, as it claims. */
export function heardAt({ observation }: Standing): Instant {
  return observation.unchangedSince - observation.ageAtFirstSightMs;
}

/** Adds to `redundancy` those candidates of one Lease that had another one beside them, as far as `known` or seen now. */
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
  // Most have not renewed since the survey before.
  if (unknown.size === 0) return;
  const lives = standings.flatMap((standing) => lifeOf(standing, now) ?? []);
  for (const life of unknownWithCompany(lives, unknown)) redundancy.set(life.uid, life.heardAt);
}

/** From when to when a candidate is known to have been there. */
interface Life {
  readonly uid: string;
  readonly createdAt: Instant;
  readonly heardAt: Instant;
}

/**
 * Undefined where it was too short to count. When it began is the server's word, by its clock, which this process takes to
 * agree with its own: it must not have to watch for ten minutes before it knows.
 */
function lifeOf(standing: Standing, now: Now): Life | undefined {
  const { candidate } = standing;
  if (candidate.creationTimestamp === undefined) return undefined;
  const createdAt = now.monotonic - Number(now.wall - candidate.creationTimestamp) / 1000;
  const life = { uid: candidate.uid, createdAt, heardAt: heardAt(standing) };
  return life.heardAt - createdAt >= OVERLAP_MS ? life : undefined;
}

/**
 * Those of `unknown` that another one had been with for long enough when they were last heard of, and was still there. Of a
 * Lease with thousands of candidates each is looked at once.
 */
function* unknownWithCompany(lives: readonly Life[], unknown: ReadonlySet<string>) {
  const latestFirst = [...lives].sort((a, b) => b.heardAt - a.heardAt);
  let oldest: Life | undefined;
  let secondOldest: Life | undefined;
  let next = 0;
  for (const life of latestFirst) {
    for (
      let other = latestFirst[next];
      other && other.heardAt >= life.heardAt - HEARD_WITHIN_MS;
      other = latestFirst[++next]
    ) {
      if (!oldest || other.createdAt < oldest.createdAt) [oldest, secondOldest] = [other, oldest];
      else if (!secondOldest || other.createdAt < secondOldest.createdAt) secondOldest = other;
    }
    // Where this one is not the oldest itself, the oldest has been there for longer than it has: only the second has to be told.
    if (secondOldest && unknown.has(life.uid) && secondOldest.createdAt <= life.heardAt - OVERLAP_MS)
      yield life;
  }
}
