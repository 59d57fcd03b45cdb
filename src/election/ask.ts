import { backoffDelayMs } from '../support/backoff.ts';
import { MAX_ASKED_AT_ONCE, pingEach } from './actions.ts';
import { liveUntil, sinceRenewalMs } from './candidate-observation.ts';
import type { PingCandidate } from './decision.ts';
import type { Instant, LeaseCandidate } from './model.ts';
import { decideOutcome, decisiveAmong } from './outcome.ts';
import { firstOf, strategies, versionOf } from './strategies.ts';
import { isPingPending } from './verdict.ts';
import { type ElectionInput, lapsedUntil, type Standing, standingsIn, type View } from './view.ts';

const FIRST_ASKED = 2;
const WAVE_MS = 1000;

/** Returns the candidates in `absent` whose answers could change the outcome, see {@link decisiveAmong}. */
export function contendersAmong(
  present: readonly LeaseCandidate[],
  absent: readonly Standing[],
  incumbent?: string,
): readonly Standing[] {
  const candidates = absent.map(({ candidate }) => candidate);
  const decisive = new Set(decisiveAmong(present, candidates, incumbent));
  return absent.filter(({ candidate }) => decisive.has(candidate));
}

/**
 * Returns the contenders to ping now: the best two, a second later the best four, and so on (rule 6). These numbers
 * include contenders with a pending ping, which are not pinged again.
 */
export function contendersToPing(view: View, contenders: readonly Standing[]): readonly Standing[] {
  const { askingSince = view.at } = view.input.memory;
  const waves = Math.floor((view.at - askingSince) / WAVE_MS);
  const count = Math.min(FIRST_ASKED * 2 ** waves, MAX_ASKED_AT_ONCE);
  const next = firstOf(contenders, count, comparison(view, contenders));
  return next.filter((standing) => !isPingPending(view, standing));
}

/** Returns the time of the next wave of pings; undefined until the server confirmed or permanently refused a ping. */
export function nextWaveAt({ at, input: { memory } }: View): number | undefined {
  if (memory.askingSince === undefined) return undefined;
  return memory.askingSince + (Math.floor((at - memory.askingSince) / WAVE_MS) + 1) * WAVE_MS;
}

/**
 * Returns the order of pings to contenders: the best by their strategy come first. If they would elect no leader, those
 * with the highest binaryVersion come first, because their strategy usually applies. Of equal contenders, the last
 * holder comes last, because it has just missed its renewals. Of the other equal ones, the most recently renewed comes first.
 */
function comparison(view: View, contenders: readonly Standing[]): (a: Standing, b: Standing) => number {
  const outcome = decideOutcome(contenders.map(({ candidate }) => candidate));
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
    byName(a, b);
}

/** Fast check that avoids the full comparison: most candidates have the same versions and the same priority. */
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

/** Returns pings to candidates whose answers can change which candidate gets the Lease at `moment`. Omits `except`. */
export function askAhead(view: View, moment: Instant, except?: string): readonly PingCandidate[] {
  const { input } = view;
  const { memory, settings } = input;
  // Omit candidates that will be held back by lapses at `moment`. A grant that expires by then without a renewal is a lapse.
  const standings = standingsIn(view.standings, 'Live', 'Awaiting', 'Idle').filter(
    ({ candidate: { name } }) => name !== except && moment >= (lapsedUntil(input, name, moment) ?? moment),
  );
  const isLive = ({ observation }: Standing) => liveUntil(observation, memory.decidedAt, settings) > moment;
  const present = standings.filter(isLive).map(({ candidate }) => candidate);
  const absent = standings.filter((standing) => !isLive(standing));
  return pingEach(view, contendersToPing(view, contendersAmong(present, absent)), 'expiry');
}

/** Maximum number of silent candidates to ping in one round. */
const MAX_ASKED = 64;
const ROUND_BACKOFF_CAP_MS = 60_000;

/** If a round is due, returns the silent candidates to ping in it: those whose last ping is the oldest (rule 3). */
export function reviveSome(view: View): readonly Standing[] {
  if (!isRoundDue(view)) return [];
  const silent = standingsIn(view.standings, 'Unresponsive', 'Expired', 'Lapsed').filter(
    (standing) => !standing.isAlive && !isPingPending(view, standing),
  );
  const count = Math.min(2 ** (view.input.memory.rounds.count + 1), MAX_ASKED);
  const askedAt = ({ observation: { ping } }: Standing) => ping?.sentAt ?? Number.MIN_SAFE_INTEGER;
  return firstOf(silent, count, (a, b) => askedAt(a) - askedAt(b) || byName(a, b));
}

function byName({ candidate: a }: Standing, { candidate: b }: Standing): number {
  return a.name < b.name ? -1 : 1;
}

/** True if a round of pings to silent candidates is due. The caller checks that the Lease has no leader. */
export function isRoundDue({ at, input }: View): boolean {
  const { count, lastAt } = input.memory.rounds;
  return at >= lastAt + roundBackoffMs(input, count);
}

/** Returns the time of the next round. If a round is due now, returns the time of the round after it. */
export function nextRoundAt(view: View): Instant {
  const { at, input } = view;
  const { count, lastAt } = input.memory.rounds;
  return isRoundDue(view) ? at + roundBackoffMs(input, count + 1) : lastAt + roundBackoffMs(input, count);
}

function roundBackoffMs({ settings }: ElectionInput, rounds: number): number {
  const range = { initialMs: settings.electionDurationMs, maxMs: ROUND_BACKOFF_CAP_MS };
  return backoffDelayMs(Math.max(1, rounds), range);
}
