import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import { Givers } from '../invariants/givers.ts';
import type { HistoryEvent, Writer } from '../invariants/history.ts';
import { Invariants } from '../invariants/invariants.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Chance } from './chance.ts';
import { eventOf, leaseStates } from './history-events.ts';
import { SimApiServer, type SimWrite, specOf, withOwners } from './sim-api-server.ts';
import { SimCapacity } from './sim-capacity.ts';
import type { SimConnection } from './sim-connection.ts';
import { SimCoordinators } from './sim-coordinators.ts';
import { SimMemory } from './sim-memory.ts';
import { SimNetwork } from './sim-network.ts';
import {
  emptyPlan,
  type ReplicaPlan,
  type ShardPlan,
  type SimPlan,
  type SlotPlan,
  WHOLE_CLUSTER,
} from './sim-plan.ts';
import { SimProcess, type SimSkew } from './sim-process.ts';
import { SimPrograms } from './sim-programs.ts';
import type { SimReplica } from './sim-replica.ts';
import { type SimContender, type SimProgram, SimSlot } from './sim-slot.ts';
import { keyOf, type SimResource, SimStore } from './sim-store.ts';
import { Tally } from './tally.ts';

const NOBODY: Writer = { kind: 'other', name: 'nobody' };

/** A grant of a Lease to `holder`. */
interface SimGrant {
  readonly key: string;
  readonly holder: string;
  readonly writer: Writer;
}

type GrantListener = (grant: SimGrant) => void;

/** The options of a world. */
export interface SimWorldOptions {
  /** Whether to record a description of the events. */
  readonly isTracing?: boolean;
  /** Whether the API servers keep every request and write, for tests that read them. */
  readonly keepsRecord?: boolean;
  /** The namespaces of its coordinators; by default, the whole cluster. */
  readonly shard?: ShardPlan;
  /** A cluster that several worlds share. */
  readonly cluster?: SimCluster;
}

/** The shared parts of a cluster. */
export interface SimCluster {
  readonly clock: VirtualClock;
  readonly store: SimStore;
  /** The capacity of all its API servers together. */
  readonly capacity: SimCapacity | undefined;
}

/**
 * A cluster in virtual time: one storage, two API servers, candidate programs, replicas of the coordinator, and the
 * built-in controller. The caller injects faults; the world checks the invariants.
 */
export class SimWorld {
  readonly plan: SimPlan;
  readonly shard: ShardPlan;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly store: SimStore;
  readonly network: SimNetwork;
  readonly coordinators: SimCoordinators;
  readonly memory: SimMemory;
  readonly capacity: SimCapacity | undefined;
  readonly violations: string[] = [];
  readonly leaseKeys: readonly string[];
  readonly slots: SimSlot[] = [];
  readonly tally = new Tally();
  /** Gets every event of the history. */
  onEvent: (event: HistoryEvent) => void = () => {};
  readonly #isTracing: boolean;
  readonly #trace: string[] = [];
  readonly #invariants: Invariants;
  readonly #writers = new Map<string, Writer>();
  readonly #programs: SimPrograms;
  readonly #givers = new Givers();
  /** By LeaseCandidate: the programs that may have been the last to write it. */
  /** By key of a participant's candidate: the group that it has written last. */
  readonly #publishedAs = new Map<string, SimResource>();
  /** The processes that have ended, if coordinators watch Pods. */
  readonly #ended = new Set<string>();
  #isCalm = false;
  /** The functions that end lasting faults. */
  readonly #ends = new Set<() => void>();
  readonly #grantListeners = new Set<GrantListener>();
  #restores = 0;

  constructor(
    plan: SimPlan = emptyPlan(1),
    {
      isTracing = false,
      keepsRecord = false,
      shard = WHOLE_CLUSTER,
      cluster = makeCluster(plan),
    }: SimWorldOptions = {},
  ) {
    this.plan = plan;
    this.#isTracing = isTracing;
    this.shard = shard;
    this.chance = new Chance(plan.seed, 'world');
    this.clock = cluster.clock;
    this.store = cluster.store;
    this.capacity = cluster.capacity;
    this.network = new SimNetwork(this, [this.#server(keepsRecord), this.#server(keepsRecord)]);
    this.coordinators = new SimCoordinators(this);
    const { clockTolerance, settings } = plan;
    this.memory = new SimMemory(this.clock, { clockTolerance, ...settings }, this.coordinators);
    this.#programs = new SimPrograms(this);
    this.#invariants = new Invariants({
      candidateValidityMs: plan.settings.candidateValidityMs,
      electionDurationMs: plan.settings.electionDurationMs,
      clockTolerance: plan.clockTolerance,
    });
    this.leaseKeys = plan.leases.map(({ namespace, name }) => `${namespace}/${name}`);
  }

