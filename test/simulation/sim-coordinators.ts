import { createApiLockStorage } from '../../src/controller/lock/lock-storage.ts';
import { coordinatorLease } from '../../src/election/model.ts';
import type { Instant } from '../../src/support/clock.ts';
import { SimBuiltIn } from '../controller/lock/sim-built-in.ts';
import { OutdatedWriteCheck } from './outdated-write-check.ts';
import { SimBuiltInElections } from './sim-built-in-elections.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimWitnesses } from './sim-memory.ts';
import type { SimTap } from './sim-network.ts';
import type { ReplicaPlan } from './sim-plan.ts';
import type { SimProcess } from './sim-process.ts';
import { SimReplica } from './sim-replica.ts';
import type { SimWorld } from './sim-world.ts';

const BUILT_IN = 'built-in';

/** A planned crash of a replica at one of its next writes: after its execution, or before it is sent. */
export interface CrashAtWrite {
  readonly writes: number;
  readonly isCarriedOut: boolean;
  /** The delay of its restart, in milliseconds. */
  readonly ms: number;
}

interface SimBuiltInProgram {
  readonly elector: SimBuiltIn;
  readonly process: SimProcess;
  readonly connection: SimConnection;
  readonly name: string;
}

interface ReplicaPlace {
  readonly plan: ReplicaPlan;
  running: SimReplica | undefined;
  generation: number;
  crashAt: CrashAtWrite | undefined;
}

