import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Term } from '../../src/participant/term.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { HistoryEvent, Writer } from '../invariants/history.ts';
import { Invariants } from '../invariants/invariants.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Chance } from './chance.ts';
import { FencingTokens } from './fencing-tokens.ts';
import { eventOf, leaseStates } from './history-events.ts';
import { LastRenewals } from './last-renewals.ts';
import { SimApiServer, type SimWrite, specOf } from './sim-api-server.ts';
import { SimCandidate } from './sim-candidate.ts';
import { SimCapacity } from './sim-capacity.ts';
import type { SimConnection } from './sim-connection.ts';
import { SimCoordinators } from './sim-coordinators.ts';
import type { SimLink } from './sim-link.ts';
import { SimNetwork } from './sim-network.ts';
import { SimParticipant } from './sim-participant.ts';
import { SimPlainElector } from './sim-plain-elector.ts';
import {
  emptyPlan,
  type ReplicaPlan,
  type ShardPlan,
  type SimPlan,
  type SlotPlan,
  WHOLE_CLUSTER,
} from './sim-plan.ts';
import { SimProcess, type SimSkew } from './sim-process.ts';
import type { SimReplica } from './sim-replica.ts';
import { type SimContender, type SimProgram, SimSlot } from './sim-slot.ts';
import { keyOf, type SimResource, SimStore } from './sim-store.ts';
import { SimTruce } from './sim-truce.ts';
import { Tally } from './tally.ts';

const NOBODY: Writer = { kind: 'other', name: 'nobody' };

/** Told of a Lease, who was given it, and by whom. */
type GrantListener = (key: string, holder: string, coordinator: string) => void;

/** What the world can be told to look at. */
export interface SimWorldOptions {
  /** Whether to write down what happens, for people. */
  readonly isTracing?: boolean;
  /** Whether the API servers keep every request and write, for tests that look at them. */
  readonly keepsRecord?: boolean;
  /** What its coordinators have; by default all of the cluster. */
  readonly shard?: ShardPlan;
  /** A cluster that other worlds have parts of as well. */
  readonly cluster?: SimCluster;
}

/** What all of one cluster share. */
export interface SimCluster {
  readonly clock: VirtualClock;
  readonly store: SimStore;
  /** Of all its API servers together. */
  readonly capacity: SimCapacity | undefined;
}

/**
 * A cluster in virtual time: one storage, two API servers, programs that take part in elections, replicas of the
 * coordinator, the built-in controller. Whoever has it makes things go wrong; it looks at what must always hold.
 */
export class SimWorld {
  readonly plan: SimPlan;
  readonly shard: ShardPlan;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly store: SimStore;
  readonly network: SimNetwork;
  readonly coordinators: SimCoordinators;
  readonly truce: SimTruce;
  readonly capacity: SimCapacity | undefined;
  readonly violations: string[] = [];
  readonly leaseKeys: readonly string[];
  readonly slots: SimSlot[] = [];
  readonly tally = new Tally();
  /** Told of every event of the history. */
  onEvent: (event: HistoryEvent) => void = () => {};
  readonly #isTracing: boolean;
  readonly #trace: string[] = [];
  readonly #invariants: Invariants;
  readonly #writers = new Map<string, Writer>();
  readonly #tokens = new FencingTokens();
  readonly #renewals = new LastRenewals();
  #isCalm = false;
  /** Ends what lasts. */
  readonly #ends = new Set<() => void>();
  #onGrant: GrantListener | undefined;
  #restores = 0;
  #lockHolder: unknown;

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
    this.truce = new SimTruce(this.clock, plan.clockTolerance, this.coordinators);
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

  /** Runs on for so long, or until something is wrong. */
  async run(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    await this.clock.advanceWhile(until, () => this.violations.length === 0);
  }

  after(ms: number, then: () => void): void {
    this.clock.setTimer(then, ms);
  }

