import type { ElectionController } from '../../src/controller/election-controller.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { SimWrite } from './sim-api-server.ts';
import { SimCapacity } from './sim-capacity.ts';
import { SimCrowd } from './sim-crowd.ts';
import { emptyPlan } from './sim-plan.ts';
import { SimProcess } from './sim-process.ts';
import type { SimReplica } from './sim-replica.ts';
import { SimWorld } from './sim-world.ts';

/** The sizes of a {@link CongestedWorld}. */
export interface CongestionOptions {
  readonly leases: number;
  /** Requests per second that the API server answers in total. */
  readonly requestsPerSecond: number;
  readonly renewEveryMs: number;
  /** Number of candidates that never answer, for an additional Lease that does not exist yet. */
  readonly silent?: number;
  /** Number of candidates of that Lease that answer. */
  readonly answering?: number;
}

const CANDIDATES_PER_LEASE = 5;
/**
 * Each request and each answer takes a millisecond; watch events take no time. A longer time means that a request has
 * waited.
 */
const STEADY = { latencyMs: 1, watchDelayMs: 1 };

/**
 * Many Leases with a leader and four more candidates each, two replicas of the coordinator, and an API server that
 * answers a limited number of requests per second. The leader is `<lease>-0`, and the best other candidate is
 * `<lease>-1`. In every second Lease, the leader is better because of its version, in the others only because of its
 * name.
 */
export class CongestedWorld {
  readonly world = new SimWorld(emptyPlan(1), { keepsRecord: true });
  readonly leaseNames: readonly string[];
  readonly #capacity: SimCapacity;
  /** The programs of all Leases, and other programs in their namespace. */
  readonly crowd: SimCrowd;
  /** Programs in the namespace `noisy`. Other namespaces must not notice them. */
  readonly noisy: SimCrowd;
  /** Start of the measurement. */
  #from: Instant = 0;

  constructor({ leases, requestsPerSecond, renewEveryMs, silent = 0, answering = 0 }: CongestionOptions) {
    const { world } = this;
    this.leaseNames = Array.from({ length: leases }, (_, index) => `lease-${index}`);
    this.#capacity = new SimCapacity(world.clock, requestsPerSecond);
    for (const api of world.servers) api.capacity = this.#capacity;
    world.network.calm = STEADY;
    const process = new SimProcess(world.clock);
    this.crowd = new SimCrowd(world.api, process, world.connect(process, 'crowd'), renewEveryMs);
    this.noisy = new SimCrowd(world.api, process, world.connect(process, 'noisy'), renewEveryMs, {
      namespace: 'noisy',
    });
    for (const [index, leaseName] of this.leaseNames.entries()) {
      for (let place = 0; place < CANDIDATES_PER_LEASE; place++) {
        const emulationVersion = place === 0 && index % 2 === 0 ? '1.34.0' : `1.35.${Math.max(place, 1)}`;
        this.crowd.add({ leaseName, name: `${leaseName}-${place}`, emulationVersion, isRunning: true });
      }
      this.crowd.lead(leaseName, `${leaseName}-0`);
    }
    for (let index = 0; index < silent + answering; index++) {
      const isRunning = index >= silent;
      const name = `${isRunning ? 'answering' : 'silent'}-${index}`;
      this.crowd.add({ leaseName: 'crowded', name, emulationVersion: '1.35.0', isRunning });
    }
  }

  /** Starts the coordinators. Returns `warmUpMs` after one of them has acquired the lock. */
  async start(warmUpMs: number): Promise<void> {
    const { world } = this;
    for (const name of ['replica-1', 'replica-2']) world.addReplica({ name, wallMs: 0, rate: 1 });
    while (this.coordinator === undefined) await world.run(500);
    await world.run(warmUpMs);
    this.#from = world.clock.now();
  }

  /** Ends all leaders within `withinMs`, one after the other. */
  async endLeaders(how: 'crash' | 'stop', withinMs: number): Promise<void> {
    for (const leaseName of this.leaseNames) {
      await this.world.run(withinMs / this.leaseNames.length);
      if (how === 'crash') this.crowd.crash(`${leaseName}-0`);
      else void this.crowd.stopLeader(leaseName);
    }
  }

