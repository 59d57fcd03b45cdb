import { type CandidateApiVersion, CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { CandidateSource, PodReference } from '../../src/election/model.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Reflector } from '../../src/kubernetes/reflector.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { specOf } from './sim-api-server.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';

/** The identity of a simulated candidate. */
export interface SimCandidateIdentity {
  /** Default: native. */
  readonly source?: CandidateSource;
  readonly namespace: string;
  readonly leaseName: string;
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  /** Default: OldestEmulationVersion. */
  readonly strategy?: string;
  /** The Pod in its ownerReference, if it has one. */
  readonly pod?: PodReference;
}

/** Callbacks about a candidate. */
export interface SimCandidateHooks {
  /** It has lost its leadership and exits. A real program is then started again, under a new name. */
  readonly onExit: (candidate: SimCandidate) => void;
  /** Whether it may now empty the Lease of another holder, as client-go's release does since 0.34 (rule 8). */
  readonly mayReleaseAnothers: () => boolean;
  /** Until when it believes at most that it leads, in the world's time; undefined: it knows that it does not lead. */
  readonly onBelief: (candidate: SimCandidate, until: Instant | undefined) => void;
  readonly trace: (text: () => string) => void;
}

/** The configuration of client-go's elector. */
export interface SimElectorTiming {
  readonly leaseSeconds: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const USUAL_TIMING: SimElectorTiming = { leaseSeconds: 15, renewDeadlineMs: 10_000, retryMs: 2000 };
export const QUICK_TIMING: SimElectorTiming = { leaseSeconds: 8, renewDeadlineMs: 5000, retryMs: 1000 };

/** Deviations from the usual behaviour. */
export interface SimCandidateHabits {
  readonly timing?: SimElectorTiming;
  /** The share of its Lease's duration for which it trusts a renewal, by its own clock. Default: 1. */
  readonly beliefShare?: number;
  /** Whether it publishes a deleted LeaseCandidate again at once, and not with its next renewal. */
  readonly watchesForDeletion?: boolean;
}

const RENEW_PERIOD_MS = 5 * 60_000;

/** A program with client-go's LeaseCandidate and coordinated LeaderElector. */
export class SimCandidate {
  readonly identity: SimCandidateIdentity;
  readonly process: SimProcess;
  readonly connection: SimConnection;
  readonly #hooks: SimCandidateHooks;
  readonly #timing: SimElectorTiming;
  readonly #beliefShare: number;
  readonly #watchesForDeletion: boolean;
  readonly #watch: Reflector<KubernetesObject>;
  #isStopping = false;
  #isRenewing = false;
  /** Its LeaseCandidate was deleted, even if an earlier answer shows it. */
  #isDeleted = false;
  #own: KubernetesObject | undefined;
  #cancelRenewal = (): void => {};
  /** The last seen record of the Lease, and since when the elector has seen it, by its own clock. */
  #seen = '';
  #seenSpec: JsonObject | undefined;
  #seenHolder = '';
  #seenAt: Instant = 0;
  /** In the world's time. */
  #leadsUntil: Instant = Number.NEGATIVE_INFINITY;
  /** When it gives up if it does not renew; set while it leads. */
  #givesUpAt: Instant | undefined;

  constructor(
    identity: SimCandidateIdentity,
    process: SimProcess,
    connection: SimConnection,
    hooks: SimCandidateHooks,
    { timing = USUAL_TIMING, beliefShare = 1, watchesForDeletion = true }: SimCandidateHabits = {},
  ) {
    this.identity = identity;
    this.process = process;
    this.connection = connection;
    this.#hooks = hooks;
    this.#timing = timing;
    this.#beliefShare = beliefShare;
    this.#watchesForDeletion = watchesForDeletion;
    this.#watch = new Reflector({
      client: connection,
      clock: process,
      path: resourcePaths.candidates(apiVersionOf(identity), identity.namespace),
      query: { fieldSelector: `metadata.name=${identity.name}` },
      decode: (raw) => raw,
      handler: ({ type, object }) => this.#onOwn(type === 'deleted' ? undefined : object),
    });
  }

  get leaseKey(): string {
    return `${this.identity.namespace}/${this.identity.leaseName}`;
  }

  /** Whether it believes now that it leads. */
  get leads(): boolean {
    return this.process.isAlive && this.process.world.now() < this.#leadsUntil;
  }

  get isRunning(): boolean {
    return this.process.isAlive && !this.#isStopping;
  }

  start(): void {
    this.#watch.start();
    void this.#renewCandidate();
    void this.#elect();
  }

  /** Exits cleanly: releases the Lease if it leads, and deletes its LeaseCandidate. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#cancelRenewal();
    const led = this.leads;
    this.#endBelief();
    if (led) await this.#release();
    await this.connection.request({ method: 'DELETE', path: this.#candidatePath }).catch(() => {});
    await this.#watch.stop();
    this.process.kill();
  }

  /** Crashes. The Lease and the LeaseCandidate stay. */
  crash(): void {
    this.process.kill();
    this.#endBelief();
    this.connection.breakWatches();
  }

  get #candidatePath(): string {
    return resourcePaths.candidate(apiVersionOf(this.identity), this.identity.namespace, this.identity.name);
  }

  get #leasePath(): string {
    return resourcePaths.lease(this.identity.namespace, this.identity.leaseName);
  }

  get #wall(): string {
    return formatMicroTime(this.process.wallTime());
  }

  #onOwn(object: KubernetesObject | undefined): void {
    this.#own = object;
    this.#isDeleted = object === undefined;
    if (this.#isStopping) return;
    const isWanted = object ? isPinged(object) : this.#watchesForDeletion;
    if (isWanted) void this.#renewCandidate();
  }

  /** Creates or renews its LeaseCandidate, with retries. */
  async #renewCandidate(): Promise<void> {
    if (this.#isRenewing || this.#isStopping) return;
    this.#isRenewing = true;
    let nextMs = RENEW_PERIOD_MS;
    try {
      const answer = this.#own ? await this.#update(this.#own) : await this.#create();
      if (isKubernetesObject(answer) && isNewer(answer, this.#own)) this.#own = answer;
      // It was pinged in the meantime, or by a clock ahead of its own. Like a real client, it writes again.
      if (this.#own && isPinged(this.#own)) nextMs = 50;
    } catch (error) {
      if (error instanceof ApiError && [404, 409].includes(error.status)) await this.#readOwn();
      nextMs = 500;
    } finally {
      this.#isRenewing = false;
    }
    if (this.#isDeleted) {
      this.#own = undefined;
      this.#isDeleted = false;
      nextMs = 500;
    }
    this.#cancelRenewal();
    this.#cancelRenewal = this.process.setTimer(() => void this.#renewCandidate(), nextMs);
  }

  async #readOwn(): Promise<void> {
    try {
      const answer = await this.connection.request({ method: 'GET', path: this.#candidatePath });
      this.#own = isKubernetesObject(answer) ? answer : undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.#own = undefined;
    }
  }

  #create() {
    const { namespace, name, leaseName, binaryVersion, emulationVersion } = this.identity;
    const { strategy = 'OldestEmulationVersion' } = this.identity;
    const spec = { leaseName, binaryVersion, emulationVersion, strategy, renewTime: this.#wall };
    const { pod } = this.identity;
    const ownerReferences = pod && [{ apiVersion: 'v1', kind: 'Pod', ...pod }];
    const body = { metadata: { namespace, name, ...(ownerReferences && { ownerReferences }) }, spec };
    return this.connection.request({
      method: 'POST',
      path: resourcePaths.candidates(apiVersionOf(this.identity), namespace),
      body,
    });
  }

  #update(own: KubernetesObject) {
    const body = { ...own, spec: { ...specOf(own), renewTime: this.#wall } };
    return this.connection.request({ method: 'PUT', path: this.#candidatePath, body });
  }

  /** Whether it leads and has missed its renew deadline. */
  get #isLate(): boolean {
    return this.#givesUpAt !== undefined && this.process.now() >= this.#givesUpAt;
  }

  async #elect(): Promise<void> {
    while (this.isRunning) {
      // If it wakes up late, its deadline and its next read are due at the same time, in random order.
      if (this.#isLate && this.process.random() < 0.5) {
        await this.#giveUp();
        return;
      }
      try {
        await this.#look();
      } catch {
        // No answer, a conflict or no Lease: it reads again.
      }
      if (!this.isRunning) return;
      if (this.#isLate) {
        await this.#giveUp();
        return;
      }
      const { retryMs } = this.#timing;
      const waitMs = this.#givesUpAt === undefined ? retryMs * (1 + 1.2 * this.process.random()) : retryMs;
      await new Promise<void>((resolve) => this.process.setTimer(resolve, waitMs));
    }
  }

  async #look(): Promise<void> {
    const { leaseSeconds, renewDeadlineMs, retryMs } = this.#timing;
    const deadlineMs = renewDeadlineMs / 2;
    const lease = await this.connection.request({ method: 'GET', path: this.#leasePath, deadlineMs });
    if (!isKubernetesObject(lease)) return;
    const spec = specOf(lease);
    const { holderIdentity, leaseDurationSeconds, preferredHolder } = spec;
    this.#notice(spec);
    if (holderIdentity !== this.identity.name) return;
    if (this.process.now() >= this.#seenAt + Number(leaseDurationSeconds) * 1000) return;
    if (preferredHolder !== undefined && preferredHolder !== '') return;
    // It was told to exit in the meantime, or has slept past its renew deadline. It must not acquire the Lease again.
    if (!this.isRunning || this.#isLate) return;
    const sentAt = this.process.world.now();
    const renewed = { ...spec, leaseDurationSeconds: leaseSeconds, renewTime: this.#wall };
    const body = { ...lease, spec: renewed };
    await this.connection.request({ method: 'PUT', path: this.#leasePath, body, deadlineMs });
    this.#notice(renewed);
    if (!this.isRunning) return;
    if (!this.leads) this.#hooks.trace(() => `${this.identity.name} leads ${this.leaseKey}`);
    // At most until the written duration is over (rule 8).
    this.#leadsUntil = sentAt + (leaseSeconds * 1000 * this.#beliefShare) / this.process.rate;
    this.#hooks.onBelief(this, this.#leadsUntil);
    this.#givesUpAt = this.process.now() + retryMs + renewDeadlineMs;
  }

  #endBelief(): void {
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    this.#hooks.onBelief(this, undefined);
  }

  #notice(spec: JsonObject): void {
    // Most reads find an unchanged record.
    if (spec === this.#seenSpec) return;
    this.#seenSpec = spec;
    const { holderIdentity, renewTime, leaseDurationSeconds, leaseTransitions, preferredHolder, strategy } =
      spec;
    const record = JSON.stringify([
      holderIdentity,
      renewTime,
      leaseDurationSeconds,
      leaseTransitions,
      preferredHolder,
      strategy,
    ]);
    this.#seenHolder = String(holderIdentity);
    if (record === this.#seen) return;
    this.#seen = record;
    this.#seenAt = this.process.now();
  }

  /** It has missed its renew deadline: it exits, and leaves its LeaseCandidate behind. */
  async #giveUp(): Promise<void> {
    this.#isStopping = true;
    this.#endBelief();
    this.#cancelRenewal();
    this.#hooks.trace(() => `${this.identity.name} gives ${this.leaseKey} up`);
    // Only an elector that last saw itself as the holder releases. Then it empties the Lease whatever the current
    // holder is.
    if (this.#seenHolder === this.identity.name) await this.#release();
    await this.#watch.stop();
    this.process.kill();
    this.#hooks.onExit(this);
  }

  async #release(): Promise<void> {
    try {
      const lease = await this.connection.request({ method: 'GET', path: this.#leasePath, deadlineMs: 3000 });
      if (!isKubernetesObject(lease)) return;
      const { holderIdentity, acquireTime, leaseTransitions } = specOf(lease);
      if (holderIdentity !== this.identity.name && !this.#hooks.mayReleaseAnothers()) return;
      const renewTime = this.#wall;
      const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime, acquireTime, leaseTransitions };
      const body = { ...lease, spec: JSON.parse(JSON.stringify(spec)) };
      await this.connection.request({ method: 'PUT', path: this.#leasePath, body, deadlineMs: 3000 });
      this.#hooks.trace(() => `${this.identity.name} releases ${this.leaseKey} of ${String(holderIdentity)}`);
    } catch {
      // The Lease expires.
    }
  }
}

function apiVersionOf({ source = 'native' }: SimCandidateIdentity): CandidateApiVersion {
  return source === 'custom' ? CUSTOM_API_VERSION : 'coordination.k8s.io/v1beta1';
}

/** A watch may deliver a later state before the answer arrives. */
function isNewer({ metadata }: KubernetesObject, than: KubernetesObject | undefined): boolean {
  return Number(metadata.resourceVersion) > Number(than?.metadata.resourceVersion ?? 0);
}

function isPinged(object: KubernetesObject): boolean {
  const { pingTime, renewTime } = specOf(object);
  if (typeof pingTime !== 'string') return false;
  // The server writes times in one format, in which the later time is the greater text.
  return pingTime > String(renewTime ?? '');
}
