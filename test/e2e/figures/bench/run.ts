import { setTimeout as sleep } from 'node:timers/promises';
import { USUAL_DURATION_MS } from '../../../../src/election/beliefs.ts';
import type { Pace } from '../sim-programs.ts';
import { type Contestant, type ContestantName, contestants, startContestant } from './contestant.ts';
import type { Measured, Sample } from './measures.ts';
import { type OwnLoad, watchOwnLoad } from './own-load.ts';
import {
  type PlayScale,
  playConsecutive,
  playDeaths,
  playFirstElections,
  playReleases,
  rest,
} from './scenarios.ts';
import { playRestart, playSteadyState } from './upkeep.ts';

/** The scenarios, in this order. All others need `first`, which therefore always runs. */
export const scenarios = ['first', 'steady', 'release', 'death', 'stale', 'restart', 'consecutive'] as const;

export type Scenario = (typeof scenarios)[number];

/** Number of rounds of one size. */
export interface Size {
  readonly leases: number;
  readonly rounds: number;
}

/** In seconds. */
export interface Durations {
  /** How long the steady state is observed. */
  readonly steady: number;
  /** How long a started process rests before its memory is read. */
  readonly rest: number;
}

export interface BenchScale {
  readonly sizes: readonly Size[];
  readonly contestants: readonly ContestantName[];
  readonly scenarios: readonly Scenario[];
  readonly seconds: Durations;
  /** How holders renew, up to a number of Leases whose renewals leave the machine mostly idle. */
  readonly pace: Pace;
  /** A directory for CPU profiles of this controller. */
  readonly profileTo: string | undefined;
}

/** One scenario with one contestant, and the state of the machine during it. */
export interface Played {
  readonly title: string;
  readonly load: OwnLoad;
  readonly samples: readonly Sample[];
}

export interface BenchProgress {
  begun(what: string): void;
  done(contestant: ContestantName, leases: number, measured: Measured): void;
}

const CANDIDATES = 5;

/** Number of Leases in scenarios with idle candidates, and with elections of a newly started process. */
const MIDDLE = 300;
/** Maximum number of Leases that are renewed every 2 s. */
const STEADY = 1000;
/**
 * With more Leases, the built-in coordinator leaves most of them without a leader for longer than the wait. It runs
 * only in the first round: it takes minutes for each, and its distance from the others is not random.
 */
const MAX_OF_BUILT_IN = 300;

/** Runs everything with each contestant in turn, in another order in each round, and never two at the same time. */
export async function runBench(scale: BenchScale, progress: BenchProgress): Promise<readonly Played[]> {
  const all: Played[] = [];
  const steady = Math.max(...scale.sizes.map(({ leases }) => leases).filter((leases) => leases <= STEADY));
  for (const { leases, rounds } of scale.sizes) {
    for (let round = 0; round < rounds; round += 1) {
      const names = inTurn(scale.contestants, round).filter(
        (name) => name !== 'built-in' || (round === 0 && leases <= MAX_OF_BUILT_IN),
      );
      progress.begun(`${leases} Leases, round ${round + 1} of ${rounds}: servers and coordinators start`);
      // While they are idle, they leave the machine to the measured one.
      const started = await startAll(names, scale.profileTo);
      try {
        for (const contestant of started) {
          const wanted = (scenario: Scenario) =>
            scale.scenarios.includes(scenario) &&
            isPlayed(scenario, contestant.name, { leases, isFirst: round === 0, steady });
          await playOne(contestant, { ...scaleOf(leases, scale.pace), round }, wanted, scale.seconds, {
            begun: (scenario) => progress.begun(titleOf(contestant.name, leases, round, scenario)),
            done(scenario, load, measured) {
              progress.done(contestant.name, leases, measured);
              const measures = Object.entries(measured) as [Sample['measure'], number[]][];
              all.push({
                title: titleOf(contestant.name, leases, round, scenario),
                load,
                samples: measures.map(([measure, values]) => ({
                  contestant: contestant.name,
                  leases,
                  round,
                  measure,
                  values,
                })),
              });
            },
          });
          await contestant.stop();
        }
      } finally {
        await Promise.all(started.map((contestant) => contestant.stop()));
      }
    }
  }
  return all;
}

