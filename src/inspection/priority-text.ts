import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Priority } from '../election/model.ts';
import type { Standing } from '../election/standing.ts';

/** A priority that has been set, and for how many of a Lease's candidates. */
export interface PriorityCount {
  readonly value: number;
  /** When it ends, in RFC 3339; undefined: it lasts. */
  readonly until: string | undefined;
  readonly candidates: number;
}

/** When a priority ends, in RFC 3339 to the second; undefined: it lasts. */
export function endOf({ end }: Priority): string | undefined {
  return end && formatMicroTime(end.at).replace(/\.\d+Z$/, 'Z');
}

/** `5`, `-1000 until 2026-11-22T23:10:00Z` */
export function describePriority(value: number, until: string | undefined): string {
  return until === undefined ? String(value) : `${value} until ${until}`;
}

/** Whether anything but 0 for good counts. */
export function isPrioritySet({
  value,
  until,
}: {
  readonly value: number;
  readonly until?: string | undefined;
}) {
  return value !== 0 || until !== undefined;
}

/** The priorities that are set, the highest first. */
export function countPriorities(standings: readonly Standing[]): readonly PriorityCount[] {
  const set = standings
    .map(({ candidate: { priority } }) => ({ value: priority.value, until: endOf(priority) }))
    .filter(isPrioritySet);
  const groups = Map.groupBy(set, ({ value, until }) => describePriority(value, until));
  return [...groups.values()]
    .flatMap((those) => those.slice(0, 1).map((one) => ({ ...one, candidates: those.length })))
    .sort((a, b) => b.value - a.value);
}
