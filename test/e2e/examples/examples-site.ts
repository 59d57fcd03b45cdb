import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../coordinator.ts';
import { Ledger } from '../ledger.ts';
import { type PodCluster, startPodCluster } from '../pod-cluster.ts';
import { backOffMs } from '../process-kubelet/container-run.ts';
import { openShell, type Shell } from '../runbooks/shell.ts';
import { evidenceOf } from './evidence.ts';
import { exampleImages } from './example-images.ts';
import { type ExampleProgram, examplePrograms } from './example-programs.ts';

const namespace = 'default';
const volumes = '/api/v1/persistentvolumes';

/** A Lease of the examples lasts so long after its last renewal, in milliseconds. */
export const LEASE_MS = 15_000;

/** docs/contributing/attacks.md, "How long it may take": after a crash, a pause or an outage, 60 s and twice the Lease's duration. */
const PROMISED_MS = 60_000 + 2 * LEASE_MS;

interface PodContainers {
  readonly status: Partial<
    Record<'initContainerStatuses' | 'containerStatuses', readonly { readonly restartCount: number }[]>
  >;
}

/** A program of examples/ in a cluster. */
export class DeployedExample {
  readonly program: ExampleProgram;
  readonly ledger: Ledger;
  readonly #cluster: PodCluster;
  readonly #shell: Shell;
  readonly #frozen = new Set<() => void>();

  constructor(program: ExampleProgram, cluster: PodCluster, shell: Shell) {
    const { name } = program;
    this.program = program;
    this.#cluster = cluster;
    this.#shell = shell;
    this.ledger = new Ledger(join(cluster.plane.directory, 'claims', namespace, name, name));
  }

  /**
   * Waits until a leader writes from now on, in any pod but `former`; resolves to its pod. By default it waits for as long
   * as an election may take, once the kubelet has started the containers again.
   * @throws Error that says how its pods, its Lease and their logs were, when no leader has written in time.
   */
  async untilWritten(former?: string, withinMs?: number): Promise<string> {
    const { name } = this.program;
    const from = this.ledger.length;
    const timeoutMs = withinMs ?? PROMISED_MS + (await this.#longestBackOffMs());
    const since = new Date();
    const writer = () =>
      this.ledger
        .lines()
        .slice(from)
        .find(({ writer: pod }) => pod !== former)?.writer;
    try {
      return await eventually(writer, `${name} leads after ${former ?? 'any leader'}`, timeoutMs, 200);
    } catch (error) {
      throw new Error(`${error}\n${await evidenceOf(this.#shell, name, since)}`, { cause: error });
    }
  }

  /** The pod that has written last. */
  get leader(): string {
    const { writer } = this.ledger;
    if (writer === undefined) throw new Error(`${this.program.name} has never led`);
    return writer;
  }

  /** The node of the leader's pod. */
  async leaderNode(): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/pods/${this.leader}`;
    return (await this.#cluster.plane.request<{ spec: { nodeName: string } }>('GET', path)).spec.nodeName;
  }

  /** SIGKILL to a container of the leader's pod, by default to the program itself. Returns whether it ran. */
  kill(container = this.program.containers[0]): boolean {
    const process = this.#processOf(container);
    process?.kill('SIGKILL');
    return process !== undefined;
  }

  /** SIGSTOP to containers of the leader's pod, by default all; the function returned lets them go on. */
  freeze(containers: readonly string[] = this.program.containers): () => void {
    const processes = containers.flatMap((container) => this.#processOf(container) ?? []);
    for (const process of processes) process.kill('SIGSTOP');
    const thaw = () => {
      this.#frozen.delete(thaw);
      for (const process of processes) process.kill('SIGCONT');
    };
    this.#frozen.add(thaw);
    return thaw;
  }

  /** Deletes the leader's pod. */
  async deletePod(): Promise<void> {
    await this.#cluster.plane
      .request('DELETE', `/api/v1/namespaces/${namespace}/pods/${this.leader}`)
      .catch(() => {});
  }

  /** Lets everything go on that is frozen. */
  thaw(): void {
    for (const thaw of [...this.#frozen]) thaw();
  }

  /** How long a container of its pods may wait for its next start, in milliseconds. */
  async #longestBackOffMs(): Promise<number> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${this.program.name}`;
    const { items } = await this.#cluster.plane.request<{ items: readonly PodContainers[] }>('GET', path);
    const statuses = items.flatMap(({ status: { initContainerStatuses = [], containerStatuses = [] } }) => [
      ...initContainerStatuses,
      ...containerStatuses,
    ]);
    return Math.max(0, ...statuses.map(({ restartCount }) => backOffMs(restartCount + 1)));
  }

  #processOf(container: string) {
    const { leader } = this;
    return this.#cluster.kubelets
      .map((kubelet) => kubelet.processOf(namespace, leader, container))
      .find((found) => found);
  }
}

/** A cluster with two nodes, volumes for what the examples claim, and somebody's shell in a clone. */
export interface ExamplesSite {
  readonly cluster: PodCluster;
  readonly shell: Shell;
  readonly examples: readonly DeployedExample[];
  stop(): Promise<void>;
}

/** Starts one; nothing is installed yet. */
export async function startExamplesSite(coordinatedLeaderElection: boolean): Promise<ExamplesSite> {
  const folder = await mkdtemp(join(tmpdir(), 'examples-'));
  const findImage = await exampleImages(folder);
  const cluster = await startPodCluster({
    plane: { coordinatedLeaderElection, readyWithinMs: 120_000 },
    nodes: ['worker-1', 'worker-2'].map((nodeName) => ({ nodeName, findImage })),
  });
  const { plane } = cluster;
  for (const { name } of examplePrograms) {
    await plane.request('POST', volumes, {
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '100Mi' },
        hostPath: { path: `/${name}` },
        claimRef: { namespace, name },
      },
    });
  }
  const shell = await openShell(plane.kubeconfig);
  return {
    cluster,
    shell,
    examples: examplePrograms.map((program) => new DeployedExample(program, cluster, shell)),
    async stop() {
      await shell.remove();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
