import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import { formatMicroTime, parseMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { JsonObject } from '../../src/support/json.ts';
import { type SimApiServer, specOf } from './sim-api-server.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';
import { candidateResourceOf, keyOf } from './sim-store.ts';

/** Deviations of a crowd from the defaults. */
export interface SimCrowdOptions {
  readonly namespace?: string;
  /** The group of its LeaseCandidates. Default: native. */
  readonly apiVersion?: CandidateApiVersion;
  /** Until when a member believes that it leads the Lease of that key; undefined: it does not believe so. */
  readonly onBelief?: (name: string, key: string, until: Instant | undefined) => void;
}

/** A program of a crowd. */
export interface SimCrowdMember {
  readonly leaseName: string;
  readonly name: string;
  readonly emulationVersion: string;
  /** If it does not run, it has left its LeaseCandidate behind. */
  readonly isRunning: boolean;
}

/** A Lease has got a leader again after a time without one. */
export interface SimTakeUp {
  readonly leaseName: string;
  readonly leader: string;
  readonly at: Instant;
  /** Time since the last leader released the Lease or let it expire; negative if the new leader came before that. */
  readonly vacantForMs: number;
}

interface MemberState {
  readonly member: SimCrowdMember;
  isRunning: boolean;
  isAcking: boolean;
}

interface LeaseState {
  object: KubernetesObject;
  isWriting: boolean;
  leader: string;
  /** When the last leader's last renewal expires. */
  ledUntil: Instant;
  cancelRenewal: () => void;
}

const NATIVE: CandidateApiVersion = 'coordination.k8s.io/v1beta1';
const BINARY_VERSION = '1.36.0';
const STRATEGY = 'OldestEmulationVersion';
const LEASE_SECONDS = 15;
const DEADLINE_MS = 5000;
const RETRY_MS = 2000;
/**
 * Age of the last renewal of objects that exist at the start: recent enough to be valid, too old to be fresh (rule
 * 3).
 */
const LAST_RENEWAL_MS = 60_000;

/**
 * Thousands of candidates that share one watch. They answer pings and renew grants as soon as they see them.
 * Otherwise they behave like client-go: they write with the resourceVersion that they have seen, lead only after a
 * successful write, and never renew an expired Lease.
 */
export class SimCrowd {
  readonly takeUps: SimTakeUp[] = [];
  readonly #api: SimApiServer;
  readonly #process: SimProcess;
  readonly #connection: SimConnection;
  readonly #renewEveryMs: number;
  readonly #namespace: string;
  readonly #apiVersion: CandidateApiVersion;
  readonly #onBelief: NonNullable<SimCrowdOptions['onBelief']>;
  readonly #members = new Map<string, MemberState>();
  readonly #leases = new Map<string, LeaseState>();

  constructor(
    api: SimApiServer,
    process: SimProcess,
    connection: SimConnection,
    renewEveryMs: number,
    { namespace = 'default', apiVersion = NATIVE, onBelief = () => {} }: SimCrowdOptions = {},
  ) {
    this.#api = api;
    this.#process = process;
    this.#connection = connection;
    this.#renewEveryMs = renewEveryMs;
    this.#namespace = namespace;
    this.#apiVersion = apiVersion;
    this.#onBelief = onBelief;
    api.store.watch(api.store.revision, ({ type, resource, object }) => {
      if (type === 'DELETED' || object.metadata.namespace !== namespace) return;
      if (resource === 'leases') this.#onLease(object);
      else this.#onCandidate(object);
    });
  }

  /** Creates the members that exist before the simulation begins. This costs no requests. */
  add(member: SimCrowdMember): void {
    const { leaseName, name, emulationVersion, isRunning } = member;
    this.#members.set(`${this.#namespace}/${name}`, { member, isRunning, isAcking: false });
    const renewTime = this.#timeAt(-LAST_RENEWAL_MS);
    const spec = {
      leaseName,
      binaryVersion: BINARY_VERSION,
      emulationVersion,
      strategy: STRATEGY,
      renewTime,
    };
    const object = {
      apiVersion: this.#apiVersion,
      metadata: { namespace: this.#namespace, name },
      spec,
    };
    this.#api.store.create(candidateResourceOf(object), object);
  }

  /** A member renews, perhaps with changed fields. This costs no time except the watchers'. */
  renew(name: string, fields: JsonObject = {}): void {
    const object = this.#api.candidate(`${this.#namespace}/${name}`);
    if (!object) throw new Error(`there is no candidate ${name}`);
    const spec = { ...specOf(object), renewTime: this.#timeAt(0), ...fields };
    this.#api.store.update(candidateResourceOf(object), object, { ...object, spec });
  }

  /**
   * Makes `name` the leader since before the simulation began. Spreads the renewals of several Leases over their
   * interval.
   */
  lead(leaseName: string, name: string): void {
    const now = this.#timeAt(0);
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
      strategy: STRATEGY,
    };
    const object = { metadata: { namespace: this.#namespace, name: leaseName }, spec };
    const lease = this.#track(object, name, this.#runsOutAt());
    this.#api.store.create('leases', object);
    this.#renewIn(lease, this.#process.random() * this.#renewEveryMs);
  }

  /** Returns the member that leads a Lease, if its renewal is still valid. */
  leaderOf(leaseName: string): string | undefined {
    const lease = this.#leases.get(`${this.#namespace}/${leaseName}`);
    if (!lease || !this.#isRunning(lease.leader) || this.#process.now() >= lease.ledUntil) return undefined;
    return lease.leader;
  }

  /** Crashes. The Lease and the LeaseCandidate stay. */
  crash(name: string): void {
    const state = this.#members.get(`${this.#namespace}/${name}`);
    if (!state) return;
    state.isRunning = false;
    this.#onBelief(name, `${this.#namespace}/${state.member.leaseName}`, undefined);
  }

  /** Exits cleanly: releases the Lease, and deletes its LeaseCandidate. */
  async stopLeader(leaseName: string): Promise<void> {
    const lease = this.#leases.get(`${this.#namespace}/${leaseName}`);
    const leader = this.leaderOf(leaseName);
    if (!lease || leader === undefined) return;
    this.crash(leader);
    // A renewal in flight makes the first attempt fail.
    if ((await this.#release(lease)) || (await this.#release(lease))) lease.ledUntil = this.#process.now();
    // Another member got the Lease before the answer arrived.
    this.#onLease(lease.object);
    const path = resourcePaths.candidate(this.#apiVersion, this.#namespace, leader);
    await this.#connection.request({ method: 'DELETE', path }).catch(() => {});
  }

  #release(lease: LeaseState): Promise<boolean> {
    const { acquireTime, leaseTransitions } = specOf(lease.object);
    const renewTime = this.#timeAt(0);
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime, acquireTime, leaseTransitions };
    return this.#write(lease, spec);
  }

  #isRunning(name: string): boolean {
    return this.#members.get(`${this.#namespace}/${name}`)?.isRunning ?? false;
  }

  #timeAt(inMs: number): string {
    return formatMicroTime(this.#process.wallTime() + BigInt(Math.round(inMs * 1000)));
  }

  #onCandidate(object: KubernetesObject): void {
    const state = this.#members.get(keyOf(object));
    if (!state?.isRunning || state.isAcking || !isPinged(object)) return;
    state.isAcking = true;
    void this.#ack(state, object);
  }

  async #ack(state: MemberState, object: KubernetesObject): Promise<void> {
    const path = resourcePaths.candidate(this.#apiVersion, this.#namespace, state.member.name);
    const body = { ...object, spec: { ...specOf(object), renewTime: this.#timeAt(0) } };
    let againInMs = 0;
    await this.#connection.request({ method: 'PUT', path, body }).catch(() => {
      againInMs = RETRY_MS;
    });
    state.isAcking = false;
    const again = () => {
      const current = this.#api.candidate(`${this.#namespace}/${state.member.name}`);
      if (current) this.#onCandidate(current);
    };
    if (againInMs > 0) this.#process.setTimer(again, againInMs);
    else again();
  }

  #onLease(object: KubernetesObject): void {
    const lease = this.#seen(object);
    const holder = String(specOf(object)['holderIdentity'] ?? '');
    if (this.#isRunning(holder) && holder !== this.leaderOf(object.metadata.name)) void this.#renew(lease);
  }

  /** Returns the current state of a Lease. */
  #seen(object: KubernetesObject): LeaseState {
    const known = this.#leases.get(keyOf(object));
    const { holderIdentity, renewTime } = specOf(object);
    if (known) {
      const isRenewed = holderIdentity === known.leader && renewTime !== specOf(known.object)['renewTime'];
      // A renewal counts even if its sender did not wait for the answer.
      if (isRenewed && this.#process.now() < known.ledUntil) known.ledUntil = this.#runsOutAt();
      known.object = object;
      return known;
    }
    return this.#track(object, '', this.#process.now());
  }

  #track(object: KubernetesObject, leader: string, ledUntil: Instant): LeaseState {
    const lease = { object, isWriting: false, leader, ledUntil, cancelRenewal: () => {} };
    this.#leases.set(keyOf(object), lease);
    return lease;
  }

  #runsOutAt(): Instant {
    return this.#process.now() + LEASE_SECONDS * 1000;
  }

  #renewIn(lease: LeaseState, ms: number): void {
    lease.cancelRenewal();
    lease.cancelRenewal = this.#process.setTimer(() => void this.#renew(lease), ms);
  }

  /** The holder renews the Lease, or takes up a grant. */
  async #renew(lease: LeaseState): Promise<void> {
    const { metadata } = lease.object;
    const spec = specOf(lease.object);
    const holder = String(spec['holderIdentity'] ?? '');
    if (!this.#isRunning(holder) || lease.isWriting || isOver(spec, this.#process.wallTime())) return;
    if (spec['preferredHolder'] !== undefined) {
      // It yields. If this fails, its Lease expires.
      await this.stopLeader(metadata.name);
      return;
    }
    const sentAt = this.#process.now();
    const renewed = { ...spec, renewTime: this.#timeAt(0), leaseDurationSeconds: LEASE_SECONDS };
    if (!(await this.#write(lease, renewed))) {
      this.#renewIn(lease, RETRY_MS);
      return;
    }
    this.#ledBy(lease, holder);
    this.#onBelief(holder, keyOf(lease.object), sentAt + LEASE_SECONDS * 1000);
    this.#renewIn(lease, this.#renewEveryMs);
  }

  #ledBy(lease: LeaseState, leader: string): void {
    const at = this.#process.now();
    const vacantForMs = at - lease.ledUntil;
    if (leader !== lease.leader || vacantForMs > 0)
      this.takeUps.push({ leaseName: lease.object.metadata.name, leader, at, vacantForMs });
    lease.leader = leader;
    lease.ledUntil = this.#runsOutAt();
  }

  /** Resolves to whether the write succeeded, as far as its writer knows. */
  async #write(lease: LeaseState, spec: JsonObject): Promise<boolean> {
    const path = resourcePaths.lease(this.#namespace, lease.object.metadata.name);
    const body = { ...lease.object, spec };
    lease.isWriting = true;
    try {
      await this.#connection.request({ method: 'PUT', path, body, deadlineMs: DEADLINE_MS });
      return true;
    } catch {
      return false;
    } finally {
      lease.isWriting = false;
    }
  }
}

/** All clocks of a crowd are correct, so that the times in a record can be used. */
function isOver({ renewTime, leaseDurationSeconds }: JsonObject, now: bigint): boolean {
  const renewedAt = parseMicroTime(String(renewTime)) ?? 0n;
  return now >= renewedAt + BigInt(Number(leaseDurationSeconds) * 1_000_000);
}

function isPinged(object: KubernetesObject): boolean {
  const { pingTime, renewTime } = specOf(object);
  if (typeof pingTime !== 'string') return false;
  return (parseMicroTime(pingTime) ?? 0n) > (parseMicroTime(String(renewTime)) ?? 0n);
}
