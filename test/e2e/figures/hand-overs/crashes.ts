import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installCandidateResource } from '../../../control-plane/candidate-resource.ts';
import { startControlPlane } from '../../../control-plane/control-plane.ts';
import { startElectors } from '../../../control-plane/electors.ts';
import { type WatchedObjects, type WatchedPod, watchPods } from '../../../control-plane/watched-objects.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { eventually, startCoordinator, untilActive } from '../../coordinator.ts';
import { type PodCluster, startPodCluster } from '../../pod-cluster.ts';
import { untilBuiltInActs } from '../contender.ts';
import {
  CRASH_NAMESPACE,
  CRASH_TIMES,
  type CrashProgram,
  crashImages,
  crashPrograms,
  type ElectorTimes,
} from './crash-programs.ts';
import { type Load, watchLoad } from './load.ts';

/** A leader got kill -9; all times in milliseconds since the Unix epoch. */
export interface Crash {
  readonly killedAt: number;
  /** When the status of its Pod first showed the end of its container; undefined: there is no Pod. */
  readonly reportedAt: number | undefined;
  /** When the next leader's first line of work ran. */
  readonly workedAt: number;
}

/** The crashes of one kind of program. */
export interface CrashFigures {
  readonly title: string;
  readonly times: ElectorTimes;
  readonly crashes: readonly Crash[];
}

export interface CrashScale {
  /** How many Leases each kind of program has, for each of the times. */
  readonly leases: number;
}

/** Over how long the kills are spread, in milliseconds. */
const SPREAD_MS = 10_000;
/** For how long all programs rest before each kill, in milliseconds. A Lease of 137 s is renewed once in this time. */
const REST_MS = 30_000;
/** More than any Lease and the longest time until client-go looks again, in milliseconds. */
const MAX_WAIT_MS = 300_000;

/**
 * Kills leaders with crash evidence, and again without it. client-go's programs with the built-in coordinator are killed
 * at the same time.
 */
