import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../../support/seeded-random.ts';
import { BEST, candidateName, castOf, leaseNames } from '../casts.ts';
import type { Pace, SimProgram } from '../sim-programs.ts';
import { FRESHNESS_MS } from '../waits.ts';
import type { Contestant } from './contestant.ts';
import type { Turn } from './election-log.ts';
import type { Measured } from './measures.ts';

/** The number of events in a run. */
export interface PlayScale {
  readonly leases: number;
  readonly candidates: number;
  /** Longer waits count as never, in ms. */
  readonly longestWaitMs: number;
  readonly round: number;
  readonly pace: Pace;
}

/**
 * More releases and crashes in ten seconds would overload a small machine rather than a coordinator: the limit would
 * be late, too.
 */
const MAX_RELEASES = 300;
const MAX_DEATHS = 1000;
const CHANGES_WITHIN_MS = 10_000;
/** How long holders are left alone after a grant: by then client-go's have read it, and written their own duration. */
const TAKEN_UP_MS = 5_000;
/** With fewer, it would be another scenario. */
const LEAST_PLAYED = 0.5;
const POLL_MS = 50;
/** For writes that follow an election. */
const SETTLED_MS = 1_000;

/** Publishes all candidates of `scale.leases` new Leases at once, each Lease's in a random order. */
export async function playFirstElections(
  { programs, log, countWrites }: Contestant,
  { leases, candidates, longestWaitMs, round }: PlayScale,
  { renewedAgoMs }: { readonly renewedAgoMs: number },
): Promise<{
  readonly waits: readonly number[];
  readonly untilBest: readonly number[];
  readonly writes: number;
}> {
  const names = leaseNames(renewedAgoMs === 0 ? 'first' : 'stale', leases);
  const random = seededRandom(leases + round);
  const from = Date.now();
  await programs.start(names.flatMap((lease) => publishedAs(lease, candidates, renewedAgoMs, random)));
  const firstHolder = (lease: string) => log.turnsOf(lease).find(({ holder }) => holder !== '');
  const bestHolds = (lease: string) =>
    log.turnsOf(lease).find(({ holder }) => holder === candidateName(lease, BEST));
  await untilAll(names, (lease) => bestHolds(lease) !== undefined, longestWaitMs);
  await sleep(SETTLED_MS);
  const writes = await countWrites(from, Date.now());
  return {
    waits: names.map((lease) => between(log.firstAppearanceFor(lease), firstHolder(lease))),
    // A contestant that knows the result in advance may have granted it before.
    untilBest: names.map((lease) =>
      Math.max(0, between(log.appearanceOf(candidateName(lease, BEST)), bestHolds(lease))),
    ),
    writes: writes / leases,
  };
}

/** Programs of one Lease in random order. */
function publishedAs(
  lease: string,
  candidates: number,
  renewedAgoMs: number,
  random: () => number,
): readonly SimProgram[] {
  return castOf(lease, candidates)
    .map(({ name, emulationVersion }) => ({
      program: { name, lease, emulationVersion, renewedAgoMs },
      rank: random(),
    }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ program }) => program);
}

/** Makes holders release their Leases and exit, at random times within ten seconds. */
export async function playReleases(contestant: Contestant, scale: PlayScale): Promise<Measured> {
  const random = seededRandom(scale.leases + scale.round);
  const names = chosen(contestant, scale, MAX_RELEASES, random);
  const { waits, writes } = await play(contestant, names, scale, async (_, holder) => {
    await sleep(random() * CHANGES_WITHIN_MS);
    await contestant.programs.release(holder);
    return undefined;
  });
  return { release: waits, releaseWrites: writes };
}

/** Crashes holders at random times within ten seconds. */
export async function playDeaths(contestant: Contestant, scale: PlayScale): Promise<Measured> {
  const random = seededRandom(scale.leases + scale.round + 1);
  const names = chosen(contestant, scale, MAX_DEATHS, random);
  const { waits, writes } = await play(contestant, names, scale, async (_, holder) => {
    await sleep(random() * CHANGES_WITHIN_MS);
    return contestant.programs.crash(holder);
  });
  return { death: waits, deathWrites: writes };
}

