import { compare } from 'semver';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Reflector } from '../../src/kubernetes/reflector.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { OLDEST } from '../support/election-builders.ts';
import { specOf } from './sim-api-server.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';
import { keyOf } from './sim-store.ts';

const CANDIDATES = 'coordination.k8s.io/v1beta1';
/** Time from a ping to its answer, and how long a renewal counts as an answer. */
const ELECTION_MS = 5000;
/** The interval of checks of each Lease with candidates. */
const REQUEUE_MS = 5000;
const LEASE_SECONDS = 5;
/** How long a candidate is valid after its renewTime. */
const VALIDITY_MS = 30 * 60_000;
/** A candidate that has not renewed for this long causes an election. */
const OLD_MS = 15 * 60_000;
/** After a failure, it retries after this time plus jitter. */
const RETRY_MS = 200;

/**
 * The elections of the controller built into kube-apiserver while it holds the lock. It uses its own wall clock and
 * the current Lease, and remembers no holders. So it may cause two leaders by itself.
 */
export class SimBuiltInElections {
  readonly #process: SimProcess;
  readonly #client: SimConnection;
  readonly #isActive: () => boolean;
  readonly #leases = new Map<string, KubernetesObject>();
  readonly #candidates = new Map<string, KubernetesObject>();
  readonly #reflectors: readonly Reflector<KubernetesObject>[];
  /** The Leases in work; true if one has changed in the meantime. */
  readonly #busy = new Map<string, boolean>();
  /** By Lease: cancels its next check. */
  readonly #timers = new Map<string, () => void>();

  constructor(process: SimProcess, client: SimConnection, isActive: () => boolean) {
    this.#process = process;
    this.#client = client;
    this.#isActive = isActive;
    this.#reflectors = [
      this.#watch(resourcePaths.leases(''), this.#leases, keyOf),
      this.#watch(resourcePaths.candidates(CANDIDATES, ''), this.#candidates, leaseKeyOf),
    ];
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** The controller has acquired or renewed the lock: checks all Leases that it was not allowed to check before. */
  resume(): void {
    for (const candidate of this.#candidates.values()) {
      const key = leaseKeyOf(candidate);
      if (!this.#timers.has(key) && !this.#busy.has(key)) this.#look(key);
    }
  }

  #watch(
    path: string,
    objects: Map<string, KubernetesObject>,
    leaseOf: (object: KubernetesObject) => string,
  ): Reflector<KubernetesObject> {
    return new Reflector({
      client: this.#client,
      clock: this.#process,
      path,
      decode: (raw) => raw,
      handler: ({ type, object }) => {
        if (type === 'deleted') objects.delete(keyOf(object));
        else objects.set(keyOf(object), object);
        this.#look(leaseOf(object));
      },
    });
  }

