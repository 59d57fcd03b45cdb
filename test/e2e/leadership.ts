import type { ElectorEvent } from '../control-plane/electors.ts';

/** Two programs that both believed that they lead the same Lease. */
export interface Overlap {
  readonly lease: string;
  readonly ids: readonly [string, string];
  readonly durationMs: number;
}

/** From when to when one program led. */
interface Term {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

/**
 * client-go empties its Lease before it reports that it has stopped, so that on a clean release the next leader may be
 * reported a moment too early. Two leaders that are a fault last for seconds.
 */
const REPORTING_DELAY_MS = 500;

/** Every time that two electors led one Lease at once, up to the last event; `leaseOf` tells the Lease of an id. */
export function findOverlaps(
  events: readonly ElectorEvent[],
  leaseOf: (id: string) => string,
): readonly Overlap[] {
  const overlaps: Overlap[] = [];
  for (const [lease, terms] of termsByLease(events, leaseOf)) {
    terms.sort((a, b) => a.from - b.from);
    for (const [index, earlier] of terms.entries()) {
      for (const later of terms.slice(index + 1)) {
        const durationMs = Math.min(earlier.to, later.to) - later.from;
        if (later.id !== earlier.id && durationMs > REPORTING_DELAY_MS) {
          overlaps.push({ lease, ids: [earlier.id, later.id], durationMs });
        }
      }
    }
  }
  return overlaps;
}

function termsByLease(
  events: readonly ElectorEvent[],
  leaseOf: (id: string) => string,
): ReadonlyMap<string, Term[]> {
  const terms = new Map<string, Term[]>();
  const since = new Map<string, number>();
  const end = (id: string, to: number) => {
    const from = since.get(id);
    if (from === undefined) return;
    since.delete(id);
    const lease = leaseOf(id);
    terms.set(lease, [...(terms.get(lease) ?? []), { id, from, to }]);
  };
  for (const { id, event, wallMicros } of events) {
    if (event === 'startedLeading') since.set(id, wallMicros / 1000);
    else if (event === 'stoppedLeading' || event === 'crashed') end(id, wallMicros / 1000);
  }
  const now = (events.at(-1)?.wallMicros ?? 0) / 1000;
  for (const id of [...since.keys()]) end(id, now);
  return terms;
}
