import type { ElectorEvent } from './electors.ts';

/** A time during which a program led a Lease, in microseconds of the wall clock; `until` is absent while it leads. */
export interface Leadership {
  readonly id: string;
  readonly from: number;
  readonly until: number | undefined;
}

/** Returns who among `ids` led, and when, in the order of the beginnings. */
export function leadershipsOf(
  events: readonly ElectorEvent[],
  ids: (id: string) => boolean = () => true,
): readonly Leadership[] {
  const open = new Map<string, { id: string; from: number; until: number | undefined }>();
  const all: { id: string; from: number; until: number | undefined }[] = [];
  for (const { id, event, wallMicros } of events) {
    if (!ids(id)) continue;
    if (event === 'startedLeading') {
      const leadership = { id, from: wallMicros, until: undefined };
      open.set(id, leadership);
      all.push(leadership);
    } else if (event === 'stoppedLeading' || event === 'crashed') {
      const leadership = open.get(id);
      if (leadership) leadership.until = wallMicros;
      open.delete(id);
    }
  }
  return all;
}

/**
 * client-go empties its Lease before its callback reports the end. So if electors release, the next leader may be
 * reported this much too early. In a real violation, two leaders last for seconds.
 */
export const RELEASE_REPORTED_LATE_MS = 500;

/**
 * Describes each time that two programs led at once for longer than `toleratedMs`. A program that still leads counts
 * until `now`, in microseconds of the wall clock; by default, for ever.
 */
export function overlapsOf(
  leaderships: readonly Leadership[],
  toleratedMs: number,
  now = Number.POSITIVE_INFINITY,
): readonly string[] {
  return leaderships.flatMap((later, index) =>
    leaderships.slice(0, index).flatMap((earlier) => {
      const overlapMs = (Math.min(earlier.until ?? now, later.until ?? now) - later.from) / 1000;
      if (overlapMs <= toleratedMs) return [];
      return [`${describe(earlier)}, ${describe(later)}: ${overlapMs.toFixed(1)} ms of both`];
    }),
  );
}

/** Two programs that believed at the same time that they led the same Lease. */
export interface Overlap {
  readonly lease: string;
  readonly description: string;
}

/**
 * Returns every time that two programs led one Lease at once, up to the last event. `leaseOf` returns the Lease of an
 * id.
 */
export function findOverlaps(
  events: readonly ElectorEvent[],
  leaseOf: (id: string) => string,
): readonly Overlap[] {
  const now = events.at(-1)?.wallMicros;
  return [...Map.groupBy(events, ({ id }) => leaseOf(id))].flatMap(([lease, ofLease]) =>
    overlapsOf(leadershipsOf(ofLease), RELEASE_REPORTED_LATE_MS, now).map((description) => ({
      lease,
      description,
    })),
  );
}

function describe({ id, from, until }: Leadership): string {
  const time = (micros: number) => new Date(micros / 1000).toISOString();
  return `${id} led from ${time(from)} to ${until === undefined ? 'the end' : time(until)}`;
}
