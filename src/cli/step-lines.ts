import type { Rehearsal } from '../inspection/rehearsal.ts';
import { humanDuration, printable, shortened } from '../support/text.ts';
import type { Paint } from './paint.ts';
import { tableLines } from './text-table.ts';

/** What would happen, a line each, and where it ends. */
export function stepLines(rehearsal: Rehearsal, paint: Paint): readonly string[] {
  const lines = tableLines(
    rehearsal.steps.map(({ atMs, text, reason: why }) => [
      `  +${(atMs / 1000).toFixed(1)}s`,
      text,
      { text: why ?? '', style: 'dim' },
    ]),
    paint,
  );
  return [...lines, `  ${endOf(rehearsal)}`];
}

function endOf({ holder: whoever, reason, isSettled, tookMs }: Rehearsal): string {
  const holder = shortened(printable(whoever), 100);
  if (!isSettled) {
    const lasted = humanDuration(tookMs / 1000);
    return `It still goes on after ${lasted}, and ${holder || 'nobody'} holds the Lease (${reason}).`;
  }
  if (holder !== '') return `${holder} leads in the end (${reason}).`;
  switch (reason) {
    case 'NoCandidates':
      return `No candidate is there to lead in the end (${reason}); a program that takes Leases by itself may.`;
    case 'ThirdPartyStrategy':
      return `Another controller says who leads in the end (${reason}).`;
    case 'CoordinatorLease':
      return `Another coordinator takes it by itself (${reason}).`;
    default:
      return `Nobody leads in the end (${reason}).`;
  }
}
