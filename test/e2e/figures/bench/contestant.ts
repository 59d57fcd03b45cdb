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

/** Who is measured; the last of them to tell how far from the best the others are. */
export const contestants = ['built-in', 'this controller', 'the limit'] as const satisfies readonly (
  | ContenderName
  | 'the limit'
)[];

export type ContestantName = (typeof contestants)[number];

/** One of them on a fresh control plane, with programs to elect and a view of what becomes of them. */
export interface Contestant {
  readonly name: ContestantName;
  readonly plane: ControlPlane;
  readonly programs: SimPrograms;
  readonly log: ElectionLog;
  /** Of the process that it runs in: for the built-in one, that is kube-apiserver with all else that it does. */
  pid(): number;
  /** How many writes to Leases and candidates the server took from it in [from, to), ms since the epoch. */
  countWrites(from: number, to: number): Promise<number>;
  /** Only of this controller: ends its process. */
  end(): Promise<void>;
  /** Only of this controller: starts another one. */
  readonly start: StartWith;
  /** Only of the limit: lists everything, and tells for how long, in milliseconds. */
  list(): Promise<number>;
  stop(): Promise<void>;
}

/** The namespace of all that is elected. */
export const NAMESPACE = 'bench';

/** As the chart has it by default. */
const ARGS = ['--log-level', 'info'] as const;

/** Starts one on a control plane of its own. `profileTo` is a directory for CPU profiles of this controller. */
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
