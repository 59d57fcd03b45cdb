import type { ElectionController } from '../../src/controller/election-controller.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { SimWrite } from './sim-api-server.ts';
import { SimCapacity } from './sim-capacity.ts';
import { SimCrowd } from './sim-crowd.ts';
import { emptyPlan } from './sim-plan.ts';
import { SimProcess } from './sim-process.ts';
import type { SimReplica } from './sim-replica.ts';
import { SimWorld } from './sim-world.ts';

/** What there is in a {@link CongestedWorld}. */
export interface CongestionOptions {
  readonly leases: number;
  /** What the API server answers in all. */
  readonly requestsPerSecond: number;
  readonly renewEveryMs: number;
  /** So many candidates that never answer, for one Lease more that does not exist yet. */
  readonly silent?: number;
  /** So many candidates that answer, for that Lease. */
  readonly answering?: number;
}

const CANDIDATES_PER_LEASE = 5;
/** Each request and each answer travels for a millisecond, and news of a change not at all: what takes longer has waited. */
const STEADY = { latencyMs: 1, watchDelayMs: 1 };

/**
 * Many Leases with a leader and four more candidates each, two replicas of the coordinator, and an API server that answers
 * only so many requests a second. The leader is `<lease>-0`, the best of the others `<lease>-1`; in every other Lease the
 * leader is better than that by its version, else by its name alone.
 */
export class CongestedWorld {
  readonly world = new SimWorld(emptyPlan(1), { keepsRecord: true });
  readonly leaseNames: readonly string[];
  readonly #capacity: SimCapacity;
  /** Those that lead or want to, and others of their namespace. */
  readonly crowd: SimCrowd;
  /** Programs of a namespace of its own, `noisy`, which nobody else should notice. */
  readonly noisy: SimCrowd;
  /** Since when it is counted what happens. */
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

  /** Starts the coordinators, and returns `warmUpMs` after one of them has got the lock. */
  async start(warmUpMs: number): Promise<void> {
    const { world } = this;
    for (const name of ['replica-1', 'replica-2']) world.addReplica({ name, wallMs: 0, rate: 1 });
    while (this.coordinator === undefined) await world.run(500);
    await world.run(warmUpMs);
    this.#from = world.clock.now();
  }

  /** Ends every leader there is, one after the other, within `withinMs`. */
  async endLeaders(how: 'crash' | 'stop', withinMs: number): Promise<void> {
    for (const leaseName of this.leaseNames) {
      await this.world.run(withinMs / this.leaseNames.length);
      if (how === 'crash') this.crowd.crash(`${leaseName}-0`);
      else void this.crowd.stopLeader(leaseName);
    }
  }

  /** The API server takes `factor` times as long for everything, for so long. */
  async slowDown(factor: number, ms: number): Promise<void> {
    this.#capacity.slowDown(factor, ms);
    await this.world.run(ms);
  }

  /** Runs on until every Lease is led, or for so long. */
  async runUntilLed(withinMs: number): Promise<void> {
    const until = this.world.clock.now() + withinMs;
    while (this.world.clock.now() < until && this.leaderless.length > 0) await this.world.run(500);
  }

  get leaderless(): readonly string[] {
    return this.leaseNames.filter((leaseName) => this.crowd.leaderOf(leaseName) === undefined);
  }

  /** For how long each Lease had no leader after its first one ended, in milliseconds; Infinity: it has none yet. */
  get vacancies(): readonly number[] {
    const firsts = new Map<string, number>();
    for (const { leaseName, vacantForMs } of this.crowd.takeUps)
      if (!firsts.has(leaseName)) firsts.set(leaseName, vacantForMs);
    return this.leaseNames.map((leaseName) => firsts.get(leaseName) ?? Number.POSITIVE_INFINITY);
  }

  /** How long after `since` each Lease was led again at last, in milliseconds; Infinity: it is not. */
  ledAgainAfter(since: Instant): readonly number[] {
    const lasts = new Map(this.crowd.takeUps.map(({ leaseName, at }) => [leaseName, at - since]));
    const leaderless = new Set(this.leaderless);
    return this.leaseNames.map((leaseName) =>
      leaderless.has(leaseName)
        ? Number.POSITIVE_INFINITY
        : (lasts.get(leaseName) ?? Number.POSITIVE_INFINITY),
    );
  }

  /** Which replica has the lock. */
  get coordinator(): string | undefined {
    return this.#active?.name;
  }

  /** The controller of the replica that has the lock. */
  get controller(): ElectionController {
    if (!this.#active) throw new Error('nobody has the lock');
    return this.#active.controller;
  }

  get #active(): SimReplica | undefined {
    return this.world.replicas.find((replica) => replica.isActive());
  }

  /** Leases that went to another than the best of those that live, as if that one were dead. */
  get misjudged(): readonly string[] {
    return this.crowd.takeUps
      .filter(({ leaseName, leader }) => leader !== `${leaseName}-1`)
      .map(({ leaseName, leader, at }) => `${leaseName} to ${leader} at ${Math.round(at - this.#from)} ms`);
  }

  /** What happened, for whoever has to understand it. */
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

  /** How many Leases were led again in each second. */
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