  /** Begins something that ends after `ms`, or when all trouble does. */
  during(ms: number, begin: () => () => void): void {
    const end = begin();
    const once = () => {
      if (this.#ends.delete(once)) end();
    };
    this.#ends.add(once);
    this.after(ms, once);
  }

  /** Ends everything that lasts. */
  endTrouble(): void {
    this.note(() => 'the trouble is over');
    this.#isCalm = true;
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

  /** A process whose writes are known to be `writer`'s. */
  startProcess(writer: Writer, skew: SimSkew = {}): SimProcess {
    const { name } = writer;
    const chance = this.chance.for(name);
    this.#writers.set(name, writer);
    return new SimProcess(this.clock, { monotonicMs: chance.upTo(1_000_000), ...skew }, chance.random);
  }

  /** A connection for a test of its own. */
  connect(process: SimProcess, name: string): SimConnection {
    this.#writers.set(name, { kind: 'candidate', name });
    return this.network.connect(name, process, name);
  }

  startProgram(slot: SimSlot, name: string): SimProgram {
    const { plan } = slot;
    const { wallMs, rate, lease, isPlain, binaryVersion, emulationVersion, strategy, watchesForDeletion } =
      plan;
    const { source } = plan;
    const { namespace, name: leaseName, timing } = lease;
    const process = this.startProcess({ kind: 'candidate', name }, { wallMs, rate });
    const connection = this.network.connect(plan.name, process, name);
    const link = this.network.linkOf(plan.name);
    const beliefShare = this.plan.clockTolerance;
    const believes = (until: Instant | undefined) => this.believes(name, slot.key, until);
    this.note(() => `${name} starts, ${binaryVersion} as ${emulationVersion}, clock off by ${wallMs} ms`);
    if (isPlain) {
      const parts = { namespace, leaseName, name, timing, beliefShare, onBelief: believes };
      const actor = new SimPlainElector(process, connection, parts);
      void actor.run();
      return { name, process, connection, link, actor };
    }
    const identity = { source, namespace, leaseName, name, binaryVersion, emulationVersion, strategy };
    const trace = (text: () => string) => this.note(text);
    if (plan.isParticipant) {
      const hooks = {
        onExit: () => slot.ended(actor),
        onBelief: believes,
        onTerm: (term: Term) => this.#termBegun(slot.key, term),
        onEnded: () => this.#assertReleased(slot.key, name, link),
        onViolation: (what: string) => this.violated(what),
        isCalm: () => this.#isCalm,
        trace,
      };
      const chance = this.chance.for(`${name} leading`);
      const actor = new SimParticipant(identity, process, connection, hooks, { timing, beliefShare, chance });
      // What a process of before has held under this name, this one may never hear of.
      this.#renewals.forget(slot.key, name);
      actor.start();
      return { name, process, connection, link, actor };
    }
    const hooks = {
      onExit: () => slot.ended(actor),
      mayReleaseAnothers: () => this.truce.isReleaseDoubted(name) && this.beginTruce(slot.key),
      onBelief: (_: SimCandidate, until: Instant | undefined) => believes(until),
      trace,
    };
    const habits = { timing, beliefShare, watchesForDeletion };
    const actor = new SimCandidate(identity, process, connection, hooks, habits);
    actor.start();
    return { name, process, connection, link, actor };
  }

  leadersOf(key: string): readonly SimContender[] {
    return this.candidates.filter((candidate) => candidate.leaseKey === key && candidate.leads);
  }

  /** The slot whose program believes to lead. */
  leaderSlot(key: string): SimSlot | undefined {
    return this.slots.find((slot) => slot.key === key && slot.candidate?.leads);
  }

  /** The LeaseCandidate of whoever is in a slot. */
  candidateOf(slotName: string): KubernetesObject | undefined {
    const { identity } = this.slot(slotName)?.candidate ?? {};
    return identity && this.store.candidate(`${identity.namespace}/${identity.name}`);
  }

  /** Somebody without a process of its own changes an object. */
  writeAs(name: string, resource: SimResource, before: KubernetesObject, next: KubernetesObject): void {
    this.#writtenAs(name, resource, before, this.store.update(resource, before, next));
  }

  deleteAs(name: string, resource: SimResource, object: KubernetesObject): void {
    this.store.remove(resource, object);
    this.#writtenAs(name, resource, object, undefined);
  }

  /** Takes a backup, and restores it so much later; what takes part in elections is then started anew, as after any restore. */
  restoreLater(afterMs: number): void {
    const restore = this.store.backUp();
    const restores = this.#restores;
    this.during(afterMs, () => () => {
      // A replica that has not seen who had the lock since cannot know that it is not its own; and a backup from before
      // another restore is of another history.
      const { areAllAwake, areAllInformed } = this.coordinators;
      if (!areAllAwake || !areAllInformed || restores !== this.#restores) return;
      this.#restores++;
      this.note(() => 'storage is restored from a backup');
      this.struck('storageRestored');
      restore();
      this.coordinators.forgetWrites();
      // It is part of the API servers, which are started anew.
      this.coordinators.crashBuiltIn();
      for (const api of this.servers) api.forgetHistory();
      for (const connection of this.network.connections) connection.reset();
      for (const slot of this.slots) slot.crash(2000);
      this.truce.forget();
      this.#tokens.forget();
      const leases = leaseStates(this.store.list('leases'));
      this.#happened({ kind: 'restored', at: this.clock.now(), leases });
    });
  }

  /** Begins a truce about these Leases, where they can be robbed at all: a plain elector takes what is gone, whoever leads. */
  /** Calls `then` once, when a coordinator has next given one of these Leases to somebody. */
  afterGrant(keys: readonly string[], then: GrantListener): void {
    this.#onGrant = (key, ...about) => {
      if (!keys.includes(key)) return;
      this.#onGrant = undefined;
      then(key, ...about);
    };
  }

  beginTruce(...keys: readonly string[]): boolean {
    const isPlain = this.slots.some(({ key, plan }) => plan.isPlain && keys.includes(key));
    return !isPlain && this.truce.begin(keys);
  }

  /** `who` takes itself for the coordinator until then; undefined: no more. */
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
      this.#noteLock(writer, specOf(write.after));
      return;
    }
    if (resource === 'leases') this.truce.written(key, write.after, writer.name);
    if (writer.kind !== 'candidate') {
      this.note(() => `  ${writer.name} ${method} ${key} ${status} ${JSON.stringify(write.body['spec'])}`);
    }
    this.#happened(eventOf(write, writer));
    this.coordinators.written(writer.name);
    const { holderIdentity } = specOf(write.after);
    const isGrant = resource === 'leases' && holderIdentity !== specOf(write.before)['holderIdentity'];
    if (writer.kind === 'coordinator' && isGrant) this.#onGrant?.(key, String(holderIdentity), writer.name);
  }

