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

/** What is played, in this order. `first` is what all others begin with, and so is played in any case. */
export const scenarios = ['first', 'steady', 'release', 'death', 'stale', 'restart', 'consecutive'] as const;

export type Scenario = (typeof scenarios)[number];

/** How often something of one size is played. */
export interface Size {
  readonly leases: number;
  readonly rounds: number;
}

/** In seconds. */
export interface Durations {
  /** For how long the steady state is looked at. */
  readonly steady: number;
  /** For how long a process that has been started rests before its memory is read. */
  readonly rest: number;
}

export interface BenchScale {
  readonly sizes: readonly Size[];
  readonly contestants: readonly ContestantName[];
  readonly scenarios: readonly Scenario[];
  readonly seconds: Durations;
  /** How holders renew, of so many Leases at most that their renewals leave the machine mostly idle. */
  readonly pace: Pace;
  /** A directory for CPU profiles of this controller. */
  readonly profileTo: string | undefined;
}

/** One scenario with one contestant, and the machine meanwhile. */
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

/** Candidates that are not fresh, and elections of a process that had none before, are played with so many Leases. */
const MIDDLE = 300;
/** The most Leases that are renewed every 2 s. */
const STEADY = 1000;
/**
 * Of more Leases the built-in one leaves most without a leader, for as long as anybody would wait. It plays in the first round
 * only: it takes minutes for each, and what sets it apart from the others is no matter of chance.
 */
const MAX_OF_BUILT_IN = 300;

/** Plays everything with each contestant in turn, in another order in each round; nobody measures beside anybody else. */
export async function runBench(scale: BenchScale, progress: BenchProgress): Promise<readonly Played[]> {
  const all: Played[] = [];
  const steady = Math.max(...scale.sizes.map(({ leases }) => leases).filter((leases) => leases <= STEADY));
  for (const { leases, rounds } of scale.sizes) {
    for (let round = 0; round < rounds; round += 1) {
      const names = inTurn(scale.contestants, round).filter(
        (name) => name !== 'built-in' || (round === 0 && leases <= MAX_OF_BUILT_IN),
      );
      progress.begun(`${leases} Leases, round ${round + 1} of ${rounds}: servers and coordinators start`);
      // Without anything to do they leave the machine to the one that is measured.
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

/** Whether a title is that of a scenario that has the server do as much as it can: take candidates, or list for the limit. */
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

/** Where there are so many that their renewals alone would keep the machine busy, holders renew less often. */
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
    // Before anybody has died: the dead are pinged until they are collected.
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
  // Elections of a process that has had none are measured after a restart.
  if (wanted('restart') || wanted('consecutive'))
    await play('restart', () => playRestart(contestant, seconds.rest));
  if (wanted('consecutive')) {
    // A coordinator that has just begun to watch doubts releases for two durations (rule 8).
    await sleep(2 * USUAL_DURATION_MS);
    await play('consecutive', () => playConsecutive(contestant, scale));
  }
}
