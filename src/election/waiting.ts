import { ackDueAt, liveUntil } from './candidate-observation.ts';
import { lapsedUntil, type Standing } from './standing.ts';
import { earliest, type Instant } from './time.ts';
import type { View } from './view.ts';

/** True while a ping of ours is neither answered nor given up on. */
export function isPingPending(view: View, { observation: { ping } }: Standing): boolean {
  return ping !== undefined && ping.ackedAt === undefined && view.at < ackDueAt(ping, view.input.settings);
}

/** When the wait for the next of the answers that are awaited is over; Infinity: none is. */
export function ackDeadline(view: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { state, observation } of view.standings) {
    const { ping } = observation;
    if (state === 'Awaiting' && ping) first = Math.min(first, ackDueAt(ping, view.input.settings));
  }
  return first;
}

/** When the first of those who are alive by an ack or a renewal, and not by holding the Lease, no longer counts as alive; Infinity: nobody is. */
export function livenessExpiry({ standings, input: { memory, settings } }: View): Instant {
  let first = Number.POSITIVE_INFINITY;
  for (const { isAlive, isHolder, observation } of standings) {
    if (isAlive && !isHolder) first = Math.min(first, liveUntil(observation, memory.decidedAt, settings));
  }
  return first;
}

/** When the first of those who are held back takes part again. */
export function reinstatementTime({ standings, input, at }: View): Instant | undefined {
  const { withdrawals } = input.memory;
  let first: Instant | undefined;
  for (const { state, candidate } of standings) {
    if (state === 'Withdrawn')
      first = earliest([first, (withdrawals.get(candidate.name) ?? at) + input.settings.electionDurationMs]);
    else if (state === 'Lapsed') first = earliest([first, lapsedUntil(input, candidate.name, at)]);
  }
  return first;
}

/** When the first of those who have a priority that ends loses it, as our two clocks stand now (rule 16). */
export function priorityEnd({ standings, now, at }: View): Instant | undefined {
  let first: Instant | undefined;
  for (const { candidate } of standings) {
    const { end } = candidate.priority;
    if (end) first = earliest([first, at + Number(end.at - now.wall) / 1000]);
  }
  return first;
}
