import type { ElectionController } from '../../src/controller/election-controller.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { coordinatorLease } from '../../src/election/model.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimCapacity } from './sim-capacity.ts';
import { SimCrowd } from './sim-crowd.ts';
import { emptyPlan, type ShardPlan, type SimPlan } from './sim-plan.ts';
import { SimProcess } from './sim-process.ts';
import { SimStore } from './sim-store.ts';
import { type SimCluster, SimWorld } from './sim-world.ts';

/** The sizes of a {@link ShardedWorld}. */
export interface ShardedOptions {
  readonly shards: number;
  readonly leasesPerShard: number;
  /** Requests per second that the API servers answer in total. */
  readonly requestsPerSecond: number;
  readonly renewEveryMs: number;
}

export const CANDIDATES_PER_LEASE = 5;
const REPLICAS = ['replica-1', 'replica-2'];
/** A lock outside of kube-system is only for clusters without native LeaseCandidates (rule 10). */
const PLAN: SimPlan = { ...emptyPlan(1), hasCustomCandidates: true, hasGate: false };

/**
 * A shard: two replicas of a coordinator with their own lock. They have two namespaces of a cluster, and see nothing
 * else of it. The best candidate of a Lease is `<lease>-0`, the next best `<lease>-1`.
 */
export class Shard {
  readonly name: string;
  readonly world: SimWorld;
  /** One for each of its namespaces. */
  readonly crowds: readonly SimCrowd[];
  readonly leaseNames: readonly string[];
  readonly #namespaces: readonly string[];

  constructor(name: string, cluster: SimCluster, { leasesPerShard, renewEveryMs }: ShardedOptions) {
    this.name = name;
    this.#namespaces = [`${name}-a`, `${name}-b`];
    const shard: ShardPlan = {
      namespaces: this.#namespaces,
      lock: { ...coordinatorLease, namespace: name },
    };
    const world = new SimWorld(PLAN, { shard, cluster });
    for (const api of world.servers) {
      api.candidateVersions = [];
      api.capacity = cluster.capacity;
    }
    world.network.calm = { latencyMs: 1, watchDelayMs: 1 };
    world.onEvent = (event) => this.#expectOwn(event);
    const process = new SimProcess(cluster.clock);
    const connection = world.connect(process, 'crowd');
    this.world = world;
    this.crowds = this.#namespaces.map(
      (namespace) =>
        new SimCrowd(world.api, process, connection, renewEveryMs, {
          namespace,
          apiVersion: CUSTOM_API_VERSION,
          onBelief: (who, key, until) => world.believes(who, key, until),
        }),
    );
    const perCrowd = Math.floor(leasesPerShard / this.crowds.length);
    this.leaseNames = Array.from({ length: perCrowd }, (_, index) => `lease-${index}`);
    for (const crowd of this.crowds) this.#populate(crowd);
  }

  /** Half of its Leases have a leader; the others have none yet. */
  #populate(crowd: SimCrowd): void {
    for (const [index, leaseName] of this.leaseNames.entries()) {
      for (let place = 0; place < CANDIDATES_PER_LEASE; place++) {
        const name = `${leaseName}-${place}`;
        crowd.add({ leaseName, name, emulationVersion: `1.35.${place}`, isRunning: true });
      }
      if (index % 2 === 0) crowd.lead(leaseName, `${leaseName}-0`);
    }
  }

  start(): void {
    for (const name of REPLICAS) this.world.addReplica({ name, wallMs: 0, rate: 1 });
  }

  /** The replica that holds its lock. */
  get coordinator(): string | undefined {
    return this.#active?.name;
  }

  /** The number of records in its coordinator's memory. */
  get kept(): ElectionController['kept'] {
    if (!this.#active) throw new Error(`nobody has the lock of ${this.name}`);
    return this.#active.controller.kept;
  }

  get #active() {
    return this.world.replicas.find((replica) => replica.isActive());
  }

  /** The number of its Leases without a leader. */
  get leaderless(): number {
    let count = 0;
    for (const crowd of this.crowds)
      for (const leaseName of this.leaseNames) if (crowd.leaderOf(leaseName) === undefined) count++;
    return count;
  }

  /** The time that Leases were without a leader, for Leases that got one again after `since`, in milliseconds. */
  vacanciesSince(since: Instant): readonly number[] {
    return this.crowds.flatMap(({ takeUps }) =>
      takeUps.flatMap(({ at, vacantForMs }) => (at > since ? [vacantForMs] : [])),
    );
  }

  /** Crashes the process of its coordinator, and does not start it again. */
  crashCoordinator(): void {
    const replica = this.coordinator?.split('.')[0] ?? '';
    this.world.coordinators.crash(replica, 3_600_000);
  }

  /** Crashes every nth leader within `withinMs`, one after the other. */
  crashLeaders(every: number, withinMs: number): void {
    for (const crowd of this.crowds) {
      for (const [index, leaseName] of this.leaseNames.entries()) {
        if (index % every !== 0) continue;
        this.world.after((index / this.leaseNames.length) * withinMs, () => crowd.crash(`${leaseName}-0`));
      }
    }
  }

  /** A coordinator writes only in its own namespaces. */
  #expectOwn(event: HistoryEvent): void {
    if ((event.kind !== 'lease' && event.kind !== 'candidate') || event.writer.kind !== 'coordinator') return;
    const [namespace = ''] = event.key.split('/');
    if (!this.#namespaces.includes(namespace))
      this.world.violated(`${event.writer.name} of ${this.name} writes ${event.key}`);
  }
}

/** A cluster whose Leases are divided among shards that share only its API servers, and the capacity of these. */
export class ShardedWorld {
  readonly shards: readonly Shard[];
  readonly clock = new VirtualClock({ seed: 1 });

  constructor(options: ShardedOptions) {
    const capacity = new SimCapacity(this.clock, options.requestsPerSecond);
    const cluster: SimCluster = { clock: this.clock, store: new SimStore(this.clock), capacity };
    this.shards = Array.from(
      { length: options.shards },
      (_, index) => new Shard(`shard-${index}`, cluster, options),
    );
    for (const shard of this.shards) shard.start();
  }

  get violations(): readonly string[] {
    return this.shards.flatMap(({ world }) => world.violations);
  }

  get leaderless(): number {
    return this.shards.reduce((sum, shard) => sum + shard.leaderless, 0);
  }

  /**
   * Runs until every shard has a coordinator and every Lease a leader, or there is a violation, or the time is over.
   */
  async runUntilLed(withinMs: number): Promise<void> {
    const until = this.clock.now() + withinMs;
    while (this.clock.now() < until && this.violations.length === 0 && !this.#isSettled) await this.run(1000);
  }

  async run(ms: number): Promise<void> {
    await this.clock.advanceWhile(this.clock.now() + ms, () =>
      this.shards.every(({ world }) => world.violations.length === 0),
    );
  }

  /** Stops everything and frees its memory. */
  close(): void {
    for (const { world } of this.shards) world.network.close();
  }

  get #isSettled(): boolean {
    return this.shards.every(({ coordinator }) => coordinator !== undefined) && this.leaderless === 0;
  }
}
