import type { Rehearsal } from '../inspection/rehearsal.ts';
import type { Paint } from './paint.ts';
import { printable } from './printable.ts';
import { tableLines } from './text-table.ts';

/** What would happen, a line each, and where it ends. */
export function stepLines(rehearsal: Rehearsal, paint: Paint): readonly string[] {
  const { steps, holder, reason, isSettled } = rehearsal;
  const lines = tableLines(
    steps.map(({ atMs, text, reason: why }) => [
      `  +${(atMs / 1000).toFixed(1)}s`,
      text,
      { text: why ?? '', style: 'dim' },
    ]),
    paint,
  );
  const end = holder === '' ? 'Nobody leads in the end' : `${printable(holder)} leads in the end`;
  return [...lines, `  ${end} (${reason})${isSettled ? '.' : '; it was still going on after 3 minutes.'}`];
}