/** The replicas of the coordinator, each in a place where one follows another, and the built-in controller. */
export class SimCoordinators implements SimWitnesses {
  readonly #world: SimWorld;
  readonly #places: ReplicaPlace[] = [];
  readonly #outdated = new Set<OutdatedWriteCheck>();
  #heldUntil: Instant = Number.NEGATIVE_INFINITY;
  #builtIn: SimBuiltInProgram | undefined;
  #builtIns = 0;
  #lockHolder: unknown;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  get running(): readonly SimReplica[] {
    return this.#places.map(({ running }) => running).filter((replica) => replica !== undefined);
  }

  get haveAllSynced(): boolean {
    return this.#are((replica) => replica.hasSynced);
  }

  get areCandidatesHidden(): boolean {
    return this.#world.servers.some(({ candidateVersions }) => candidateVersions[0] !== 'v1beta1');
  }

  /** Whether all replicas run and are up to date. */
  get areAllAwake(): boolean {
    return this.#are((replica) => this.seesAll(replica));
  }

  /** The furthest that the wall clock of any replica has ever been ahead, in milliseconds. */
  get aheadMs(): number {
    return Math.max(0, ...this.running.map(({ process }) => process.highestSkewMs));
  }

  /** Returns the running replica of that name. */
  named(name: string): SimReplica | undefined {
    return this.running.find((replica) => replica.name === name);
  }

  /** Whether every replica must know the holder of the lock. */
  get areAllInformed(): boolean {
    return this.#places.every((place) => this.#isInformed(place));
  }

  /** Whether a replica has seen all objects, and no event was under way to it a moment ago. */
  seesAll(replica: SimReplica): boolean {
    const links = this.#world.network.linksOf(this.#placeOf(replica)?.plan.name ?? '');
    const now = this.#world.clock.now();
    const isDisturbed = links.some((link) => link.isWatchDisturbed || link.troubledUntil > now);
    const { api } = replica.client;
    return replica.isUpToDate && !isDisturbed && !api.isStale && !api.isDown;
  }

  get isBuiltInActive(): boolean {
    return this.#builtIn?.elector.isActive() ?? false;
  }

  /** Whether a replica could elect if it got the lock. */
  isAble(replica: SimReplica): boolean {
    const { api } = replica.lockClient;
    const { candidateVersions, hasCustomCandidates } = replica.client.api;
    const isServed = candidateVersions.length > 0 || hasCustomCandidates;
    return isServed && !api.isDown && this.seesAll(replica) && this.#isInformed(this.#placeOf(replica));
  }

  add(plan: ReplicaPlan): void {
    const place: ReplicaPlace = { plan, running: undefined, generation: 0, crashAt: undefined };
    this.#places.push(place);
    this.#start(place);
  }

  /** `writer` has written the lock. */
  lockWritten(writer: string, spec: Readonly<Record<string, unknown>>): void {
    const { holderIdentity } = spec;
    if (holderIdentity === this.#lockHolder) return;
    this.#lockHolder = holderIdentity;
    this.#world.note(() => `  ${writer} writes the lock: ${JSON.stringify(spec)}`);
  }

  /** Returns the replica that runs in a place. */
  in(name: string): SimReplica | undefined {
    return this.#place(name)?.running;
  }

  crash(name: string, startAgainMs: number): boolean {
    const place = this.#place(name);
    const { running } = place ?? {};
    if (!place || !running) return false;
    this.#world.note(() => `${running.name} crashes`);
    place.running = undefined;
    running.crash();
    this.#world.after(startAgainMs, () => this.#start(place));
    return true;
  }

  stop(name: string, startAgainMs: number): boolean {
    const place = this.#place(name);
    const { running } = place ?? {};
    if (!place || !running?.isRunning) return false;
    this.#world.note(() => `${running.name} stops`);
    void running.stop().then(() => {
      if (place.running !== running) return;
      place.running = undefined;
      this.#world.after(startAgainMs, () => this.#start(place));
    });
    return true;
  }

  crashAtWrite(name: string, crashAt: CrashAtWrite): void {
    const place = this.#place(name);
    if (place) place.crashAt = crashAt;
  }

  /** Cancels all planned faults of replicas, and removes the built-in controller. */
  endTrouble(): void {
    for (const replica of this.running) replica.process.resume();
    for (const place of this.#places) place.crashAt = undefined;
    this.crashBuiltIn();
  }

  /** Until when their watches are held. */
  get heldUntil(): Instant {
    return this.#heldUntil;
  }

  /** Holds all watches of the replicas for this long. Then all events arrive. */
  holdWatches(forMs: number): void {
    const { network, clock } = this.#world;
    this.#heldUntil = Math.max(this.#heldUntil, clock.now() + forMs);
    const connections = this.#places.flatMap(({ plan }) => network.connectionsOf(plan.name));
    this.#world.during(forMs, () => {
      for (const connection of connections) connection.holdWatches(true);
      return () => {
        for (const connection of connections) connection.holdWatches(false);
      };
    });
  }

  /** Breaks the connections of all replicas: requests in flight fail, and watches start again. */
  resetConnections(): void {
    const { network } = this.#world;
    for (const { plan } of this.#places)
      for (const connection of network.connectionsOf(plan.name)) connection.reset();
  }

  /** A restore has undone all earlier writes. */
  forgetWrites(): void {
    for (const outdated of this.#outdated) outdated.forget();
  }

  /** The server has executed a write of `name`. */
  written(name: string): void {
    const place = this.#places.find(({ running }) => running?.name === name);
    if (place?.crashAt?.isCarriedOut) this.#countDown(place, place.crashAt);
  }

  startBuiltIn(): void {
    this.crashBuiltIn();
    const name = `${BUILT_IN}-${++this.#builtIns}`;
    const world = this.#world;
    const process = world.startProcess({ kind: 'builtIn', name });
    const connection = world.network.connect(BUILT_IN, process, name);
    const storage = createApiLockStorage(connection, process, coordinatorLease, () => {});
    const elections = new SimBuiltInElections(
      process,
      connection,
      () => elector.isActive() && connection.api.isGateOn,
    );
    const elector = new SimBuiltIn(process, storage, name, (until) => {
      if (until !== undefined) elections.resume();
      world.serves(name, until === undefined ? undefined : world.clock.now() + until - process.now());
    });
    this.#builtIn = { elector, process, connection, name };
    world.note(() => `${name} starts`);
    elections.start();
    void elector.run();
  }

  crashBuiltIn(): boolean {
    if (!this.#builtIn) return false;
    const { elector, process, connection, name } = this.#builtIn;
    this.#world.note(() => `${name} crashes`);
    elector.crash();
    process.kill();
    connection.breakWatches();
    this.#builtIn = undefined;
    return true;
  }

  #are(wanted: (replica: SimReplica) => boolean): boolean {
    return this.#places.every(({ running }) => running?.isRunning && wanted(running));
  }

  #place(name: string): ReplicaPlace | undefined {
    return this.#places.find(({ plan }) => plan.name === name);
  }

  #start(place: ReplicaPlace): void {
    if (place.running) return;
    const world = this.#world;
    const { name: placeName, wallMs, rate } = place.plan;
    const name = `${placeName}.${++place.generation}`;
    const process = world.startProcess({ kind: 'coordinator', name }, { wallMs, rate });
    const replica = new SimReplica({
      name,
      process,
      client: world.network.connect(placeName, process, name, this.#tap(place, name, process)),
      lockClient: world.network.connect(`${placeName}-lock`, process, `${name}-lock`),
      settings: world.plan.settings,
      shard: world.shard,
      takeOver: world.plan.takeOver,
      trace: (text) => world.note(text),
      onViolation: (what) => world.violated(what),
      onDuty: (until: Instant | undefined) => world.serves(name, until),
      onDecision: ({ reason }) => world.tally.decided(reason),
    });
    place.running = replica;
    world.note(() => `${name} starts`);
    replica.start();
  }

  /** Sees each write of a replica, and can crash the replica right before it. */
  #tap(place: ReplicaPlace, name: string, process: SimProcess): SimTap {
    const outdated = new OutdatedWriteCheck(process, (what) => this.#world.violated(what));
    this.#outdated.add(outdated);
    return {
      sent: (request, fate) => {
        outdated.sent(request, name);
        const { crashAt } = place;
        if (request.method === 'GET' || !crashAt || crashAt.isCarriedOut) return fate;
        return this.#countDown(place, crashAt) ? { ...fate, outcome: 'dropped' } : fate;
      },
      answered: (request, answer) => outdated.answered(request, answer),
    };
  }

  /**
   * Counts down the writes until the crash, except while the replicas' memory is needed. Returns whether to crash
   * now.
   */
  #countDown(place: ReplicaPlace, { writes, ...crashAt }: CrashAtWrite): boolean {
    if (this.#world.memory.isNeeded) return false;
    place.crashAt = writes > 1 ? { ...crashAt, writes: writes - 1 } : undefined;
    if (place.crashAt) return false;
    this.#world.struck('replicaCrashesAtWrite');
    return this.crash(place.plan.name, crashAt.ms);
  }

  #placeOf(replica: SimReplica): ReplicaPlace | undefined {
    return this.#places.find(({ running }) => running === replica);
  }

  #isInformed(place: ReplicaPlace | undefined): boolean {
    const now = this.#world.clock.now();
    const links = this.#world.network.linksOf(`${place?.plan.name}-lock`);
    return links.every((link) => !link.isDisturbed && link.troubledUntil <= now);
  }
}
