import { formatMicroTime } from '../coordination/micro-time.ts';
import type { DemoState } from './demo-state.ts';
import type { Happening } from './happening.ts';

/** `13:24:05.123`, in UTC as everything in Kubernetes. */
export function timeOfDay(at: bigint): string {
  return formatMicroTime(at).slice(11, 23);
}

/** One line for what happened; the time is left to the caller. */
export function describeHappening({ who, reason, text }: Happening): string {
  return `${who} ${reason === undefined ? '' : `${reason}: `}${text}`;
}

/** All that matters of a state, in one line. */
export function describeState({ lease, candidates, reason }: DemoState): string {
  const rows = candidates.map(({ name, condition }) => `${name} ${condition}`).join(', ') || 'none';
  return `${describeLease(lease)}; candidates: ${rows}; last decision: ${reason ?? 'none'}`;
}

function describeLease(lease: DemoState['lease']): string {
  if (!lease) return 'there is no Lease';
  const { holder, preferredHolder, strategy, remainingMs } = lease;
  const preferred = preferredHolder === '' ? '' : `, ${preferredHolder} is preferred`;
  const validity = remainingMs > 0 ? `for ${seconds(remainingMs)} more` : 'but it has run out';
  const held = holder === '' ? 'nobody holds the Lease' : `${holder} holds the Lease ${validity}`;
  return `${held}${preferred}, strategy ${strategy || 'none'}`;
}

/** `3.2 s` */
export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
