import { pingEach } from './actions.ts';
import { contendersAmong, whomToAsk } from './ask.ts';
import { liveUntil } from './candidate-observation.ts';
import type { PingCandidate } from './decision.ts';
import { lapsedUntil, standingsIn } from './standing.ts';
import type { Instant } from './time.ts';
import type { View } from './view.ts';

/**
 * Pings to those who must have answered for the next leader to be known at `moment`, when the Lease becomes free: whoever
 * counts now but will not any more by then has to answer once more. Nobody is asked whose answer could change nothing, nor
 * `except`.
 */
export function askAhead(view: View, moment: Instant, except?: string): readonly PingCandidate[] {
  const { input } = view;
  const { memory, settings } = input;
  // Whoever lets its grant run out then may be held back by it (rule 7).
  const standings = standingsIn(view.standings, 'Live', 'Awaiting', 'Idle').filter(
    ({ candidate: { name } }) => name !== except && moment >= (lapsedUntil(input, name, moment) ?? moment),
  );
  const willCount = new Set(
    standings.filter(({ observation }) => liveUntil(observation, memory.decidedAt, settings) > moment),
  );
  const present = [...willCount].map(({ candidate }) => candidate);
  const absent = standings.filter((standing) => !willCount.has(standing));
  return pingEach(view, whomToAsk(view, contendersAmong(present, absent)), 'expiry');
}
