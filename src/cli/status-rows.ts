import type { LeaseStatus } from '../inspection/lease-status.ts';
import { describePriority } from '../inspection/wording.ts';
import { humanDuration } from '../support/text.ts';
import type { Style } from './paint.ts';
import type { Cell } from './text-table.ts';

/** Which columns a table of Leases has. */
export interface StatusColumns {
  readonly hasNamespace: boolean;
  readonly isWide: boolean;
  /** Whether any candidate has a priority. */
  readonly hasPriorities: boolean;
}

const NONE = '<none>';
/** In one line. */
const MOST_PRIORITIES = 3;

/** The titles of the columns. */
export function statusHeader({ hasNamespace, isWide, hasPriorities }: StatusColumns): readonly string[] {
  return [
    ...(hasNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'HOLDER', 'PREFERRED', 'STRATEGY', 'CANDIDATES'],
    ...(hasPriorities ? ['PRIORITY'] : []),
    'AGE',
    ...(isWide ? ['RENEWED', 'TRANSITIONS', 'REASON'] : []),
    'WAITING FOR',
  ];
}

/** One Lease as a row; what time alone changes can be left out, to tell whether anything else has. */
export function statusRow(
  status: LeaseStatus,
  { hasNamespace, isWide, hasPriorities }: StatusColumns,
  hasTimes = true,
): readonly Cell[] {
  const { holder, isHeld, reason, waitingFor } = status;
  const style: Style = isHeld ? (waitingFor === undefined ? 'good' : 'warning') : 'bad';
  const seconds = (value: number | undefined) =>
    value === undefined ? NONE : hasTimes ? humanDuration(value) : '';
  const waiting = waitingFor ?? '-';
  return [
    ...(hasNamespace ? [status.namespace] : []),
    status.name,
    // A name without validity leads nobody.
    { text: holder === '' ? NONE : isHeld ? holder : `${holder} (expired)`, style },
    status.preferredHolder || NONE,
    status.strategy || NONE,
    candidatesText(status),
    ...(hasPriorities ? [prioritiesText(status)] : []),
    seconds(status.ageSeconds),
    ...(isWide
      ? [seconds(status.renewedSecondsAgo), String(status.leaseTransitions), { text: reason, style }]
      : []),
    hasTimes ? waiting : waiting.replace(/ in \d+s$/, ''),
  ];
}

/** `2 Live, 1 Idle` */
function candidatesText({ candidates }: LeaseStatus): string {
  const counts = Object.entries(candidates);
  if (counts.length === 0) return '0';
  return counts.map(([state, count]) => `${count} ${state}`).join(', ');
}

/** `1 at 5, 2 at -1000 until 2026-11-22T23:10:00Z` */
function prioritiesText({ priorities }: LeaseStatus): string {
  if (priorities.length === 0) return '-';
  const named = priorities.slice(0, MOST_PRIORITIES);
  const more = priorities.length - named.length;
  const texts = named.map(
    ({ value, until, candidates }) => `${candidates} at ${describePriority(value, until)}`,
  );
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