  #look(key: string): void {
    if (!this.#isActive()) return;
    this.#timers.get(key)?.();
    this.#timers.delete(key);
    if (this.#busy.has(key)) {
      this.#busy.set(key, true);
      return;
    }
    this.#busy.set(key, false);
    void this.#reconcile(key).then((nextMs) => {
      const isOutdated = this.#busy.get(key) === true;
      this.#busy.delete(key);
      if (isOutdated) this.#look(key);
      else if (nextMs !== undefined)
        this.#timers.set(
          key,
          this.#process.setTimer(() => this.#look(key), nextMs),
        );
    });
  }

  /** Returns the delay until the next check, in milliseconds; undefined: after the next change. */
  async #reconcile(key: string): Promise<number | undefined> {
    const candidates = [...this.#candidates.values()].filter(
      (candidate) => leaseKeyOf(candidate) === key && this.#ageMs(candidate) < VALIDITY_MS,
    );
    if (candidates.length === 0) return undefined;
    if (!this.#isElectionNeeded(this.#leases.get(key), candidates)) return REQUEUE_MS;
    try {
      if (await this.#isVotePending(candidates)) return REQUEUE_MS;
      await this.#elect(key, candidates);
      return REQUEUE_MS;
    } catch {
      return RETRY_MS * (1 + this.#process.random());
    }
  }

  #isElectionNeeded(lease: KubernetesObject | undefined, candidates: readonly KubernetesObject[]): boolean {
    const { holderIdentity = '' } = specOf(lease);
    if (!lease || holderIdentity === '' || this.#isExpired(lease)) return true;
    if (candidates.some((candidate) => this.#ageMs(candidate) >= OLD_MS)) return true;
    return bestOf(candidates)?.metadata.name !== holderIdentity;
  }

  /**
   * Pings all candidates that have not renewed just now and have answered their previous ping. Returns whether to
   * wait for answers.
   */
  async #isVotePending(candidates: readonly KubernetesObject[]): Promise<boolean> {
    const asked = candidates.filter((candidate) => {
      const { pingTime, renewTime } = specOf(candidate);
      const isAnswered = String(pingTime ?? '') <= String(renewTime ?? '');
      return this.#ageMs(candidate) >= ELECTION_MS && isAnswered;
    });
    const pingTime = this.#wall;
    await Promise.all(
      asked.map((candidate) => {
        const body = { ...candidate, spec: { ...specOf(candidate), pingTime } };
        const { namespace = '', name } = candidate.metadata;
        const path = resourcePaths.candidate(CANDIDATES, namespace, name);
        return this.#client.request({ method: 'PUT', path, body });
      }),
    );
    const isWaiting = candidates.some((candidate) => {
      const { pingTime: askedAt, renewTime } = specOf(candidate);
      return String(askedAt ?? '') > String(renewTime ?? '') && this.#sinceMs(askedAt) < ELECTION_MS;
    });
    return asked.length > 0 || isWaiting;
  }

  async #elect(key: string, candidates: readonly KubernetesObject[]): Promise<void> {
    const voters = candidates.filter((candidate) => this.#ageMs(candidate) < ELECTION_MS);
    const strategy = strategyOf(voters);
    const elected = bestOf(voters)?.metadata.name;
    if (strategy === undefined || elected === undefined) throw new Error(`nobody can lead ${key}`);
    const [namespace = '', name = ''] = key.split('/');
    const grant = { leaseDurationSeconds: LEASE_SECONDS, renewTime: this.#wall, strategy };
    const spec = strategy === OLDEST ? { ...grant, holderIdentity: elected } : grant;
    try {
      const body = { metadata: { namespace, name }, spec };
      await this.#client.request({ method: 'POST', path: resourcePaths.leases(namespace), body });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      if (strategy === OLDEST) await this.#giveExisting(key, elected, grant);
    }
  }

  async #giveExisting(key: string, elected: string, grant: JsonObject): Promise<void> {
    const lease = this.#leases.get(key);
    if (!lease) return;
    const { preferredHolder: _, ...spec } = specOf(lease);
    const { holderIdentity = '' } = spec;
    if (holderIdentity === elected) return;
    const isFree = holderIdentity === '' || this.#isExpired(lease);
    const next = isFree
      ? { ...spec, ...grant, holderIdentity: elected }
      : { ...spec, strategy: grant['strategy'], preferredHolder: elected };
    const { namespace = '', name } = lease.metadata;
    const path = resourcePaths.lease(namespace, name);
    await this.#client.request({ method: 'PUT', path, body: { ...lease, spec: next } });
  }

  get #wall(): string {
    return formatMicroTime(this.#process.wallTime());
  }

  /** By its own wall clock. */
  #sinceMs(time: unknown): number {
    return typeof time === 'string' ? Date.parse(this.#wall) - Date.parse(time) : Number.POSITIVE_INFINITY;
  }

  #ageMs(candidate: KubernetesObject): number {
    return this.#sinceMs(specOf(candidate)['renewTime']);
  }

  #isExpired(lease: KubernetesObject): boolean {
    const { renewTime, leaseDurationSeconds } = specOf(lease);
    return this.#sinceMs(renewTime) >= Number(leaseDurationSeconds ?? 0) * 1000;
  }
}

function leaseKeyOf(candidate: KubernetesObject): string {
  return `${candidate.metadata.namespace}/${String(specOf(candidate)['leaseName'])}`;
}

/** Returns the strategy of the highest binaryVersion; undefined if there are two. */
function strategyOf(candidates: readonly KubernetesObject[]): string | undefined {
  const versionOf = (candidate: KubernetesObject) => String(specOf(candidate)['binaryVersion']);
  const [highest] = candidates.map(versionOf).sort((a, b) => compare(b, a));
  const wanted = new Set(
    candidates
      .filter((candidate) => versionOf(candidate) === highest)
      .map((candidate) => String(specOf(candidate)['strategy'])),
  );
  const [strategy] = wanted;
  return wanted.size === 1 ? strategy : undefined;
}

/** By OldestEmulationVersion. */
function bestOf(candidates: readonly KubernetesObject[]): KubernetesObject | undefined {
  const [best] = [...candidates].sort((a, b) => {
    const [specA, specB] = [specOf(a), specOf(b)];
    return (
      compare(String(specA['emulationVersion']), String(specB['emulationVersion'])) ||
      compare(String(specA['binaryVersion']), String(specB['binaryVersion'])) ||
      Date.parse(String(a.metadata.creationTimestamp)) - Date.parse(String(b.metadata.creationTimestamp))
    );
  });
  return best;
}
