import { createApiLockStorage } from '../../src/controller/lock/api-lock-storage.ts';
import { coordinatorLease } from '../../src/election/coordinator-lease.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import { SimBuiltIn } from '../controller/lock/sim-built-in.ts';
import type { HistoryEvent, Writer } from '../invariants/history.ts';
import { Invariants } from '../invariants/invariants.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Chance } from './chance.ts';
import { eventOf } from './history-events.ts';
import { OutdatedWriteCheck } from './outdated-write-check.ts';
import { SimApiServer, type SimWrite, specOf } from './sim-api-server.ts';
import { SimCandidate } from './sim-candidate.ts';
import { SimCapacity } from './sim-capacity.ts';
import { SimConnection } from './sim-connection.ts';
import { SimLink } from './sim-link.ts';
import { SimPlainElector } from './sim-plain-elector.ts';
import { emptyPlan, type ReplicaPlan, type SimPlan, type SlotPlan } from './sim-plan.ts';
import { SimProcess, type SimSkew } from './sim-process.ts';
import { SimReplica } from './sim-replica.ts';
import { type SimProgram, SimSlot } from './sim-slot.ts';
import { keyOf, type SimResource, SimStore } from './sim-store.ts';
import { Tally } from './tally.ts';

const LOCK_KEY = `${coordinatorLease.namespace}/${coordinatorLease.name}`;
const BUILT_IN = 'built-in';
/** What a former holder may still believe in is over after a Lease of the longest duration; and some time to look. */
const TRUCE_MS = 20_000;
/** For a watch that has failed to be there again, and for what was missed meanwhile. */
const BACKOFF_MS = 30_000;

/** What the world can be told to look at. */
export interface SimWorldOptions {
  /** Whether to write down what happens, for people. */
  readonly isTracing?: boolean;
  /** Whether the API servers keep every request and write, for tests that look at them. */
  readonly keepsRecord?: boolean;
}

interface ReplicaSlot {
  readonly plan: ReplicaPlan;
  running: SimReplica | undefined;
  generation: number;
  /** Set while it is to crash at one of its next writes. */
  crashAt: { readonly ms: number; writes: number; readonly isCarriedOut: boolean } | undefined;
}

/**
 * A cluster in virtual time: one storage, two API servers, programs that take part in elections, replicas of the
 * coordinator, the built-in controller. Whoever has it makes things go wrong; it looks at what must always hold.
 */
export class SimWorld {
  readonly plan: SimPlan;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly store: SimStore;
  readonly servers: readonly [SimApiServer, SimApiServer];
  readonly capacity: SimCapacity | undefined;
  readonly violations: string[] = [];
  readonly leaseKeys: readonly string[];
  readonly slots: SimSlot[] = [];
  readonly tally = new Tally();
  /** Until then no memory may be lost, as rule 8 goes by what a coordinator has seen. */
  truceUntil: Instant = Number.NEGATIVE_INFINITY;
  /** Told of every event of the history. */
  onEvent: (event: HistoryEvent) => void = () => {};
  /** How long things travel where nothing is wrong. */
  #calm = { latencyMs: 20, watchDelayMs: 10 };
  readonly #isTracing: boolean;
  readonly #trace: string[] = [];
  readonly #invariants: Invariants;
  readonly #replicas: ReplicaSlot[] = [];
  readonly #links = new Map<string, SimLink>();
  readonly #connections = new Map<string, SimConnection>();
  readonly #writers = new Map<string, Writer>();
  #restores = 0;
  readonly #outdated = new Set<OutdatedWriteCheck>();
  /** Ends what lasts. */
  readonly #ends = new Set<() => void>();
  #builtIn: { readonly elector: SimBuiltIn; readonly process: SimProcess; readonly name: string } | undefined;
  #lockHolder: unknown;
  /** By Lease: its record as last written. */
  readonly #records = new Map<string, { readonly holder: string; readonly durationMs: number }>();
  /** By candidate that lost its Lease to another: its record's duration from then, and the replicas that can tell. */
  readonly #losses = new Map<
    string,
    { readonly until: Instant; readonly witnesses: readonly SimReplica[] }
  >();
  #started = 0;

