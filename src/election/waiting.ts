import { ackDueAt, liveUntil } from './candidate-observation.ts';
import { lapsedUntil, type Standing, standingsIn } from './standing.ts';
import { earliest, type Instant } from './time.ts';
import type { View } from './view.ts';

/** True while a ping of ours is neither answered nor given up on. */
export function isPingPending(view: View, { observation: { ping } }: Standing): boolean {
  return ping !== undefined && ping.ackedAt === undefined && view.at < ackDueAt(ping, view.input.settings);
}

/** When the wait for the next of the answers that are awaited is over. */
export function ackDeadline(view: View): Instant | undefined {
  return earliest(
    standingsIn(view.standings, 'Awaiting').map(
      ({ observation: { ping } }) => ping && ackDueAt(ping, view.input.settings),
    ),
  );
}

/** Until when each counts as alive by an ack or a renewal, and not by holding the Lease; a time that is over for the others. */
export function livenessExpiries({ standings, input: { memory, settings } }: View): readonly Instant[] {
  return standings
    .filter(({ isHolder }) => !isHolder)
    .map(({ observation }) => liveUntil(observation, memory.decidedAt, settings));
}

/** When each of those who are held back takes part again. */
export function reinstatementTimes(view: View): readonly (Instant | undefined)[] {
  const { input, at } = view;
  const { withdrawals } = input.memory;
  return [
    ...standingsIn(view.standings, 'Withdrawn').map(
      ({ candidate }) => (withdrawals.get(candidate.name) ?? at) + input.settings.electionDurationMs,
    ),
    ...standingsIn(view.standings, 'Lapsed').map(({ candidate }) => lapsedUntil(input, candidate.name, at)),
  ];
}
