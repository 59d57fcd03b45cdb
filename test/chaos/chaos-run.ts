import { setTimeout as sleep } from 'node:timers/promises';
import type { JudgedRunOptions, Judgement } from '../support/judged-run.ts';
import { untilSettled } from './calm.ts';
import { keyOf, testedLeases } from './cast.ts';
import { type ChaosCluster, startChaosCluster } from './chaos-cluster.ts';
import { type Fault, faultKinds, planFaults } from './fault-plan.ts';
import { Journal } from './journal.ts';
import { monotonicNow } from './monotonic.ts';
import { checkHistory } from './run-check.ts';
import { readRunHistory } from './run-history.ts';
import { summarize } from './run-summary.ts';
import { activeCoordinator } from './sights.ts';
import { mendAll, strike } from './strikes.ts';
import { until } from './until.ts';

export interface ChaosOptions extends JudgedRunOptions {
  /** The coordinator's program; default: the one of this source. */
  readonly coordinatorMain?: string;
}

/** In a run of this length, every kind of fault must have struck. */
const ALL_STRUCK_AFTER_MIN = 15;
/** How long servers may take to be ready again after the last fault, on a slow machine. */
const BACK_WITHIN_MS = 120_000;

/**
 * Starts everything, runs the faults of the plan, waits until all Leases are settled, stops everything, and judges
 * the record.
 * @throws Error if this is not possible, or if the signal aborts; then nothing runs any more
 */
export async function runChaos(options: ChaosOptions): Promise<Judgement> {
  const { minutes, seed, directory, say, signal } = options;
  const { coordinatorMain = new URL('../../src/main.ts', import.meta.url).pathname } = options;
  const journal = new Journal(directory);
  const clock = sampleClock(journal);
  let failure: string | undefined;
  try {
    say(`chaos of ${minutes} min, seed ${seed}: starting etcd, API servers, coordinators and candidates`);
    const cluster = await startChaosCluster({ directory, seed, journal, coordinatorMain, signal });
    try {
      await until(() => isUnderWay(cluster), BACK_WITHIN_MS, signal, 'all Leases are held, and coordinated');
      await letFaultsStrike(cluster, planFaults(seed, minutes * 60_000), journal, options);
      failure = await settle(cluster, journal, options);
    } finally {
      await cluster.stop();
    }
  } finally {
    clock.stop();
  }
  signal.throwIfAborted();
  journal.write({ kind: 'end' });
  if (failure !== undefined) journal.write({ kind: 'problem', problem: failure });
  return judge(directory, minutes);
}

/** Judges the record of a run with this duration in minutes. */
export async function judge(directory: string, minutes: number): Promise<Judgement> {
  const history = await readRunHistory(directory);
  const verdict = checkHistory(history.events);
  const { text, faults } = summarize(history, verdict);
  const idle = faultKinds.filter((kind) => (faults.get(kind)?.struck ?? 0) === 0);
  const problems = [
    ...history.journal.flatMap((entry) => (entry.kind === 'problem' ? [entry.problem] : [])),
    ...history.journal.flatMap((entry) =>
      entry.kind === 'ended' && entry.role === 'coordinator' && !entry.isOurs
        ? [`${entry.name} has ended by itself: ${entry.how}`]
        : [],
    ),
    ...verdict.violations.map(({ what }) => what),
    ...(history.impossible > 0 ? [`the record contradicts itself: ${history.impossible} writes`] : []),
    ...(minutes >= ALL_STRUCK_AFTER_MIN ? idle.map((kind) => `never struck: ${kind}`) : []),
    ...(history.events.some(({ kind }) => kind === 'leads') ? [] : ['nobody ever led']),
  ];
  return { problems, summary: text };
}

/** Earlier faults would only affect the built-in coordinator's elections. */
function isUnderWay(cluster: ChaosCluster): boolean {
  return activeCoordinator(cluster) !== undefined && heldLeases(cluster).length === testedLeases.length;
}

function heldLeases({ recorder }: ChaosCluster): readonly string[] {
  return testedLeases.map(keyOf).filter((key) => recorder.lease(key)?.spec['holderIdentity']);
}

async function letFaultsStrike(
  cluster: ChaosCluster,
  plan: readonly Fault[],
  journal: Journal,
  { minutes, say, signal }: ChaosOptions,
): Promise<void> {
  const begun = performance.now();
  const elapsed = () => performance.now() - begun;
  let strikes = 0;
  const progress = setInterval(() => {
    say(
      `${(elapsed() / 60_000).toFixed(1)} of ${minutes} min: ${strikes} faults, ${heldLeases(cluster).length} of ${testedLeases.length} Leases held`,
    );
  }, 15_000);
  try {
    const underWay = plan.map(async (fault) => {
      await sleep(Math.max(0, fault.atMs - elapsed()), undefined, { signal });
      strikes += 1;
      await carryOut(cluster, fault, journal, signal);
    });
    await Promise.all([...underWay, sleep(minutes * 60_000, undefined, { signal })]);
  } finally {
    clearInterval(progress);
  }
}

async function carryOut(
  cluster: ChaosCluster,
  fault: Fault,
  journal: Journal,
  signal: AbortSignal,
): Promise<void> {
  const { kind, durationMs } = fault;
  const { victim, end } = await strike(cluster, fault);
  journal.write({ kind: 'fault', fault: kind, victim });
  let struck = false;
  try {
    if (durationMs > 0) await sleep(durationMs, undefined, { signal });
  } finally {
    // It fails if another fault has removed what it needs: then it has not struck.
    struck = await Promise.resolve(end()).catch(() => false);
    journal.write({ kind: 'faultOver', fault: kind, victim, struck });
  }
}

/** Returns the problem after the last fault; undefined if there is none. */
async function settle(
  cluster: ChaosCluster,
  journal: Journal,
  { say, signal }: ChaosOptions,
): Promise<string | undefined> {
  mendAll(cluster);
  journal.write({ kind: 'calm' });
  const { etcd, apiServers, coordinators, programs } = cluster;
  const all = [etcd, ...apiServers, ...coordinators, ...programs];
  await until(
    async () => all.every(({ process }) => process.isRunning) && (await cluster.isReady()),
    BACK_WITHIN_MS,
    signal,
    'everything runs again',
  );
  say('the faults are over, and everything runs again');
  try {
    const took = await untilSettled(cluster, signal);
    say(`every Lease is led by its best candidate since ${(took / 1000).toFixed(1)} s after that`);
    journal.write({ kind: 'settled' });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error.message : String(error);
  }
}

/** Records the wall clock every second, to the microsecond: at the moment at which its milliseconds change. */
function sampleClock(journal: Journal): { stop(): void } {
  const sample = () => {
    const before = Date.now();
    let wallMs = before;
    for (const end = monotonicNow() + 20; wallMs === before && monotonicNow() < end; ) wallMs = Date.now();
    journal.write({ kind: 'clock', wallMs });
  };
  sample();
  const timer = setInterval(sample, 1_000);
  return { stop: () => clearInterval(timer) };
}