  #noteLock({ name }: Writer, spec: Readonly<Record<string, unknown>>): void {
    const { holderIdentity } = spec;
    if (holderIdentity === this.#lockHolder) return;
    this.#lockHolder = holderIdentity;
    this.note(() => `  ${name} writes the lock: ${JSON.stringify(spec)}`);
  }

  #writtenAs(
    name: string,
    resource: SimResource,
    before: KubernetesObject,
    after: KubernetesObject | undefined,
  ): void {
    const key = keyOf(before);
    this.note(() => `  ${name} ${after ? 'PUT' : 'DELETE'} ${key} ${JSON.stringify(specOf(after))}`);
    const what = { at: this.clock.now(), resource, key, before, after, isLate: false };
    this.#happened(eventOf(what, { kind: 'other', name }));
  }

  #termBegun(key: string, term: Term): void {
    this.tally.termBegan();
    const { uid = '' } = this.store.get('leases', key)?.metadata ?? {};
    for (const problem of this.#tokens.begun(uid, term)) this.violated(problem);
  }

  /** A participant that has ended has released what it held, unless it could not. */
  #assertReleased(key: string, name: string, link: SimLink): void {
    const now = this.clock.now();
    const isCutOff =
      link.isDisturbed || link.troubledUntil > now || this.servers.some(({ isDown }) => isDown);
    if (isCutOff || !this.#renewals.isHeld(key, name, now)) return;
    this.violated(`${name} has ended, and has not released ${key}`);
  }

  /** `who` believes until then that it leads that Lease; undefined: no more. */
  believes(who: string, key: string, until: Instant | undefined): void {
    const at = this.clock.now();
    this.#happened(
      until === undefined ? { kind: 'follows', at, who, key } : { kind: 'leads', at, who, key, until },
    );
  }

  #happened(event: HistoryEvent): void {
    this.tally.happened(event);
    this.#renewals.observe(event);
    this.onEvent(event);
    for (const violation of this.#invariants.observe(event)) this.violated(violation);
  }
}

function makeCluster({ seed, requestsPerSecond }: SimPlan): SimCluster {
  const clock = new VirtualClock({ seed });
  const capacity = requestsPerSecond === undefined ? undefined : new SimCapacity(clock, requestsPerSecond);
  return { clock, store: new SimStore(clock), capacity };
}