function titleOf(contestant: ContestantName, leases: number, round: number, scenario: Scenario): string {
  return `${contestant}, ${leases} Leases, round ${round + 1}, ${scenario}`;
}

/**
 * Whether the scenario with this title uses the full capacity of the server: to accept candidates, or to list for the
 * limit.
 */
export function isBusyByNature(title: string): boolean {
  const lists = title.startsWith('the limit, ') && title.endsWith(', restart');
  return title.endsWith(', first') || title.endsWith(', stale') || lists;
}

async function startAll(
  names: readonly ContestantName[],
  profileTo: string | undefined,
): Promise<readonly Contestant[]> {
  const starts = await Promise.allSettled(names.map((name) => startContestant(name, profileTo)));
  const started = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const failed = starts.find((start) => start.status === 'rejected');
  if (!failed) return started;
  await Promise.all(started.map((contestant) => contestant.stop()));
  throw failed.reason;
}

/** Another one first in each round. */
function inTurn(names: readonly ContestantName[], round: number): readonly ContestantName[] {
  const ordered = contestants.filter((name) => names.includes(name));
  return ordered.map((_, index) => ordered[(index + round) % ordered.length] ?? 'the limit');
}

function isPlayed(
  scenario: Scenario,
  name: ContestantName,
  { leases, isFirst, steady }: { leases: number; isFirst: boolean; steady: number },
): boolean {
  const isOurs = name === 'this controller';
  const hasProcess = name !== 'built-in';
  switch (scenario) {
    case 'stale':
      return leases === MIDDLE;
    case 'restart':
      return hasProcess && (leases === MIDDLE || (leases > MIDDLE && isFirst));
    case 'consecutive':
      return isOurs && leases === MIDDLE;
    case 'steady':
      return hasProcess && leases === steady && isFirst;
    default:
      return true;
  }
}

/** If there are so many that their renewals alone would keep the machine busy, holders renew less often. */
function scaleOf(leases: number, pace: Pace): Omit<PlayScale, 'round'> {
  return leases > STEADY
    ? {
        leases,
        candidates: CANDIDATES,
        longestWaitMs: 60_000,
        pace: { renewEveryMs: 72_000, leaseDurationSeconds: 120 },
      }
    : { leases, candidates: CANDIDATES, longestWaitMs: 30_000, pace };
}

async function playOne(
  contestant: Contestant,
  scale: PlayScale,
  wanted: (scenario: Scenario) => boolean,
  seconds: Durations,
  tell: {
    begun(scenario: Scenario): void;
    done(scenario: Scenario, load: OwnLoad, measured: Measured): void;
  },
): Promise<void> {
  async function play(scenario: Scenario, measure: () => Promise<Measured>): Promise<void> {
    tell.begun(scenario);
    const loadSince = await watchOwnLoad(contestant.programs);
    const measured = await measure();
    tell.done(scenario, await loadSince(), measured);
  }
  await contestant.programs.pace(scale.pace);
  await play('first', async () => {
    const { waits, untilBest, writes } = await playFirstElections(contestant, scale, { renewedAgoMs: 0 });
    return { first: waits, firstBest: untilBest, firstWrites: [writes] };
  });
  if (wanted('steady')) {
    // Before any program has crashed: dead candidates are pinged until they are deleted.
    await play('steady', () => playSteadyState(contestant, seconds.steady));
    await contestant.programs.pace(scale.pace);
  }
  if (wanted('release')) {
    await rest();
    await play('release', () => playReleases(contestant, scale));
  }
  if (wanted('death')) {
    await rest();
    await play('death', () => playDeaths(contestant, scale));
  }
  if (wanted('stale')) {
    await play('stale', async () => {
      const { waits, untilBest, writes } = await playFirstElections(contestant, scale, {
        renewedAgoMs: 10_000,
      });
      return { stale: waits, staleBest: untilBest, staleWrites: [writes] };
    });
  }
  // Elections of a process without earlier elections are measured after a restart.
  if (wanted('restart') || wanted('consecutive'))
    await play('restart', () => playRestart(contestant, seconds.rest));
  if (wanted('consecutive')) {
    // A coordinator that has just begun to watch doubts releases for two durations (rule 8).
    await sleep(2 * USUAL_DURATION_MS);
    await play('consecutive', () => playConsecutive(contestant, scale));
  }
}
