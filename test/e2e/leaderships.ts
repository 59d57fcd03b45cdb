import type { ElectorEvent } from '../control-plane/electors.ts';

/** A time during which one program led a Lease, in microseconds of the wall clock; `until` is absent while it leads. */
export interface Leadership {
  readonly id: string;
  readonly from: number;
  readonly until: number | undefined;
}

/** Who led, and when, among `ids`, in the order in which they began. */
export function leadershipsOf(
  events: readonly ElectorEvent[],
  ids: (id: string) => boolean,
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
 * client-go empties its Lease before it calls back that it has stopped: where electors release, the next one may be
 * reported this much too early. Two leaders that are a fault last for seconds.
 */
export const RELEASE_REPORTED_LATE_MS = 500;

/** Each time that two programs led at once for longer than `toleratedMs`, described; none of them where all is well. */
export function overlapsOf(leaderships: readonly Leadership[], toleratedMs: number): readonly string[] {
  return leaderships.flatMap((later, index) =>
    leaderships.slice(0, index).flatMap((earlier) => {
      const end = Math.min(
        earlier.until ?? Number.POSITIVE_INFINITY,
        later.until ?? Number.POSITIVE_INFINITY,
      );
      const overlapMs = (end - later.from) / 1000;
      if (overlapMs <= toleratedMs) return [];
      return [`${describe(earlier)}, ${describe(later)}: ${overlapMs.toFixed(1)} ms of both`];
    }),
  );
}

function describe({ id, from, until }: Leadership): string {
  const time = (micros: number) => new Date(micros / 1000).toISOString();
  return `${id} led from ${time(from)} to ${until === undefined ? 'the end' : time(until)}`;
}
