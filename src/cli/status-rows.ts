import type { LeaseStatus } from '../inspection/lease-status.ts';
import { humanDuration } from '../support/human-duration.ts';
import type { Style } from './paint.ts';
import type { Cell } from './text-table.ts';

/** Which columns a table of Leases has. */
export interface StatusColumns {
  readonly hasNamespace: boolean;
  readonly isWide: boolean;
}

const NONE = '<none>';

/** The titles of the columns. */
export function statusHeader({ hasNamespace, isWide }: StatusColumns): readonly string[] {
  return [
    ...(hasNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'HOLDER', 'PREFERRED', 'STRATEGY', 'CANDIDATES', 'AGE'],
    ...(isWide ? ['RENEWED', 'TRANSITIONS', 'REASON'] : []),
    'WAITING FOR',
  ];
}

/** One Lease as a row; what time alone changes can be left out, to tell whether anything else has. */
export function statusRow(
  status: LeaseStatus,
  { hasNamespace, isWide }: StatusColumns,
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
