import { humanDuration } from '../../support/human-duration.ts';
import { parseTime } from '../schema/time-text.ts';
import type { ColumnDefinition } from './definition.ts';

/** The time since a timestamp of either kind; `nowSeconds` is Unix time. */
export function timeSince(timestamp: unknown, nowSeconds: number): string {
  if (typeof timestamp !== 'string') return '<unknown>';
  const moment = parseTime(timestamp, timestamp.includes('.') ? 'microTime' : 'time');
  if ('problem' in moment) return '<unknown>';
  return humanDuration(nowSeconds - moment.seconds - moment.nanoseconds / 1e9);
}

/** The column that most tables end with. */
export const ageColumn: ColumnDefinition = {
  name: 'Age',
  type: 'string',
  description: 'How long ago the object was created.',
  priority: 0,
  cell: ({ metadata }, nowSeconds) => timeSince(metadata.creationTimestamp, nowSeconds),
};