export async function measureCrashes(
  { leases }: CrashScale,
  say: (text: string) => void,
): Promise<{ readonly figures: readonly CrashFigures[]; readonly loads: Readonly<Record<string, Load>> }> {
  const folder = await mkdtemp(join(tmpdir(), 'crashes-'));
  const cluster = await startPodCluster({
    plane: { coordinatedLeaderElection: false },
    nodes: [{ findImage: await crashImages(), relistMs: 1000 }],
  });
  const loads: Record<string, Load> = {};
  const watched = async <T>(name: string, measure: () => Promise<T>): Promise<T> => {
    const loadSince = await watchLoad(async () => 0);
    const measured = await measure();
    loads[name] = await loadSince();
    return measured;
  };
  try {
    const site = new CrashSite(cluster, folder, leases, await watchPods(cluster.plane));
    await prepare(cluster);
    say('programs start');
    let coordinator = await startCoordinator(cluster.plane.kubeconfig, [
      '--watch-pods',
      '--log-level',
      'info',
    ]);
    await untilActive(coordinator, 60_000);
    await site.deploy();
    say('kill -9, with crash evidence');
    const withEvidence = await watched('with evidence', () => site.killAll('with crash evidence'));
    await coordinator.stop();
    coordinator = await startCoordinator(cluster.plane.kubeconfig, ['--log-level', 'info']);
    await untilActive(coordinator, 60_000);
    await site.deploy();
    say('kill -9, without crash evidence');
    const [withoutEvidence, builtIn] = await watched('without evidence', () =>
      Promise.all([site.killAll('without'), measureBuiltIn(leases)]),
    );
    await coordinator.stop();
    site.stop();
    return { figures: [...withEvidence, ...withoutEvidence, ...builtIn], loads };
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function prepare({ plane }: PodCluster): Promise<void> {
  await installCandidateResource(plane);
  const annotations = { 'coordinated-leader-election.dev/crash-evidence': 'enabled' };
  await plane.request('POST', '/api/v1/namespaces', { metadata: { name: CRASH_NAMESPACE, annotations } });
  const rbac = 'rbac.authorization.k8s.io';
  await plane.request('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: CRASH_NAMESPACE },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: CRASH_NAMESPACE, name: 'default' }],
  });
}

/** A line of a ledger. */
interface Line {
  readonly pod: string;
  readonly at: number;
}

interface CrashLease {
  readonly name: string;
  readonly program: CrashProgram;
  readonly times: ElectorTimes;
}

/** The Leases of a cluster, with two Pods each. */
class CrashSite {
  readonly #cluster: PodCluster;
  readonly #folder: string;
  readonly #pods: WatchedObjects<WatchedPod>;
  readonly #leases: readonly CrashLease[];
  readonly #random = seededRandom(1);
  /** How many Pods each Lease has had. */
  readonly #podsOf = new Map<CrashLease, number>();

  constructor(cluster: PodCluster, folder: string, leases: number, pods: WatchedObjects<WatchedPod>) {
    this.#cluster = cluster;
    this.#folder = folder;
    this.#pods = pods;
    this.#leases = CRASH_TIMES.flatMap((times) =>
      crashPrograms.flatMap((program) =>
        Array.from({ length: leases }, (_, index) => ({
          name: `${program.name}-${times.leaseDuration}-${index}`,
          program,
          times,
        })),
      ),
    );
  }

  /** Starts Pods until each Lease has two that run. Resolves when all Leases are led, and all Pods have rested. */
  async deploy(): Promise<void> {
    await Promise.all(
      this.#leases.map(async (lease) => {
        const started = this.#podsOf.get(lease) ?? 0;
        this.#podsOf.set(lease, started === 0 ? 2 : started + 1);
        for (let index = started; index < (this.#podsOf.get(lease) ?? 0); index++)
          await this.#startPod(lease, index);
        await this.#nextWork(lease, 0);
      }),
    );
    const running = async () => {
      const { items } = await this.#cluster.plane.request<{ items: readonly WatchedPod[] }>(
        'GET',
        `/api/v1/namespaces/${CRASH_NAMESPACE}/pods`,
      );
      const ready = items.filter(({ status }) => status.containerStatuses?.every((one) => one.ready));
      return ready.length === 2 * this.#leases.length || undefined;
    };
    await eventually(running, 'all Pods run', MAX_WAIT_MS, 500);
    await sleep(REST_MS);
  }

  /** Its container is not started again: if it were at once, a participant would go on leading by its own identity. */
  async #startPod({ name, program, times }: CrashLease, index: number): Promise<void> {
    const field = (variable: string, fieldPath: string) => ({
      name: variable,
      valueFrom: { fieldRef: { fieldPath } },
    });
    const env = [
      field('POD_NAME', 'metadata.name'),
      field('POD_UID', 'metadata.uid'),
      { name: 'LEDGER', value: join(this.#folder, name) },
    ];
    const container = { name: 'main', image: program.image, args: program.args(name, times), env };
    await this.#cluster.plane.request('POST', `/api/v1/namespaces/${CRASH_NAMESPACE}/pods`, {
      metadata: { name: `${name}-${index}` },
      spec: { restartPolicy: 'Never', containers: [container] },
    });
  }

  /** Kills the leaders of all Leases. */
  async killAll(what: string): Promise<readonly CrashFigures[]> {
    const crashed = await Promise.all(
      this.#leases.map(async (lease) => ({ lease, crash: await this.#kill(lease) })),
    );
    return CRASH_TIMES.flatMap((times) =>
      crashPrograms.map((program) => ({
        title: `${program.title}, ${what}`,
        times,
        crashes: crashed.flatMap(({ lease, crash }) =>
          lease.program === program && lease.times === times ? [crash] : [],
        ),
      })),
    );
  }

  async #kill(lease: CrashLease): Promise<Crash> {
    await sleep(this.#random() * SPREAD_MS);
    const { pod = '' } = (await this.#lines(lease)).at(-1) ?? {};
    const process = this.#cluster.kubelets[0]?.processOf(CRASH_NAMESPACE, pod);
    if (!process) throw new Error(`${pod} does not run`);
    const [status] = this.#pods.current(CRASH_NAMESPACE, pod)?.status.containerStatuses ?? [];
    const killedAt = Date.now();
    process.kill('SIGKILL');
    const [report, work] = await Promise.all([
      this.#pods.waitFor(CRASH_NAMESPACE, pod, (object) => showsEnd(object, status?.containerID)),
      this.#nextWork(lease, killedAt, pod),
    ]);
    return { killedAt, reportedAt: report.wallMs, workedAt: work.at };
  }

  /** The first work on a Lease since `from`, by another Pod than `former`. */
  #nextWork(lease: CrashLease, from: number, former?: string): Promise<Line> {
    const next = async () => (await this.#lines(lease)).find(({ pod, at }) => at >= from && pod !== former);
    return eventually(next, `${lease.name} is led`, MAX_WAIT_MS, 200);
  }

  /** Each line has the fencing token, the identity, the process, and the time in nanoseconds. */
  async #lines({ name }: CrashLease): Promise<readonly Line[]> {
    const text = await readFile(join(this.#folder, name), 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [, identity = '', , nanoseconds] = line.split(' ');
        return { pod: identity.split('_')[0] ?? '', at: Number(nanoseconds) / 1e6 };
      });
  }

  stop(): void {
    this.#pods.stop();
  }
}