  constructor(
    plan: SimPlan = emptyPlan(1),
    { isTracing = false, keepsRecord = false }: SimWorldOptions = {},
  ) {
    this.plan = plan;
    this.#isTracing = isTracing;
    this.clock = new VirtualClock({ seed: plan.seed });
    this.chance = new Chance(plan.seed, 'world');
    this.store = new SimStore(this.clock);
    const server = () => new SimApiServer(this.clock, this.store, keepsRecord);
    this.servers = [server(), server()];
    if (plan.requestsPerSecond !== undefined) {
      this.capacity = new SimCapacity(this.clock, plan.requestsPerSecond);
      for (const api of this.servers) api.capacity = this.capacity;
    }
    this.#invariants = new Invariants({
      candidateValidityMs: plan.settings.candidateValidityMs,
      clockTolerance: plan.clockTolerance,
    });
    this.leaseKeys = plan.leases.map(({ namespace, name }) => `${namespace}/${name}`);
    for (const api of this.servers) api.onWrite = (write) => this.#onWrite(write);
  }

  /** The first API server. */
  get api(): SimApiServer {
    return this.servers[0];
  }

  get trace(): string {
    return this.#trace.join('\n');
  }

  set calm(calm: { readonly latencyMs: number; readonly watchDelayMs: number }) {
    this.#calm = calm;
    for (const link of this.#links.values()) link.calm = calm;
  }

  get replicas(): readonly SimReplica[] {
    return this.#replicas.flatMap(({ running }) => running ?? []);
  }

  get candidates(): readonly SimCandidate[] {
    return this.slots.flatMap(({ candidate }) => candidate ?? []);
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

  // What lasts.

  after(ms: number, then: () => void): void {
    this.clock.setTimer(then, ms);
  }

  now(): Instant {
    return this.clock.now();
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
    for (const end of [...this.#ends]) end();
    for (const slot of this.slots) slot.resume();
    for (const replica of this.replicas) replica.process.resume();
    for (const slot of this.#replicas) slot.crashAt = undefined;
    this.capacity?.slowDown(1, 0);
    this.crashBuiltIn();
  }

  // Programs.

  addSlot(plan: SlotPlan): SimSlot {
    const slot = new SimSlot(plan, this);
    this.slots.push(slot);
    this.after(plan.startsAtMs, () => slot.start());
    return slot;
  }

  slot(name: string): SimSlot | undefined {
    return this.slots.find(({ plan }) => plan.name === name);
  }

  random(slot: SimSlot): number {
    return this.chance.for(`${slot.plan.name} again ${this.clock.now()}`).random();
  }

  startProgram(slot: SimSlot, name: string): SimProgram {
    const { lease, binaryVersion, emulationVersion, strategy, isPlain, wallMs, rate, watchesForDeletion } =
      slot.plan;
    const { namespace, name: leaseName, timing } = lease;
    const place = slot.plan.name;
    const { process, connection } = this.#connected(
      name,
      { kind: 'candidate', name },
      { wallMs, rate },
      place,
    );
    const link = this.#linkOf(place);
    const beliefShare = this.plan.clockTolerance;
    const believes = (until: Instant | undefined) => this.#believes(name, slot.key, until);
    this.note(() => `${name} starts, ${binaryVersion} as ${emulationVersion}, clock off by ${wallMs} ms`);
    if (isPlain) {
      const parts = { namespace, leaseName, name, timing, beliefShare, onBelief: believes };
      const actor = new SimPlainElector(process, connection, parts);
      void actor.run();
      return { name, process, connection, link, actor };
    }
    const identity = { namespace, leaseName, name, binaryVersion, emulationVersion, strategy };
    const hooks = {
      onExit: () => slot.ended(actor),
      mayReleaseAnothers: () => this.#isReleaseDoubted(name) && this.beginTruce(slot.key),
      onBelief: (_: SimCandidate, until: Instant | undefined) => believes(until),
      trace: (text: () => string) => this.note(text),
    };
    const habits = { timing, beliefShare, watchesForDeletion };
    const actor = new SimCandidate(identity, process, connection, hooks, habits);
    actor.start();
    return { name, process, connection, link, actor };
  }

  leadersOf(key: string): readonly SimCandidate[] {
    return this.candidates.filter((candidate) => candidate.leaseKey === key && candidate.leads);
  }

  /** The slot whose program believes to lead. */
  leaderSlot(key: string): SimSlot | undefined {
    return this.slots.find((slot) => slot.key === key && slot.candidate?.leads);
  }

  /** The LeaseCandidate of whoever is in a slot. */
  candidateOf(slotName: string): KubernetesObject | undefined {
    const { identity } = this.slot(slotName)?.candidate ?? {};
    return identity && this.store.get('leasecandidates', `${identity.namespace}/${identity.name}`);
  }

  // Replicas of the coordinator.

  addReplica(plan: ReplicaPlan): void {
    const slot: ReplicaSlot = { plan, running: undefined, generation: 0, crashAt: undefined };
    this.#replicas.push(slot);
    this.#startReplica(slot);
  }

  /** The replica that runs in a place. */
  replica(place: string): SimReplica | undefined {
    return this.#replicas.find(({ plan }) => plan.name === place)?.running;
  }

  crashReplica(place: string, startAgainMs: number): boolean {
    const slot = this.#replicas.find(({ plan }) => plan.name === place);
    const { running } = slot ?? {};
    if (!slot || !running) return false;
    this.note(() => `${running.name} crashes`);
    slot.running = undefined;
    running.crash();
    this.after(startAgainMs, () => this.#startReplica(slot));
    return true;
  }

  stopReplica(place: string, startAgainMs: number): boolean {
    const slot = this.#replicas.find(({ plan }) => plan.name === place);
    const { running } = slot ?? {};
    if (!slot || !running?.isRunning) return false;
    this.note(() => `${running.name} stops`);
    void running.stop().then(() => {
      if (slot.running !== running) return;
      slot.running = undefined;
      this.after(startAgainMs, () => this.#startReplica(slot));
    });
    return true;
  }

  crashReplicaAtWrite(place: string, crashAt: NonNullable<ReplicaSlot['crashAt']>): void {
    const slot = this.#replicas.find(({ plan }) => plan.name === place);
    if (slot) slot.crashAt = { ...crashAt };
  }

  #startReplica(slot: ReplicaSlot): void {
    if (slot.running) return;
    const { name: place, wallMs, rate } = slot.plan;
    const name = `${place}.${++slot.generation}`;
    const writer: Writer = { kind: 'coordinator', name };
    const { process, connection } = this.#connected(name, writer, { wallMs, rate }, place, true);
    const lockClient = this.#connectionAt(`${place}-lock`, process, `${name}-lock`);
    const replica = new SimReplica({
      name,
      process,
      client: connection,
      lockClient,
      settings: this.plan.settings,
      takeOver: this.plan.takeOver,
      trace: (text) => this.note(text),
      onViolation: (what) => this.violated(what),
      onDuty: (until) => this.#serves(name, until),
      onDecision: ({ reason }) => this.tally.decided(reason),
    });
    slot.running = replica;
    this.note(() => `${name} starts`);
    replica.start();
  }

  // The controller built into kube-apiserver.

  startBuiltIn(): void {
    this.crashBuiltIn();
    const name = `${BUILT_IN}-${++this.#started}`;
    const { process, connection } = this.#connected(name, { kind: 'builtIn', name }, {}, BUILT_IN);
    const storage = createApiLockStorage(connection, process, coordinatorLease, () => {});
    const elector = new SimBuiltIn(process, storage, name, (until) => {
      this.#serves(name, until === undefined ? undefined : this.clock.now() + until - process.now());
    });
    this.#builtIn = { elector, process, name };
    this.note(() => `${name} starts`);
    void elector.run();
  }

  crashBuiltIn(): boolean {
    if (!this.#builtIn) return false;
    const { elector, process, name } = this.#builtIn;
    this.note(() => `${name} crashes`);
    elector.crash();
    process.kill();
    this.#builtIn = undefined;
    return true;
  }

  // The way to the API servers.

  linksOf(target: string): readonly SimLink[] {
    const link = this.#links.get(target);
    return link ? [link] : [];
  }

  allLinks(): readonly SimLink[] {
    return [...this.#links.values()];
  }

  connectionsOf(target: string): readonly SimConnection[] {
    const connection = this.#connections.get(target);
    return connection ? [connection] : [];
  }

  allConnections(): readonly SimConnection[] {
    return [...this.#connections.values()];
  }

  /** Nobody can be sure to be heard for so long, and for as long as it takes to come back after a backoff. */
  troubleAll(ms: number): void {
    for (const link of this.#links.values()) link.trouble(this.clock.now() + ms + BACKOFF_MS);
  }

  /** It is away for so long, and everybody connected to it goes to the other one. */
  restartServer(index: number, downMs: number): boolean {
    const api = this.servers[index];
    const other = this.servers[1 - index];
    if (!api || !other || api.isDown) return false;
    this.note(() => `API server ${index} is away for ${downMs} ms`);
    api.isDown = true;
    api.isStale = false;
    for (const connection of this.allConnections()) {
      if (connection.api !== api) continue;
      connection.reset();
      if (!other.isDown) connection.api = other;
    }
    this.during(downMs, () => () => {
      api.isDown = false;
      api.forgetHistory();
      this.troubleAll(0);
      // As a load balancer would, some are brought back.
      for (const [place, connection] of this.#connections)
        if (connection.api.isDown || this.chance.for(`${place} back ${this.clock.now()}`).is(0.3))
          connection.api = api;
    });
    return true;
  }

  /** A connection for a test of its own. */
  connect(process: SimProcess, name: string): SimConnection {
    this.#writers.set(name, { kind: 'candidate', name });
    return this.#connectionAt(name, process, name);
  }

  // Storage.

  writeAs(name: string, resource: SimResource, before: KubernetesObject, next: KubernetesObject): void {
    const after = this.store.update(resource, before, next);
    this.#writtenAs(name, resource, before, after);
  }

  deleteAs(name: string, resource: SimResource, object: KubernetesObject): void {
    this.store.remove(resource, object);
    this.#writtenAs(name, resource, object, undefined);
  }

  /** Takes a backup, and restores it so much later; what takes part in elections is then started anew, as after any restore. */
  restoreLater(afterMs: number): void {
    const restore = this.store.backUp();
    const restores = this.#restores;
    const gone = () => {
      // A replica that has not seen who had the lock since cannot know that it is not its own.
      const areAllAwake = this.replicas.every((replica) => this.#seesAll(replica));
      // A backup from before another restore is of another history.
      if (!areAllAwake || restores !== this.#restores) return;
      this.#restores++;
      this.note(() => 'storage is restored from a backup');
      this.struck('storageRestored');
      restore();
      for (const outdated of this.#outdated) outdated.forget();
      for (const api of this.servers) api.forgetHistory();
      for (const connection of this.allConnections()) connection.reset();
      for (const slot of this.slots) slot.crash(2000);
      this.#records.clear();
      this.#losses.clear();
      this.#happened({ kind: 'restored', at: this.clock.now() });
    };
    this.during(afterMs, () => gone);
  }

  /**
   * Rule 8 protects from what a coordinator could see happen: all have to be awake, and to stay so until whoever held one
   * of these Leases cannot believe in it any more.
   */
  beginTruce(...keys: readonly string[]): boolean {
    // A plain elector takes a Lease that is gone, whoever leads.
    if (this.slots.some(({ key, plan }) => plan.isPlain && keys.includes(key))) return false;
    const running = this.replicas.filter(({ isRunning }) => isRunning);
    const areAwake = running.length > 0 && running.length === this.#replicas.length;
    if (!areAwake || !running.every((replica) => this.#seesAll(replica))) return false;
    const longestMs = Math.max(...keys.map((key) => this.#records.get(key)?.durationMs ?? 0));
    const until = this.clock.now() + longestMs / this.plan.clockTolerance + TRUCE_MS;
    this.truceUntil = Math.max(this.truceUntil, until);
    // What is done now leaves no grant by expiry behind that a release could be doubted for.
    for (const key of keys) this.#records.delete(key);
    return true;
  }

  get hasTruce(): boolean {
    return this.clock.now() < this.truceUntil;
  }

  #seesAll(replica: SimReplica): boolean {
    const place = replica.name.split('.')[0] ?? '';
    const link = this.#links.get(place);
    const isDisturbed =
      link !== undefined && (link.isWatchDisturbed || link.troubledUntil > this.clock.now());
    const { api } = replica.client;
    return replica.isUpToDate && !isDisturbed && !api.isStale && !api.isDown;
  }

  /** Rule 8 doubts a release only so long after another got the Lease, where that was seen; the request needs some time. */
  #isReleaseDoubted(name: string): boolean {
    const loss = this.#losses.get(name);
    if (!loss || this.clock.now() + 4000 >= loss.until) return false;
    return this.replicas.every((replica) => !replica.isRunning || loss.witnesses.includes(replica));
  }

  /** A process of its own, with a connection that takes the place of the one before it. */
  #connected(
    name: string,
    writer: Writer,
    skew: SimSkew,
    place: string,
    isCoordinator = false,
  ): { process: SimProcess; connection: SimConnection } {
    const chance = this.chance.for(name);
    const process = new SimProcess(
      this.clock,
      { monotonicMs: chance.upTo(1_000_000), ...skew },
      chance.random,
    );
    this.#writers.set(name, writer);
    const outdated = new OutdatedWriteCheck(process, (what) => this.violated(what));
    if (isCoordinator) this.#outdated.add(outdated);
    const connection = this.#connectionAt(place, process, name, isCoordinator ? outdated : undefined);
    return { process, connection };
  }

  #linkOf(place: string): SimLink {
    const known = this.#links.get(place);
    if (known) return known;
    const link = new SimLink(this.chance.for(`${place} link`), (kind) => this.struck(kind));
    link.calm = this.#calm;
    this.#links.set(place, link);
    return link;
  }

  #connectionAt(
    place: string,
    process: SimProcess,
    name: string,
    outdated?: OutdatedWriteCheck,
  ): SimConnection {
    const link = this.#linkOf(place);
    const [first, second] = this.servers;
    const preferred = this.chance.for(`${name} server`).is(0.5) ? first : second;
    const api = preferred.isDown ? (preferred === first ? second : first) : preferred;
    const connection = new SimConnection(api, process, name, {
      fate: (request) => {
        outdated?.sent(request, name);
        const fate = link.fate(request);
        return outdated && this.#crashesNow(name, request) ? { ...fate, outcome: 'dropped' } : fate;
      },
      onAnswer: (request) => outdated?.answered(request),
      watchDelayMs: () => link.watchDelayMs(),
      coalesces: () => link.coalesces(),
    });
    this.#connections.set(place, connection);
    return connection;
  }

  /** Whether a replica crashes as it is about to send a write. */
  #crashesNow(name: string, { method }: ApiRequest): boolean {
    const slot = this.#replicas.find(({ running }) => running?.name === name);
    if (method === 'GET' || !slot?.crashAt || slot.crashAt.isCarriedOut || --slot.crashAt.writes > 0)
      return false;
    this.#crashAtWrite(slot);
    return true;
  }

  #crashAtWrite(slot: ReplicaSlot): void {
    const { ms } = slot.crashAt ?? { ms: 0 };
    slot.crashAt = undefined;
    this.struck('replicaCrashesAtWrite');
    this.crashReplica(slot.plan.name, ms);
  }

  #onWrite(write: SimWrite): void {
    const writer = this.#writers.get(write.writer) ?? { kind: 'other', name: write.writer };
    const { key, resource, method, status } = write;
    if (key === LOCK_KEY) {
      const { holderIdentity } = specOf(write.after);
      if (holderIdentity === this.#lockHolder) return;
      this.#lockHolder = holderIdentity;
      this.note(() => `  ${writer.name} writes the lock: ${JSON.stringify(specOf(write.after))}`);
      return;
    }
    if (resource === 'leases') this.#noteRecord(key, write.after);
    if (writer.kind !== 'candidate') {
      this.note(() => `  ${writer.name} ${method} ${key} ${status} ${JSON.stringify(write.body['spec'])}`);
    }
    this.#happened(eventOf(write, writer));
    const slot = this.#replicas.find(({ running }) => running?.name === writer.name);
    if (slot?.crashAt?.isCarriedOut && --slot.crashAt.writes <= 0) this.#crashAtWrite(slot);
  }

  #noteRecord(key: string, lease: KubernetesObject | undefined): void {
    const former = this.#records.get(key);
    const { holderIdentity: holder, leaseDurationSeconds } = specOf(lease);
    if (former && former.holder !== holder)
      this.#losses.set(former.holder, {
        until: this.clock.now() + former.durationMs,
        witnesses: this.replicas.filter(({ hasSynced }) => hasSynced),
      });
    this.#records.set(key, {
      holder: String(holder ?? ''),
      durationMs: Number(leaseDurationSeconds ?? 0) * 1000,
    });
  }

  #writtenAs(
    name: string,
    resource: SimResource,
    before: KubernetesObject,
    after: KubernetesObject | undefined,
  ): void {
    const key = keyOf(before);
    const writer: Writer = { kind: 'other', name };
    const method = after ? ('PUT' as const) : ('DELETE' as const);
    const spec = specOf(after);
    this.note(() => `  ${name} ${method} ${key} ${JSON.stringify(spec)}`);
    const at = this.clock.now();
    const write = {
      at,
      writer: name,
      method,
      resource,
      key,
      body: {},
      status: 200,
      before,
      after,
      isLate: false,
    };
    this.#happened(eventOf(write, writer));
  }

  #believes(who: string, key: string, until: Instant | undefined): void {
    const at = this.clock.now();
    this.#happened(
      until === undefined ? { kind: 'follows', at, who, key } : { kind: 'leads', at, who, key, until },
    );
  }

  #serves(who: string, until: Instant | undefined): void {
    const at = this.clock.now();
    this.#happened(
      until === undefined ? { kind: 'standsBy', at, who } : { kind: 'coordinates', at, who, until },
    );
  }

  #happened(event: HistoryEvent): void {
    this.tally.happened(event);
    this.onEvent(event);
    for (const violation of this.#invariants.observe(event)) this.violated(violation);
  }
}
