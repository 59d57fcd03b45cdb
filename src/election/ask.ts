import { MOST_ASKED_AT_ONCE } from './actions.ts';
import { sinceRenewalMs } from './candidate-observation.ts';
import { firstOf } from './first-of.ts';
import type { LeaseCandidate } from './model.ts';
import { decideOutcome, decisiveAmong, essentials } from './outcome.ts';
import type { Standing } from './standing.ts';
import { strategies } from './strategies.ts';
import { versionOf } from './version.ts';
import type { View } from './view.ts';
import { isPingPending } from './waiting.ts';

/** How many are asked at once, to begin with. */
const FIRST_ASKED = 2;
const WAVE_MS = 1000;

/** Those of `absent` whose answers could still change what an election among `present` comes to (rule 6). */
export function contendersAmong(
  present: readonly LeaseCandidate[],
  absent: readonly Standing[],
  incumbent?: string,
): readonly Standing[] {
  const candidates = absent.map(({ candidate }) => candidate);
  const decisive = decisiveAmong(present, candidates, incumbent);
  if (decisive.length === absent.length) return absent;
  // They are in the same order.
  let next = 0;
  return absent.filter(({ candidate }) => {
    const isDecisive = candidate === decisive[next];
    if (isDecisive) next++;
    return isDecisive;
  });
}

/**
 * Whom of `contenders` to ask next (rule 6): the best two, and twice as many for every second that the answer has not come
 * that settles it. Those who have been asked and have not answered yet count among them.
 */
export function whomToAsk(view: View, contenders: readonly Standing[]): readonly Standing[] {
  const { askingSince = view.at } = view.input.memory;
  const waves = Math.floor((view.at - askingSince) / WAVE_MS);
  const count = Math.min(FIRST_ASKED * 2 ** waves, MOST_ASKED_AT_ONCE);
  return firstOf(contenders, count, comparison(view, contenders)).filter(
    (standing) => !isPingPending(view, standing),
  );
}

/** When the next wave is due; undefined while the server has not yet answered the first ping of the last one. */
export function nextWaveAt({ at, input: { memory } }: View): number | undefined {
  if (memory.askingSince === undefined) return undefined;
  return memory.askingSince + (Math.floor((at - memory.askingSince) / WAVE_MS) + 1) * WAVE_MS;
}

/**
 * The best first, by the strategy that they would come to together; by binaryVersion alone, which decides on the strategy, where
 * they come to none. Of equals the likeliest to answer comes first: who was heard of last, and at the end the holder, which
 * has just missed its renewals.
 */
function comparison(view: View, contenders: readonly Standing[]): (a: Standing, b: Standing) => number {
  const outcome = decideOutcome(essentials(contenders.map(({ candidate }) => candidate)));
  const order = outcome.kind === 'leader' ? strategies.get(outcome.strategy) : undefined;
  const byMerit = (a: LeaseCandidate, b: LeaseCandidate): number => {
    if (!order) return a.binaryVersion === b.binaryVersion ? 0 : compareBinaries(b, a);
    if (isAlike(a, b)) return 0;
    const electable = Number(order.isElectable(b)) - Number(order.isElectable(a));
    return electable !== 0 || !order.isElectable(a) ? electable : order.compareMerit(a, b);
  };
  const { record } = view.input.memory;
  const isHolder = ({ candidate }: Standing) => candidate.name === record?.holder;
  return (a, b) =>
    byMerit(a.candidate, b.candidate) ||
    Number(isHolder(a)) - Number(isHolder(b)) ||
    sinceRenewalMs(a.observation, view.at) - sinceRenewalMs(b.observation, view.at) ||
    (a.candidate.name < b.candidate.name ? -1 : 1);
}

/** Most of a crowd are, so that most comparisons end here. */
function isAlike(a: LeaseCandidate, b: LeaseCandidate): boolean {
  return (
    a.binaryVersion === b.binaryVersion &&
    a.emulationVersion === b.emulationVersion &&
    a.priority.value === b.priority.value
  );
}

function compareBinaries(a: LeaseCandidate, b: LeaseCandidate): number {
  const [left, right] = [versionOf(a, 'binary'), versionOf(b, 'binary')];
  return left && right ? left.compare(right) : Number(left !== undefined) - Number(right !== undefined);
}