const CONSECUTIVE = 120;
const EVERY_MS = 100;
const COMPARED = 20;

/** Makes holders release their Leases one after the other: the first and the last twenty. */
export async function playConsecutive(contestant: Contestant, scale: PlayScale): Promise<Measured> {
  const names = chosen(contestant, scale, CONSECUTIVE, seededRandom(scale.round));
  if (names.length < CONSECUTIVE) return {};
  const { waits } = await play(contestant, names, scale, async (lease, holder) => {
    await sleep(names.indexOf(lease) * EVERY_MS);
    await contestant.programs.release(holder);
    return undefined;
  });
  return { cold: waits.slice(0, COMPARED), warm: waits.slice(-COMPARED) };
}

/** Waits until all candidates would need a ping before an election, and every holder has renewed. */
export async function rest(): Promise<void> {
  await sleep(Math.max(FRESHNESS_MS, TAKEN_UP_MS));
}

/** Held and renewed Leases, at most this many, in random order. */
function chosen(
  { log }: Contestant,
  { leases }: PlayScale,
  most: number,
  random: () => number,
): readonly string[] {
  return leaseNames('first', leases)
    .filter((lease) => log.holderOf(lease) !== undefined && log.turnsOf(lease).at(-1)?.isTakenUp)
    .map((lease) => ({ lease, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ lease }) => lease);
}

/**
 * For each Lease, the time from when it became free until its next holder, in ms; Infinity if there was none. `free`
 * resolves to when it becomes free, in ms since the epoch, or to undefined if the watch shows that.
 */
async function play(
  { log, countWrites }: Contestant,
  names: readonly string[],
  { longestWaitMs }: PlayScale,
  free: (lease: string, holder: string) => Promise<number | undefined>,
): Promise<{ readonly waits: readonly number[]; readonly writes: readonly number[] }> {
  // A contestant that has left all Leases without a holder has none to change.
  if (names.length === 0) return { waits: [], writes: [] };
  const begunAt = Date.now();
  const all = await Promise.all(
    names.map(async (lease) => {
      const holder = log.holderOf(lease) ?? '';
      const earlier = log.turnsOf(lease).length;
      try {
        return { lease, holder, earlier, expiresAt: await free(lease, holder) };
      } catch {
        // It was asked to yield, or has lost its Lease, just before: it has nothing to release.
        return undefined;
      }
    }),
  );
  const freed = all.filter((each) => each !== undefined);
  if (freed.length < names.length * LEAST_PLAYED)
    throw new Error(
      `of ${names.length} holders only ${freed.length} still held their Leases when they were to let go`,
    );
  const later = ({ lease, earlier }: (typeof freed)[number]) => log.turnsOf(lease).slice(earlier);
  const nextOf = (each: (typeof freed)[number]) =>
    later(each).find(({ holder }) => holder !== '' && holder !== each.holder);
  const lastExpiry = Math.max(0, ...freed.map(({ expiresAt = 0 }) => expiresAt));
  const untilFreeMs = Math.max(0, lastExpiry - Date.now());
  await untilAll(freed, (each) => nextOf(each) !== undefined, untilFreeMs + longestWaitMs);
  await sleep(SETTLED_MS);
  const waits = freed.map((each) => {
    const freeFrom = each.expiresAt ?? later(each).find(({ holder }) => holder === '')?.at ?? Number.NaN;
    return between(freeFrom, nextOf(each));
  });
  return { waits, writes: [(await countWrites(begunAt, Date.now())) / freed.length] };
}

function between(from: number, turn: Turn | undefined): number {
  return (turn?.at ?? Number.POSITIVE_INFINITY) - from;
}

/** Waits until this is true for all, at most until the timeout. */
async function untilAll<T>(
  items: readonly T[],
  isSo: (item: T) => boolean,
  longestMs: number,
): Promise<void> {
  const deadline = performance.now() + longestMs;
  let left = items.filter((item) => !isSo(item));
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(POLL_MS);
    left = left.filter((item) => !isSo(item));
  }
}
