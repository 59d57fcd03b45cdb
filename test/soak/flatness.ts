/** How much memory was in use at one moment, after garbage was collected. */
export interface MemoryPoint {
  readonly atMs: number;
  readonly bytes: number;
  /** How many elections there had been. */
  readonly elections: number;
  /** How many Events had been sent. */
  readonly events: number;
}

/** Whether memory is flat, and by what that was judged. */
export interface Flatness {
  readonly growthBytes: number;
  readonly boundBytes: number;
  /** Elections between the two moments that are compared. */
  readonly elections: number;
  readonly isFlat: boolean;
}

/** Half of the smallest leak that is to be found, 1 kB for each election: an entry in a map that nobody deletes. */
const BOUND_BYTES_PER_ELECTION = 512;
/** The same work leaves so much more or less in use, depending on the moment. */
const NOISE_BYTES = 1024 * 1024;
/** The coordinator remembers so many Events, as client-go does, to count up what repeats: that much is no leak. */
const REMEMBERED_EVENTS = 4096;
/** Measured by a heap snapshot: 3.7 MiB for 3,900 of them, with their texts, names and what is alike. */
const BYTES_PER_EVENT = 1024;
/** Code is compiled, pools and caches of a fixed size fill up: this share of the time does not count, and no less than that. */
const WARM_UP = 1 / 4;
const SHORTEST_WARM_UP_MS = 300_000;
/** Of less, there is too little after the warm-up. */
const SHORTEST_MS = 2 * SHORTEST_WARM_UP_MS;
/** A sample more or less does not make a run too short. */
const SLACK_MS = 30_000;

/**
 * Compares the lower envelope of the memory in use in the first third after the warm-up with that in the last: the lowest
 * points, as whatever is under way at a moment only adds to what is kept for good. Undefined where the run was too short.
 */
export function judgeFlatness(points: readonly MemoryPoint[]): Flatness | undefined {
  const [from, to] = [points[0]?.atMs ?? 0, points.at(-1)?.atMs ?? 0];
  if (to - from < SHORTEST_MS - SLACK_MS) return undefined;
  const warmAt = from + Math.max(SHORTEST_WARM_UP_MS, WARM_UP * (to - from));
  const third = (to - warmAt) / 3;
  const first = lowest(points.filter(({ atMs }) => atMs >= warmAt && atMs < warmAt + third));
  const last = lowest(points.filter(({ atMs }) => atMs > to - third));
  if (!first || !last) return undefined;
  const growthBytes = last.bytes - first.bytes;
  const elections = last.elections - first.elections;
  const remembered = Math.min(REMEMBERED_EVENTS, last.events) - Math.min(REMEMBERED_EVENTS, first.events);
  const boundBytes =
    Math.max(NOISE_BYTES, BOUND_BYTES_PER_ELECTION * elections) + BYTES_PER_EVENT * remembered;
  return { growthBytes, boundBytes, elections, isFlat: growthBytes <= boundBytes };
}

function lowest(points: readonly MemoryPoint[]): MemoryPoint | undefined {
  return points.reduce<MemoryPoint | undefined>(
    (low, point) => (low && low.bytes <= point.bytes ? low : point),
    undefined,
  );
}
