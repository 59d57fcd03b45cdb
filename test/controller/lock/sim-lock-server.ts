import type { LockStorage } from '../../../src/controller/lock/lock-storage.ts';
import { CALL_TIMEOUT_MS } from '../../../src/controller/lock/lock-storage.ts';
import { coordinatorLease } from '../../../src/election/model.ts';
import { ApiError } from '../../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Clock } from '../../../src/support/clock.ts';

type Spec = Readonly<Record<string, unknown>>;

/** The answer of a refusal. */
function refusal(status: number): ApiError {
  const reason = { 404: 'NotFound', 409: 'Conflict' }[status];
  return new ApiError({ method: 'PUT', path: 'lock', status, reason, message: `answered ${status}` });
}

/** The fate of a request: the latencies of request and answer, and whether either is lost. */
export interface SimFate {
  readonly requestMs?: number;
  readonly answerMs?: number;
  /**
   * `refused`: answered with 500 and not executed. `lost`: executed, but not answered. `dropped`: not executed.
   * `twice`: executed twice, with the second answer.
   */
  readonly outcome?: 'refused' | 'lost' | 'dropped' | 'twice';
}

export interface SimConnection {
  readonly clock: Clock;
  /** The clock of the deadlines; default: the network's. */
  readonly caller?: Clock;
  /** Decides the fate of each request. Default: all arrive and are answered at once. */
  readonly fate?: () => SimFate;
  /** Latency of the watch's events, in milliseconds; undefined: there is no watch. */
  readonly watchDelayMs?: number | undefined;
}

/** One Lease behind an API server: resourceVersions, conflicts, watches. */
export class SimLockServer {
  #lease: KubernetesObject | undefined;
  #version = 100;
  readonly #watchers = new Set<(lease: KubernetesObject | undefined) => void>();
  /** Every executed request, in order. */
  readonly requests: string[] = [];

  get lease(): KubernetesObject | undefined {
    return this.#lease;
  }

  get spec(): Spec {
    return (this.#lease?.['spec'] ?? {}) as Spec;
  }

  /** Writes without a precondition, as an administrator would. */
  put(spec: Spec, rest: Readonly<Record<string, unknown>> = {}): void {
    this.#store({ ...rest, metadata: { name: 'lock' }, spec });
  }

  /** Restores an old state of the Lease, as from a backup of the storage. */
  restore(spec: Spec): void {
    this.#version = 10;
    this.put(spec);
  }

  remove(): void {
    this.#lease = undefined;
    this.#tell();
  }

  connect(
    { clock, caller = clock, fate = () => ({}), watchDelayMs = 0 }: SimConnection,
    hasWatch = true,
  ): LockStorage {
    const request = <T>(name: string, carryOut: () => T): Promise<T> => inTime(caller, send(name, carryOut));
    const send = async <T>(name: string, carryOut: () => T): Promise<T> => {
      const { requestMs = 0, answerMs = 0, outcome } = fate();
      if (requestMs > 0) await pause(clock, requestMs);
      if (outcome === 'refused') throw refusal(500);
      if (outcome === 'dropped') return await new Promise<never>(() => {});
      this.requests.push(name);
      if (outcome === 'twice') carryOut();
      const answer = settled(carryOut);
      if (outcome === 'lost') return await new Promise<never>(() => {});
      if (answerMs > 0) await pause(clock, answerMs);
      return answer();
    };
    return {
      lease: coordinatorLease,
      get: () => request('get', () => this.#lease),
      create: (lease) => request('create', () => this.#create(lease)),
      update: (lease) => request('update', () => this.#update(lease)),
      watch: (onChange) => {
        const watcher = (lease: KubernetesObject | undefined) => {
          clock.setTimer(() => onChange(lease), watchDelayMs);
        };
        if (hasWatch) this.#watchers.add(watcher);
        return () => this.#watchers.delete(watcher);
      },
    };
  }

  #create(lease: KubernetesObject): KubernetesObject {
    if (this.#lease !== undefined) throw refusal(409);
    return this.#store(lease);
  }

  #update(lease: KubernetesObject): KubernetesObject {
    if (this.#lease === undefined) throw refusal(404);
    if (lease.metadata.resourceVersion !== this.#lease.metadata.resourceVersion) throw refusal(409);
    return this.#store(lease);
  }

  #store(lease: KubernetesObject): KubernetesObject {
    this.#lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: `${++this.#version}` } };
    this.#tell();
    return this.#lease;
  }

  #tell(): void {
    const lease = this.#lease;
    for (const watcher of this.#watchers) watcher(lease);
  }
}

/** Runs `work` now. The returned function gives its result or error. */
function settled<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Rejects when the deadline of a call passes without an answer. */
async function inTime<T>(clock: Clock, answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.setTimer(() => reject(new Error('no answer')), CALL_TIMEOUT_MS);
  try {
    return await Promise.race([answer, promise]);
  } finally {
    cancel();
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(resolve, ms));
}