  get servers(): readonly [SimApiServer, SimApiServer] {
    return this.network.servers;
  }

  /** The first API server. */
  get api(): SimApiServer {
    return this.servers[0];
  }

  get trace(): string {
    return this.#trace.join('\n');
  }

  get replicas(): readonly SimReplica[] {
    return this.coordinators.running;
  }

  get candidates(): readonly SimContender[] {
    return this.slots.flatMap(({ candidate }) => candidate ?? []);
  }

  /** Whether all faults are over. */
  get isCalm(): boolean {
    return this.#isCalm;
  }

  now(): Instant {
    return this.clock.now();
  }

  note(text: () => string): void {
    if (this.#isTracing) this.#trace.push(`${(this.clock.now() / 1000).toFixed(3).padStart(9)} ${text()}`);
  }

  struck(kind: string): void {
    this.tally.count(kind);
  }

  violated(what: string): void {
    this.note(() => `VIOLATION ${what}`);
    this.violations.push(what);
  }

  /** Runs for this long, or until there is a violation. */
  async run(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    await this.clock.advanceWhile(until, () => this.violations.length === 0);
  }

  after(ms: number, then: () => void): void {
    this.clock.setTimer(then, ms);
  }

  /** Continues a fault after `ms`, unless all faults are over by then. */
  strikeAfter(ms: number, then: () => void): void {
    this.after(ms, () => {
      if (!this.#isCalm) then();
    });
  }

  /** Begins a fault that ends after `ms`, when all faults end, or when the caller calls the returned function. */
  during(ms: number, begin: () => () => void): () => void {
    const end = begin();
    const once = () => {
      if (this.#ends.delete(once)) end();
    };
    this.#ends.add(once);
    this.after(ms, once);
    return once;
  }

  /** Ends all lasting faults. */
  endTrouble(): void {
    this.note(() => 'the trouble is over');
    this.#isCalm = true;
    this.#grantListeners.clear();
    for (const end of [...this.#ends]) end();
    for (const slot of this.slots) slot.resume();
    this.capacity?.slowDown(1, 0);
    this.coordinators.endTrouble();
  }

  addSlot(plan: SlotPlan): SimSlot {
    const slot = new SimSlot(plan, this);
    this.slots.push(slot);
    this.after(plan.startsAtMs, () => slot.start());
    return slot;
  }

  addReplica(plan: ReplicaPlan): void {
    this.coordinators.add(plan);
  }

  slot(name: string): SimSlot | undefined {
    return this.slots.find(({ plan }) => plan.name === name);
  }

  random(slot: SimSlot): number {
    return this.chance.for(`${slot.plan.name} again ${this.clock.now()}`).random();
  }

  /** Returns a process whose writes are attributed to `writer`. */
  startProcess(writer: Writer, skew: SimSkew = {}): SimProcess {
    const { name } = writer;
    const chance = this.chance.for(name);
    this.#writers.set(name, writer);
    this.#ended.delete(name);
    return new SimProcess(this.clock, { monotonicMs: chance.upTo(1_000_000), ...skew }, chance.random);
  }

  /** Returns a connection for the test's own use. */
  connect(process: SimProcess, name: string): SimConnection {
    this.#writers.set(name, { kind: 'candidate', name });
    return this.network.connect(name, process, name);
  }

  startProgram(slot: SimSlot, name: string): SimProgram {
    return this.#programs.start(slot, name);
  }

  leadersOf(key: string): readonly SimContender[] {
    return this.candidates.filter((candidate) => candidate.leaseKey === key && candidate.leads);
  }

  /** Returns the slot whose program believes that it leads. */
  leaderSlot(key: string): SimSlot | undefined {
    return this.slots.find((slot) => slot.key === key && slot.candidate?.leads);
  }

  /** Returns the LeaseCandidate of the program in a slot. */
  candidateOf(slotName: string): KubernetesObject | undefined {
    const { identity } = this.slot(slotName)?.candidate ?? {};
    return identity && this.published(keyOfIdentity(identity));
  }

  /**
   * Returns the LeaseCandidate of that name. If both groups have one: the one in the group that its program uses now.
   */
  published(key: string): KubernetesObject | undefined {
    const slot = this.#slotOf(key);
    const resource = slot && this.#publishedIn(slot, key);
    const published = resource && this.store.get(resource, key);
    if (slot && !slot.plan.isParticipant) return published;
    // The server may apply a participant's write to its former group late.
    return published ?? this.store.candidate(key);
  }

  /** Whether a program left this LeaseCandidate in the group that it used before. */
  isLeftBehind(key: string, uid: string | undefined): boolean {
    const slot = this.#slotOf(key);
    const resource = slot && this.#publishedIn(slot, key);
    return resource !== undefined && this.store.get(resource, key)?.metadata.uid !== uid;
  }

  /** Returns the slot of the program with that LeaseCandidate. */
  #slotOf(key: string): SimSlot | undefined {
    return this.slots.find(({ candidate }) => candidate && keyOfIdentity(candidate.identity) === key);
  }

  /**
   * Returns the group in which the program of a slot publishes its candidate. A participant chooses the group by what
   * its server serves.
   */
  #publishedIn({ plan }: SimSlot, key: string): SimResource | undefined {
    if (plan.isParticipant) return this.#publishedAs.get(key);
    return plan.source === 'custom' ? 'customcandidates' : 'leasecandidates';
  }

  /** Changes an object on behalf of a client that is not simulated as a process. */
  writeAs(name: string, resource: SimResource, before: KubernetesObject, next: KubernetesObject): void {
    const written = resource === 'leases' ? withOwners(before, next, name) : next;
    this.#writtenAs(name, resource, before, this.store.update(resource, before, written));
  }

  deleteAs(name: string, resource: SimResource, object: KubernetesObject): void {
    this.store.remove(resource, object);
    this.#writtenAs(name, resource, object, undefined);
  }

  /**
   * Takes a backup, and restores it after `ms`. All candidate programs are then restarted, as users must do after a
   * restore.
   */
  restoreLater(afterMs: number): void {
    const restore = this.store.backUp();
    const restores = this.#restores;
    this.during(afterMs, () => () => {
      // A replica that has not seen the lock's holder since then cannot know that the lock is not its own. A backup
      // from before another restore belongs to another history.
      const { areAllAwake, areAllInformed } = this.coordinators;
      if (!areAllAwake || !areAllInformed || restores !== this.#restores) return;
      this.#restores++;
      this.note(() => 'storage is restored from a backup');
      this.struck('storageRestored');
      restore();
      this.coordinators.forgetWrites();
      // The built-in controller is part of the API servers, which are restarted.
      this.coordinators.crashBuiltIn();
      for (const api of this.servers) api.forgetHistory();
      for (const connection of this.network.connections) connection.reset();
      for (const slot of this.slots) slot.crash(2000);
      this.memory.forget();
      this.#programs.forget();
      const leases = leaseStates(this.store.list('leases'));
      this.#happened({ kind: 'restored', at: this.clock.now(), leases });
    });
  }

  /** Calls `then` once, at the next grant of one of these Leases by a coordinator of that kind. */
  afterGrant(by: 'coordinator' | 'builtIn', keys: readonly string[], then: GrantListener): void {
    const listener: GrantListener = (grant) => {
      if (grant.writer.kind !== by || !keys.includes(grant.key)) return;
      this.#grantListeners.delete(listener);
      then(grant);
    };
    this.#grantListeners.add(listener);
  }

  /** Whether these Leases may be emptied or overwritten now. From then on, replicas must remember their holders. */
  mayRob(...keys: readonly string[]): boolean {
    return !this.#isTakenByAnybody(keys) && this.memory.rob(keys);
  }

  mayDelete(key: string): boolean {
    return !this.#isTakenByAnybody([key]) && this.memory.delete(key);
  }

  /** A plain elector takes a missing Lease, even if another program leads. */
  #isTakenByAnybody(keys: readonly string[]): boolean {
    return this.slots.some(({ key, plan }) => plan.isPlain && keys.includes(key));
  }

  /** The process of that name has ended. */
  ended(who: string, key: string): void {
    this.#ended.add(who);
    this.#happened({ kind: 'ends', at: this.clock.now(), who, key });
  }

  /** Until when `who` believes that it is the coordinator; undefined: it does not believe so. */
  serves(who: string, until: Instant | undefined): void {
    const at = this.clock.now();
    this.#happened(
      until === undefined ? { kind: 'standsBy', at, who } : { kind: 'coordinates', at, who, until },
    );
  }

  #server(keepsRecord: boolean): SimApiServer {
    const api = new SimApiServer(this.clock, this.store, keepsRecord);
    api.capacity = this.capacity;
    api.hasCustomCandidates = this.plan.hasCustomCandidates;
    api.isGateOn = this.plan.hasGate;
    api.onWrite = (write) => this.#onWrite(write);
    return api;
  }

  #onWrite(write: SimWrite): void {
    const { key, resource, method, status } = write;
    const writer = this.#writers.get(write.writer) ?? { ...NOBODY, name: write.writer };
    if (key === `${this.shard.lock.namespace}/${this.shard.lock.name}`) {
      this.coordinators.lockWritten(writer.name, specOf(write.after));
      return;
    }
    if (resource === 'leases') this.memory.written(key, write.after, writer.name);
    else if (writer.kind === 'candidate' && write.after) this.#publishedAs.set(key, resource);
    if (writer.kind !== 'candidate') {
      this.note(() => `  ${writer.name} ${method} ${key} ${status} ${JSON.stringify(write.body['spec'])}`);
    }
    this.#happened(eventOf(write, writer));
    // A renewal that was in flight when its sender ended.
    if (resource === 'leases' && this.#ended.has(writer.name)) this.ended(writer.name, key);
    this.coordinators.written(writer.name);
    const { holderIdentity } = specOf(write.after);
    const isGrant = resource === 'leases' && holderIdentity !== specOf(write.before)['holderIdentity'];
    if (!isGrant) return;
    const grant = { key, holder: String(holderIdentity), writer };
    for (const listener of [...this.#grantListeners]) listener(grant);
  }

  #writtenAs(
    name: string,
    resource: SimResource,
    before: KubernetesObject,
    after: KubernetesObject | undefined,
  ): void {
    const key = keyOf(before);
    this.note(() => `  ${name} ${after ? 'PUT' : 'DELETE'} ${key} ${JSON.stringify(specOf(after))}`);
    if (resource === 'leases') this.memory.written(key, after, name);
    const what = { at: this.clock.now(), resource, key, before, after, isLate: false };
    this.#happened(eventOf(what, { kind: 'other', name }));
  }

  /** Until when `who` believes that it leads the Lease; undefined: it does not believe so. */
  believes(who: string, key: string, until: Instant | undefined): void {
    const at = this.clock.now();
    this.#happened(
      until === undefined ? { kind: 'follows', at, who, key } : { kind: 'leads', at, who, key, until },
    );
  }

  /** The built-in controller has caused the violation. */
  #notOurs(violation: string): void {
    this.note(() => `not ours: ${violation}`);
    this.tally.brokenByBuiltIn();
  }

  #happened(event: HistoryEvent): void {
    this.tally.happened(event);
    this.#programs.observe(event);
    this.onEvent(event);
    this.#givers.observe(event);
    for (const violation of this.#invariants.observe(event)) {
      if (this.#givers.isOfBuiltIn(event)) this.#notOurs(violation);
      else this.violated(violation);
    }
  }
}

function makeCluster({ seed, requestsPerSecond }: SimPlan): SimCluster {
  const clock = new VirtualClock({ seed });
  const capacity = requestsPerSecond === undefined ? undefined : new SimCapacity(clock, requestsPerSecond);
  return { clock, store: new SimStore(clock), capacity };
}

function keyOfIdentity({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
