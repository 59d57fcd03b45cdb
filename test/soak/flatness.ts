/** The used memory at one moment, after a garbage collection. */
export interface MemoryPoint {
  readonly atMs: number;
  readonly bytes: number;
  /** Number of elections so far. */
  readonly elections: number;
  /** Number of Events sent so far. */
  readonly events: number;
}

/** Whether the memory is flat, with the evidence. */
export interface Flatness {
  readonly growthBytes: number;
  readonly boundBytes: number;
  /** Elections between the two compared moments. */
  readonly elections: number;
  readonly isFlat: boolean;
}

/** Half of the smallest leak to detect, 1 kB per election: for example a map entry that is never deleted. */
const BOUND_BYTES_PER_ELECTION = 512;
/** The same work varies by this much, depending on the moment. */
const NOISE_BYTES = 1024 * 1024;
/** The coordinator remembers this many Events, like client-go, to count up repeats: this is not a leak. */
const REMEMBERED_EVENTS = 4096;
/** Measured with a heap snapshot: 3.7 MiB for 3,900 of them, with their texts, names and similarity keys. */
const BYTES_PER_EVENT = 1024;
/**
 * Warm-up, in which code is compiled and fixed-size pools and caches fill: this share of the time, at least this
 * long.
 */
const WARM_UP = 1 / 4;
const SHORTEST_WARM_UP_MS = 300_000;
/** A shorter run has too little time after the warm-up. */
const SHORTEST_MS = 2 * SHORTEST_WARM_UP_MS;
/** A run must not be too short because of one sample. */
const SLACK_MS = 30_000;

/**
 * Compares the lower envelope of the used memory in the first third after the warm-up with that in the last third. It
 * uses the lowest points, because pending work only adds to the kept memory. Undefined if the run was too short.
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
