import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../../support/seeded-random.ts';
import { leaseNames } from '../casts.ts';
import type { ContenderName } from '../contender.ts';
import { Cast, type ProgramKind } from './cast.ts';
import { type Load, watchLoad } from './load.ts';
import {
  type HandOver,
  measureKills,
  measurePreemptions,
  measureRestarts,
  measureStops,
  measureTransfers,
  type Ranks,
  startRanks,
} from './phases.ts';
import { type CallsAtRest, callsAtRest } from './rest.ts';
import { type Site, startSite } from './site.ts';

/** The measured kinds of programs, with their coordinators. */
export interface Contestant {
  readonly title: string;
  readonly coordinator: ContenderName;
  readonly isGateOn: boolean;
  readonly programs: ProgramKind;
}

/** In the order of measurement. */
export type Phase = 'stop' | 'crash' | 'preemption' | 'kill' | 'transfer' | 'restart';

export interface HandOverScale {
  readonly contestants: readonly Contestant[];
  readonly leases: number;
  readonly phases: readonly Phase[];
  /** How long requests are counted before the first event, in seconds. */
  readonly restSeconds: number;
  /** Number of leaders with their own processes, and of kills of each: for `restart`. */
  readonly restarts: { readonly leases: number; readonly rounds: number };
}

export interface ContestantFigures {
  readonly contestant: Contestant;
  /** None for a phase that this contestant does not have. */
  readonly handOvers: Partial<Record<Phase, readonly HandOver[]>>;
  readonly callsAtRest: CallsAtRest | undefined;
}

export interface HandOverFigures {
  readonly scale: HandOverScale;
  readonly measured: readonly ContestantFigures[];
  readonly loads: Readonly<Record<string, Load>>;
}

/** The time over which the causes of one phase are spread, in milliseconds. */
const SPREAD_MS = 10_000;

/** Receives the progress. */
export interface HandOverProgress {
  begun(what: string): void;
  done(phase: Phase, contestant: Contestant, handOvers: readonly HandOver[]): void;
}

interface Entry {
  readonly contestant: Contestant;
  readonly cast: Cast;
  ranks: Ranks;
  readonly random: () => number;
  readonly handOvers: Partial<Record<Phase, readonly HandOver[]>>;
  callsAtRest: CallsAtRest | undefined;
}

/** Runs the same phases with all contestants at the same time, so that load affects all of them equally. */
export async function measureHandOvers(
  scale: HandOverScale,
  progress: HandOverProgress,
): Promise<HandOverFigures> {
  const sites = new Map<string, Site>();
  const entries: Entry[] = [];
  const loads: Record<string, Load> = {};
  try {
    progress.begun('servers and coordinators start');
    for (const contestant of scale.contestants) entries.push(await enter(contestant, sites, entries.length));
    progress.begun('programs start');
    for (const entry of entries)
      entry.ranks = await startRanks(entry.cast, leaseNames('handed', scale.leases), SPREAD_MS);
    if (scale.restSeconds > 0) {
      progress.begun(`rest for ${scale.restSeconds} s`);
      await measureRest(entries, scale.restSeconds);
    }
    for (const phase of scale.phases) {
      progress.begun(phase);
      const loadSince = await watchLoad(() => latest(entries));
      await Promise.all(
        entries.map(async (entry, index) => {
          const handOvers = await play(phase, entry, scale, index * (SPREAD_MS / entries.length));
          if (!handOvers) return;
          entry.handOvers[phase] = handOvers;
          progress.done(phase, entry.contestant, handOvers);
        }),
      );
      loads[phase] = await loadSince();
    }
    // Without the servers, because it is written as JSON.
    const measured = entries.map(({ contestant, handOvers, callsAtRest }) => ({
      contestant,
      handOvers,
      callsAtRest,
    }));
    return { scale, loads, measured };
  } finally {
    await Promise.all(entries.map(({ cast }) => cast.end()));
    await Promise.all([...sites.values()].map((site) => site.stop()));
  }
}

async function enter(contestant: Contestant, sites: Map<string, Site>, index: number): Promise<Entry> {
  const { coordinator, isGateOn, programs } = contestant;
  const key = `${coordinator} ${isGateOn}`;
  const site = sites.get(key) ?? (await startSite(coordinator, { isGateOn }));
  sites.set(key, site);
  const namespace = programs.replaceAll(' ', '-');
  await site.addNamespace(namespace);
  const cast = new Cast(site, namespace, programs);
  return {
    contestant,
    cast,
    ranks: { leases: [], processes: [], spreadMs: SPREAD_MS },
    random: seededRandom(index),
    handOvers: {},
    callsAtRest: undefined,
  };
}

async function measureRest(entries: readonly Entry[], seconds: number): Promise<void> {
  const from = Date.now();
  await sleep(seconds * 1000);
  const to = Date.now();
  for (const entry of entries)
    entry.callsAtRest = await callsAtRest(entry.cast, entry.ranks.leases, from, to);
}

function play(
  phase: Phase,
  { contestant, cast, ranks, random }: Entry,
  { restarts }: HandOverScale,
  afterMs: number,
): Promise<readonly HandOver[] | undefined> {
  // Plain electors have no candidates. The built-in coordinator has no priorities.
  const isPlain = contestant.programs.startsWith('plain');
  const hasPriorities = contestant.coordinator !== 'built-in' && !isPlain;
  switch (phase) {
    case 'stop':
      return measureStops(cast, ranks, random);
    case 'crash':
      return measureStops(cast, ranks, random, 'SIGKILL');
    case 'preemption':
      if (isPlain) return Promise.resolve(undefined);
      return measurePreemptions(cast, ranks, random);
    case 'kill':
      return measureKills(cast, ranks, afterMs);
    case 'transfer':
      if (!hasPriorities) return Promise.resolve(undefined);
      return measureTransfers(cast, ranks, random);
    case 'restart': {
      const leases = leaseNames('restarted', restarts.leases);
      return measureRestarts(cast, ranks, { leases, rounds: restarts.rounds });
    }
  }
}

async function latest(entries: readonly Entry[]): Promise<number> {
  return Math.max(0, ...(await Promise.all(entries.map(({ cast }) => cast.lateness()))));
}
