import { firstOf } from './first-of.ts';
import type { Standing } from './survey.ts';
import { isPingPending, standingsIn, type View } from './view.ts';

/** How many silent candidates one round asks at the most. */
const MOST_ASKED = 64;

/**
 * Of those who were silent, whom to ask in this round as nobody leads (rule 3): whose last ping is longest ago, two in the
 * first round, twice as many in each one after it. They are not waited for.
 */
export function reviveSome(view: View): readonly Standing[] {
  const silent = standingsIn(view.standings, 'Unresponsive', 'Expired', 'Lapsed').filter(
    (standing) => !standing.isAlive && !isPingPending(view, standing),
  );
  const count = Math.min(2 ** Math.min(view.input.memory.rounds.count + 1, 6), MOST_ASKED);
  return firstOf(silent, count, (a, b) => lastAskedAt(a) - lastAskedAt(b) || byName(a, b));
}

function lastAskedAt({ observation: { ping } }: Standing): number {
  return ping?.sentAt ?? Number.MIN_SAFE_INTEGER;
}

function byName({ candidate: a }: Standing, { candidate: b }: Standing): number {
  return a.name < b.name ? -1 : 1;
}
