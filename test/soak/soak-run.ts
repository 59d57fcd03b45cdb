import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../chaos/until.ts';
import type { JudgedRunOptions, Judgement } from '../support/judged-run.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { changeKinds, churn } from './churn.ts';
import type { CrowdSize } from './crowd.ts';
import { disturb, disturbanceKinds } from './disturbances.ts';
import { differencesAtEnd, leftoversAtEnd } from './end-checks.ts';
import type { Open } from './leftovers.ts';
import type { Replica } from './replica.ts';
import { Sampler } from './sampler.ts';
import { type SoakCluster, startSoakCluster } from './soak-cluster.ts';
import { judgeMemory, summarize } from './verdict.ts';

export interface SoakOptions extends CrowdSize, JudgedRunOptions {
  /** The coordinator's program: `main.ts` or `main.js`. */
  readonly main: string;
}

/** Time to settle: thousands of programs start at once, each Lease may have to expire, and machines are slow. */
const IN_ORDER_WITHIN_MS = 300_000;
/** Idle connections time out after 55 s. After that, only needed resources are open. */
const QUIET_AFTER_MS = 65_000;
const LOOKS_AT_START = 15;
const LOOK_EVERY_MS = 1_000;
const PROGRESS_EVERY_MS = 15_000;
/** Changes per second: as many as a machine with two cores supports beside the renewals of 500 Leases. */
const MAX_CHANGES_PER_SECOND = 10;
/** Minimum time between changes of one Lease, in seconds: otherwise it never settles. */
const LEASE_RESTS_SECONDS = 20;
const LONGEST_REST_MS = 30_000;
/** A run of this length includes each kind of change and of disturbance. */
const ALL_HAPPEN_WITHIN_MIN = 10;

/**
 * Starts everything, runs the churn, waits until everything is settled, and judges the resources that the replicas
 * have kept.
 * @throws Error if this is not possible, or if the signal aborts; then nothing runs any more
 */
export async function runSoak(options: SoakOptions): Promise<Judgement> {
  const { minutes, leases, candidates, seed, main, directory, say, signal } = options;
  say(
    `soak of ${minutes} min, ${leases} Leases x ${candidates}, seed ${seed}: starting servers and replicas`,
  );
  const random = seededRandom(seed);
  const counts = new Map<string, number>([...changeKinds, ...disturbanceKinds].map((kind) => [kind, 0]));
  const problems: string[] = [];
  const cluster = await startSoakCluster({ main, size: { leases, candidates }, random, directory, signal });
  const sampler = new Sampler(cluster.replicas, directory);
  try {
    await untilQuiet(cluster, options);
    const atStart = await lookAtStart(cluster.replicas, sampler, signal);
    await churnFor(cluster, sampler, counts, random, options);
    cluster.crowd.settle();
    await untilQuiet(cluster, options);
    for (const replica of cluster.replicas.filter(({ process }) => !process.exit())) {
      problems.push(...(await leftoversAtEnd(replica, atStart, () => sampler.look(replica), signal)));
      problems.push(...(await differencesAtEnd(replica, cluster.crowd.ask, main, signal)));
    }
  } finally {
    problems.push(...(await cluster.stop()));
  }
  signal.throwIfAborted();
  const never = minutes < ALL_HAPPEN_WITHIN_MIN ? [] : [...counts].filter(([, count]) => count === 0);
  return {
    problems: [
      ...problems,
      ...judgeMemory(sampler.samples),
      ...never.map(([kind]) => `never happened: ${kind}`),
    ],
    summary: summarize(sampler.samples, counts),
  };
}

/** Waits until everything is settled, and all pending work is done. */
async function untilQuiet({ crowd }: SoakCluster, { say, signal }: SoakOptions): Promise<void> {
  const begun = performance.now();
  await until(() => crowd.isInOrder, IN_ORDER_WITHIN_MS, signal, 'all Leases are led').catch((error) => {
    signal.throwIfAborted();
    throw new Error(crowd.state, { cause: error });
  });
  const took = ((performance.now() - begun) / 1000).toFixed(1);
  say(`all is in order after ${took} s; now idle connections time out`);
  await sleep(QUIET_AFTER_MS, undefined, { signal });
}

async function lookAtStart(
  replicas: readonly Replica[],
  sampler: Sampler,
  signal: AbortSignal,
): Promise<readonly Open[]> {
  const seen: Open[] = [];
  for (let look = 0; look < LOOKS_AT_START; look += 1) {
    for (const replica of replicas) seen.push(await sampler.look(replica));
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
  return seen;
}

async function churnFor(
  cluster: SoakCluster,
  sampler: Sampler,
  counts: Map<string, number>,
  random: () => number,
  { minutes, leases, say, signal }: SoakOptions,
): Promise<void> {
  const perSecond = Math.min(MAX_CHANGES_PER_SECOND, leases / LEASE_RESTS_SECONDS);
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const tell = (kind: string) => void counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const progress = setInterval(() => say(sampler.progress(cluster.crowd.led)), PROGRESS_EVERY_MS);
  const restMs = Math.min(LONGEST_REST_MS, (minutes * 60_000) / 30);
  say('churn begins');
  const underWay = Promise.all([
    churn(cluster.crowd, perSecond, random, over, tell),
    disturb(cluster, restMs, random, over, tell),
    sampler.run(over),
  ]);
  try {
    await Promise.race([underWay, sleep(minutes * 60_000, undefined, { signal })]);
  } finally {
    clearInterval(progress);
    ending.abort();
    // By then, a restarting server runs again and can be stopped.
    await underWay;
  }
  say('churn has ended');
}
