import { firstOf } from './first-of.ts';
import { type Standing, standingsIn } from './standing.ts';
import { backoffMs, type Instant } from './time.ts';
import type { View } from './view.ts';
import { isPingPending } from './waiting.ts';

/** How many silent candidates one round asks at the most. */
const MOST_ASKED = 64;
const ROUND_BACKOFF_CAP_MS = 60_000;

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

/** When silent candidates are asked again, while nobody leads. */
export function nextRoundAt(view: View): Instant {
  return view.input.memory.rounds.lastAt + roundBackoffMs(view);
}

/** How long the round that is `ahead` of the next one comes after the one before it, in milliseconds. */
export function roundBackoffMs({ input: { memory, settings } }: View, ahead = 0): number {
  return backoffMs(
    Math.max(1, memory.rounds.count + ahead),
    settings.electionDurationMs,
    ROUND_BACKOFF_CAP_MS,
  );
}