function showsEnd({ status }: WatchedPod, containerId: string | undefined): boolean {
  const [container] = status.containerStatuses ?? [];
  return [container?.state, container?.lastState].some(
    (state) => state?.terminated?.containerID === containerId && containerId !== undefined,
  );
}

/** client-go's candidates and electors, with the built-in coordinator. All leaders run in one process, which gets kill -9. */
async function measureBuiltIn(leases: number): Promise<readonly CrashFigures[]> {
  const plane = await startControlPlane();
  try {
    await untilBuiltInActs(plane);
    const [leaders, standbys] = await Promise.all([
      startElectors(plane.kubeconfig),
      startElectors(plane.kubeconfig),
    ]);
    const all = CRASH_TIMES.flatMap((times) =>
      Array.from({ length: leases }, (_, index) => ({
        times,
        lease: `built-in-${times.leaseDuration}-${index}`,
      })),
    );
    for (const [minor, electors] of [leaders, standbys].entries()) {
      await Promise.all(
        all.map(async ({ times, lease }) => {
          const { leaseDuration, renewDeadline, retryPeriod } = times;
          await electors.start({
            ...{ id: lease, lease, name: `${lease}.${minor}`, emulationVersion: `1.${30 + minor}.0` },
            ...{ leaseDuration: `${leaseDuration}s`, renewDeadline: `${renewDeadline}s` },
            retryPeriod: `${retryPeriod}s`,
          });
          const event = electors === leaders ? 'startedLeading' : 'candidateCreated';
          await electors.waitFor({ id: lease, event }, { timeoutMs: MAX_WAIT_MS });
        }),
      );
    }
    await sleep(REST_MS);
    const killedAt = Date.now();
    process.kill(leaders.pid, 'SIGKILL');
    const crashes = await Promise.all(
      all.map(async ({ times, lease }) => {
        const next = { id: lease, event: 'startedLeading' } as const;
        const { wallMicros } = await standbys.waitFor(next, { timeoutMs: MAX_WAIT_MS });
        return { times, crash: { killedAt, reportedAt: undefined, workedAt: wallMicros / 1000 } };
      }),
    );
    await Promise.all([leaders.stop(), standbys.stop()]);
    return CRASH_TIMES.map((times) => ({
      title: 'client-go, built-in coordinator',
      times,
      crashes: crashes.flatMap((one) => (one.times === times ? [one.crash] : [])),
    }));
  } finally {
    await plane.stop();
  }
}
