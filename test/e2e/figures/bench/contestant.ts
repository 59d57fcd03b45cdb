import { createNamespaces } from '../../../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import { isWrite } from '../../audit-log.ts';
import { builtProgram } from '../../built-program.ts';
import { installRole, startCoordinator, untilActive } from '../../coordinator.ts';
import { type ContenderName, startAuditedPlane, untilBuiltInActs } from '../contender.ts';
import type { StartWith } from '../measured-start.ts';
import { type SimPrograms, startSimPrograms } from '../sim-programs.ts';
import { type ElectionLog, keepElectionLog } from './election-log.ts';
import { holdLock, startLimit } from './limit.ts';

/** The measured contestants; the last one is the limit, to show how far the others are from the best. */
export const contestants = ['built-in', 'this controller', 'the limit'] as const satisfies readonly (
  | ContenderName
  | 'the limit'
)[];

export type ContestantName = (typeof contestants)[number];

/** A contestant on a fresh control plane, with programs and an observer of their elections. */
export interface Contestant {
  readonly name: ContestantName;
  readonly plane: ControlPlane;
  readonly programs: SimPrograms;
  readonly log: ElectionLog;
  /** Of its process: for the built-in coordinator, this is the whole kube-apiserver. */
  pid(): number;
  /** Number of its accepted writes to Leases and candidates in [from, to), ms since the epoch. */
  countWrites(from: number, to: number): Promise<number>;
  /** Only for this controller: stops its process. */
  end(): Promise<void>;
  /** Only for this controller: starts another process. */
  readonly start: StartWith;
  /** Only for the limit: lists everything, and returns the duration in milliseconds. */
  list(): Promise<number>;
  stop(): Promise<void>;
}

/** The namespace of all elections. */
export const NAMESPACE = 'bench';

/** The chart's default. */
const ARGS = ['--log-level', 'info'] as const;

/** Starts one on its own control plane. `profileTo`: a directory for CPU profiles of this controller. */
export async function startContestant(name: ContestantName, profileTo?: string): Promise<Contestant> {
  const audited = await startAuditedPlane();
  const { plane } = audited;
  await createNamespaces(plane, NAMESPACE);
  await untilBuiltInActs(plane);
  const kubeconfig = await installRole(plane);
  const programs = await startSimPrograms(plane, NAMESPACE);
  const kept = await keepElectionLog(plane, NAMESPACE);
  const profiling = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
  const start = (nodeArgs: readonly string[]) =>
    startCoordinator(kubeconfig, ARGS, { ...builtProgram, nodeArgs: [...profiling, ...nodeArgs] });

  let coordinator = name === 'this controller' ? await start([]) : undefined;
  if (coordinator) await untilActive(coordinator);
  if (name === 'the limit') await holdLock(plane);
  const limit = name === 'the limit' ? await startLimit({ kubeconfig, namespace: NAMESPACE }) : undefined;
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    kept.stop();
    await programs.stop();
    await limit?.stop();
    await coordinator?.stop();
    await audited.stop();
  }
  return {
    name,
    plane,
    programs,
    log: kept.log,
    pid: () => coordinator?.pid ?? limit?.pid ?? plane.apiServer.pid,
    async countWrites(from, to) {
      const who = name === 'built-in' ? 'built-in' : 'service account';
      const calls = await audited.calls(who, NAMESPACE, from, to);
      return calls.filter((call) => isWrite(call) && call.status < 300).length;
    },
    async end() {
      await coordinator?.stop();
    },
    list: () => limit?.list() ?? Promise.reject(new Error(`${name} does not list by itself`)),
    async start(nodeArgs) {
      coordinator = await start(nodeArgs);
      return coordinator;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
