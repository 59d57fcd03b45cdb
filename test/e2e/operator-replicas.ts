import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'vitest';
import { binary } from '../control-plane/binaries.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { eventually } from './coordinator.ts';

/** The Lease of an operator lasts so long after a renewal. Its leader gives up after 4 s without one. */
export const LEASE_MS = 5000;

/** What an operator logs when it is a candidate, or, without the Go module, begins to try. */
const STARTED = { new: /Stands as candidate/, former: /Attempting to acquire leader lease/ } as const;

/** A replica of an operator in Go: `new` with the module of clients/go, `former` with the lock of controller-runtime. */
export interface ReplicaSpec {
  readonly kind: keyof typeof STARTED;
  readonly priority?: number;
  /** The node of its Pod. */
  readonly node?: string;
}

export interface Replica {
  readonly name: string;
  /** Resolves when it has started to take part this many times. */
  started(times: number): Promise<void>;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
}

/** A line that a leader writes: the fencing token (-1 of a former replica), the name and the process. */
interface Line {
  readonly token: number;
  readonly name: string;
  readonly pid: string;
  readonly atMs: number;
}

/** The replicas of one operator. Each is a process, which is started again when it ends by itself, as by a kubelet. */
export class OperatorReplicas {
  /** How often a replica has ended by itself. */
  restarts = 0;
  readonly lease: string;
  readonly #plane: CoordinationPlane;
  readonly #ledger: string;
  readonly #context: TestContext;

  /** They run for as long as the test at most. */
  constructor(plane: CoordinationPlane, lease: string, context: TestContext) {
    this.#plane = plane;
    this.#context = context;
    this.lease = lease;
    const folder = join(plane.directory, 'ledgers');
    mkdirSync(folder, { recursive: true });
    this.#ledger = join(folder, lease);
  }

  /** Resolves when the replica has started to take part. */
  async start(name: string, { kind, priority = 0, node = 'worker-1' }: ReplicaSpec): Promise<Replica> {
    const path = await binary('operator');
    const pod = await this.#createPod(`${this.lease}-${name}`, node);
    const { hostname, port } = new URL(this.#plane.url);
    let starts = 0;
    const log: string[] = [];
    let process: ChildProcess | undefined;
    let isStopping = false;
    const run = async () => {
      while (!isStopping) {
        process = spawn(path, this.#argumentsFor(pod.name, kind, priority), {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: {
            POD_NAME: pod.name,
            POD_NAMESPACE: 'default',
            POD_UID: pod.uid,
            KUBERNETES_SERVICE_HOST: hostname,
            KUBERNETES_SERVICE_PORT: port,
          },
        });
        createInterface({ input: process.stderr as NonNullable<typeof process.stderr> }).on(
          'line',
          (line) => {
            log.push(line);
            if (STARTED[kind].test(line)) starts += 1;
          },
        );
        await once(process, 'exit');
        if (!isStopping) this.restarts += 1;
        await sleep(100);
      }
    };
    const ended = run();
    const end = async (signal: NodeJS.Signals) => {
      isStopping = true;
      process?.kill(signal);
      await ended;
    };
    this.#context.onTestFinished(() => end('SIGKILL'));
    const started = async (times: number) => {
      await eventually(
        () => starts >= times || undefined,
        `${name} has started ${times} times`,
        60_000,
      ).catch((cause: unknown) => {
        throw new Error(log.slice(-20).join('\n'), { cause });
      });
    };
    await started(1);
    return { name: pod.name, started, stop: () => end('SIGTERM') };
  }

  /** Waits until one of these replicas works. */
  async untilLedBy(...replicas: readonly Replica[]): Promise<Replica> {
    const names = replicas.map(({ name }) => name);
    return eventually(
      () => replicas.find(({ name }) => name === this.leader),
      `${names.join(' or ')} works`,
      60_000,
    );
  }

  /** The name of the replica that has worked in the last 3 s: a slow machine may pause it. */
  get leader(): string | undefined {
    const last = this.#lines().at(-1);
    return last && Date.now() - last.atMs < 3000 ? last.name : undefined;
  }

  /** How often another process has begun to work. */
  get terms(): number {
    return this.#terms().length;
  }

  /** What is wrong with all that was written: a process that writes after another has begun to, a token that does not grow. */
  violations(): readonly string[] {
    const former = new Set<string>();
    let greatest = -1;
    return this.#terms().flatMap(({ token, name, pid }) => {
      const found = former.has(pid) ? [`${name} has written after another leader`] : [];
      if (token >= 0 && token <= greatest) found.push(`${name} has led under ${token} after ${greatest}`);
      former.add(pid);
      greatest = Math.max(greatest, token);
      return found;
    });
  }

  #terms(): readonly Line[] {
    return this.#lines().filter(({ pid }, index, lines) => pid !== lines[index - 1]?.pid);
  }

  #lines(): readonly Line[] {
    if (!existsSync(this.#ledger)) return [];
    const lines = readFileSync(this.#ledger, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [token, name = '', pid = '', nanoseconds] = line.split(' ');
      return { token: Number(token), name, pid, atMs: Number(nanoseconds) / 1e6 };
    });
  }

  #argumentsFor(name: string, kind: ReplicaSpec['kind'], priority: number): readonly string[] {
    const flags = {
      kubeconfig: this.#plane.kubeconfig,
      name,
      lease: this.lease,
      ledger: this.#ledger,
      strategy: 'coordinated-leader-election.dev/NewestVersion',
      priority,
      'lease-duration': `${LEASE_MS}ms`,
      'renew-deadline': '4s',
      'retry-period': '300ms',
      plain: kind === 'former',
    };
    return Object.entries(flags).map(([flag, value]) => `-${flag}=${value}`);
  }

  /** No kubelet runs it: it tells on which node a replica is. */
  async #createPod(name: string, nodeName: string): Promise<{ readonly name: string; readonly uid: string }> {
    const { metadata } = await this.#plane.request<{ metadata: { name: string; uid: string } }>(
      'POST',
      '/api/v1/namespaces/default/pods',
      {
        metadata: { name },
        spec: {
          nodeName,
          automountServiceAccountToken: false,
          containers: [{ name: 'manager', image: 'operator' }],
        },
      },
    );
    return metadata;
  }
}