  /** Makes the API server slower by `factor` for a time. */
  async slowDown(factor: number, ms: number): Promise<void> {
    this.#capacity.slowDown(factor, ms);
    await this.world.run(ms);
  }

  /** Runs until every Lease has a leader, or until the time is over. */
  async runUntilLed(withinMs: number): Promise<void> {
    const until = this.world.clock.now() + withinMs;
    while (this.world.clock.now() < until && this.leaderless.length > 0) await this.world.run(500);
  }

  get leaderless(): readonly string[] {
    return this.leaseNames.filter((leaseName) => this.crowd.leaderOf(leaseName) === undefined);
  }

  /**
   * Returns the time without a leader after the first leader of each Lease ended, in milliseconds; Infinity if there
   * is none yet.
   */
  get vacancies(): readonly number[] {
    const firsts = new Map<string, number>();
    for (const { leaseName, vacantForMs } of this.crowd.takeUps)
      if (!firsts.has(leaseName)) firsts.set(leaseName, vacantForMs);
    return this.leaseNames.map((leaseName) => firsts.get(leaseName) ?? Number.POSITIVE_INFINITY);
  }

  /** Returns the time from `since` until each Lease last got a leader, in milliseconds; Infinity if it has none. */
  ledAgainAfter(since: Instant): readonly number[] {
    const lasts = new Map(this.crowd.takeUps.map(({ leaseName, at }) => [leaseName, at - since]));
    const leaderless = new Set(this.leaderless);
    return this.leaseNames.map((leaseName) =>
      leaderless.has(leaseName)
        ? Number.POSITIVE_INFINITY
        : (lasts.get(leaseName) ?? Number.POSITIVE_INFINITY),
    );
  }

  /** The replica that holds the lock. */
  get coordinator(): string | undefined {
    return this.#active?.name;
  }

  /** The controller of the replica that holds the lock. */
  get controller(): ElectionController {
    if (!this.#active) throw new Error('nobody has the lock');
    return this.#active.controller;
  }

  get #active(): SimReplica | undefined {
    return this.world.replicas.find((replica) => replica.isActive());
  }

  /** Leases that were granted to a candidate that is not the best live one, as if the best one were dead. */
  get misjudged(): readonly string[] {
    return this.crowd.takeUps
      .filter(({ leaseName, leader }) => leader !== `${leaseName}-1`)
      .map(({ leaseName, leader, at }) => `${leaseName} to ${leader} at ${Math.round(at - this.#from)} ms`);
  }

  /** A description of the events, for debugging. */
  get report(): string {
    const led = [...this.vacancies].sort((a, b) => a - b);
    const at = (share: number) => Math.round(led[Math.ceil(share * led.length) - 1] ?? Number.NaN);
    const requests = Object.entries(this.#requests).map(([kind, count]) => `${count} ${kind}`);
    return [
      `without a leader for: median ${at(0.5)} ms, 99 of 100 ${at(0.99)} ms, longest ${at(1)} ms`,
      `led again ${this.#timeline()}`,
      `requests: ${requests.join(', ')}`,
    ].join('\n');
  }

  /** Number of Leases that got a leader again, for each second. */
  #timeline(): string {
    const seconds = new Map<number, number>();
    for (const { at } of this.crowd.takeUps) {
      const second = Math.floor((at - this.#from) / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    const counts = [...seconds].sort(([a], [b]) => a - b).map(([second, count]) => `${second} s: ${count}`);
    return counts.join(', ');
  }

  get #requests(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const write of this.world.servers.flatMap(({ writes }) => writes)) {
      if (write.at < this.#from) continue;
      const kind = kindOf(write);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  }
}

function kindOf({ writer, method, resource, body, status }: SimWrite): string {
  if (writer.endsWith('-lock')) return 'of the lock';
  const isProgram = writer === 'crowd' || writer === 'noisy';
  const failed = status < 300 ? '' : ` refused (${status})`;
  if (resource === 'leasecandidates') {
    if (method === 'DELETE') return `deletions of candidates${failed}`;
    return (isProgram ? 'acks' : 'pings') + failed;
  }
  if (isProgram) return `renewals${failed}`;
  const isGrant = JSON.stringify(body).includes('"holderIdentity"');
  return (isGrant ? 'grants' : 'other writes of Leases') + failed;
}
