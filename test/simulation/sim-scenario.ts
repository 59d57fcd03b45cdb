import type { Instant } from '../../src/support/clock.ts';
import { QUICK_TIMING } from './sim-candidate.ts';
import { SimCapacity } from './sim-capacity.ts';
import type { SimReplica } from './sim-replica.ts';
import { CALM, SimWorld } from './sim-world.ts';

const LEASES = ['scheduler', 'controller-manager', 'webhook'];
const STEP_MS = 4000;
const STEPS = 75;
/** How soon after the trouble every Lease has to be led, in milliseconds. */
const RECOVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Several times what three Leases need. */
const REQUESTS_PER_SECOND = 50;
/** While nothing happens at all, in milliseconds. */
const QUIET_MS = 60_000;
/** So long a candidate may be silent and still not be asked for a sign of life within {@link QUIET_MS}. */
const SILENT_MS = 5.4 * 60_000 - QUIET_MS;
/** A preferredHolder is asked every two seconds or so while its preemption is pending (rule 7). */
const MAX_PINGS_PER_MINUTE = 45;

/** One run: minutes of trouble, then calm; what a seed decides is which trouble. */
export class SimScenario {
  readonly world: SimWorld;
  readonly #takeOver: boolean;

  constructor(seed: number) {
    this.world = new SimWorld(seed, LEASES);
    this.#takeOver = seed % 4 !== 0;
    // Grants that leave a candidate little time to look, and leaders that are soon over when they die.
    if (seed % 3 === 0) this.world.settings = { ...this.world.settings, leaseDurationSeconds: 6 };
    this.world.timings.set('webhook', QUICK_TIMING);
    if (seed % 5 === 0) this.world.api.capacity = new SimCapacity(this.world.clock, REQUESTS_PER_SECOND);
  }

  /** Resolves to what was wrong; nothing, if all is well. */
  async run(): Promise<readonly string[]> {
    const { world } = this;
    if (world.chance(0.7)) world.startBuiltIn();
    for (let replica = 0; replica < 2; replica++) world.startReplica(this.#takeOver);
    for (const name of LEASES) {
      const count = 1 + world.upTo(4);
      // With the coordinators, or when one of them is there to grant a Lease before the best candidate has come (rule 12).
      const fromMs = world.chance(0.5) ? 0 : 20_000;
      for (let started = 0; started < count; started++)
        world.clock.setTimer(() => world.startCandidate(name), fromMs + world.upTo(2000));
    }
    await world.run(40_000);
    for (let step = 0; step < STEPS && world.violations.length === 0; step++) {
      this.#trouble();
      await world.run(STEP_MS);
    }
    if (world.violations.length > 0) return world.violations;
    const recovery = await this.#recover();
    return recovery.length > 0 ? recovery : [...(await this.#beQuiet()), ...this.#pingStorms()];
  }

  #trouble(): void {
    const { world } = this;
    if (world.chance(0.3)) world.weather = this.#weather();
    if (world.api.capacity && world.chance(0.1)) this.#slowDown(world.api.capacity);
    if (world.chance(0.03)) world.outageUntil = world.clock.now() + world.upTo(30_000);
    for (const candidate of world.candidates.filter(({ isRunning }) => isRunning)) {
      const { identity, process, connection } = candidate;
      if (world.chance(0.04)) {
        const ms = world.upTo(40_000);
        world.note(`${identity.name} sleeps for ${ms} ms`);
        process.pause(ms);
      } else if (world.chance(0.03)) {
        world.note(`${identity.name} crashes`);
        candidate.crash();
      } else if (world.chance(0.02)) {
        world.note(`${identity.name} stops`);
        void candidate.stop();
      } else if (world.chance(0.05)) connection.breakWatches();
      else if (world.chance(0.01)) process.jumpWallClock(world.upTo(HOUR_MS) - HOUR_MS / 2);
    }
    for (const name of LEASES) {
      if (world.chance(0.06) && world.isRunningFor(name).length < 5) world.startCandidate(name);
      if (world.chance(0.04)) world.vandalise(`default/${name}`);
      // Long enough to lose the Lease, short enough to wake up and release what is another's by then (rule 8).
      const [leader] = world.leadersOf(`default/${name}`);
      if (leader && world.chance(0.05)) {
        world.note(`${leader.identity.name} sleeps through its Lease`);
        leader.process.pause(15_000 + world.upTo(10_000));
      }
    }
    if (world.chance(0.02)) world.startBuiltIn();
    if (world.chance(0.02)) world.crashBuiltIn();
    if (world.hasTruce) return;
    if (world.chance(0.1)) world.api.store.compact();
    for (const replica of world.replicas.filter(({ isRunning }) => isRunning)) this.#troubleReplica(replica);
  }

  #troubleReplica(replica: SimReplica): void {
    const { world } = this;
    if (world.chance(0.06)) replica.client.breakWatches();
    if (world.chance(0.06)) replica.lockClient.breakWatches();
    if (world.chance(0.03)) replica.process.jumpWallClock(world.upTo(6 * HOUR_MS) - 3 * HOUR_MS);
    const fortune = world.clock.random();
    if (fortune < 0.03) {
      const ms = world.upTo(40_000);
      world.note(`${replica.name} sleeps for ${ms} ms`);
      replica.process.pause(ms);
    } else if (fortune < 0.05) {
      world.note(`${replica.name} crashes`);
      replica.crash();
      world.startReplica(this.#takeOver);
    } else if (fortune < 0.07) {
      world.note(`${replica.name} stops`);
      void replica.stop();
      world.startReplica(this.#takeOver);
    }
  }

  #slowDown(capacity: SimCapacity): void {
    const { world } = this;
    const [factor, ms] = [1 + world.upTo(50), world.upTo(20_000)];
    world.note(`the API server is ${factor} times slower for ${ms} ms`);
    capacity.slowDown(factor, ms);
  }

  #weather() {
    const { world } = this;
    if (world.chance(0.4)) return CALM;
    const weather = {
      latencyMs: world.pick([50, 500, 3000]) ?? 50,
      loss: world.pick([0, 0.05, 0.3]) ?? 0,
      watchDelayMs: world.pick([10, 500, 20_000]) ?? 10,
    };
    world.note(`weather ${JSON.stringify(weather)}`);
    return weather;
  }

  /** The trouble is over; from when somebody coordinates, every Lease has to find its leader. */
  async #recover(): Promise<readonly string[]> {
    const { world } = this;
    world.note('the trouble is over');
    world.weather = CALM;
    world.outageUntil = Number.NEGATIVE_INFINITY;
    world.api.capacity?.slowDown(1, 0);
    world.crashBuiltIn();
    for (const { process } of [...world.candidates, ...world.replicas]) process.resume();
    for (const { connection } of world.candidates) connection.reset();
    for (const { client, lockClient } of world.replicas) {
      client.reset();
      lockClient.reset();
    }
    for (const name of LEASES) if (world.isRunningFor(name).length === 0) world.startCandidate(name);
    const coordinatedBy = await this.#runUntil(
      () => world.replicas.some((replica) => replica.isActive()),
      60_000,
    );
    if (coordinatedBy === undefined)
      return ['nobody coordinates a minute after the trouble', ...world.violations];
    const led = new Set<string>();
    await this.#runUntil(() => {
      for (const key of world.leaseKeys) if (world.leadersOf(key).length > 0) led.add(key);
      return led.size === world.leaseKeys.length;
    }, RECOVERY_MS);
    const leaderless = world.leaseKeys.filter((key) => !led.has(key));
    return [
      ...world.violations,
      ...leaderless.map((key) => `${key} has no leader ${RECOVERY_MS / 1000} s after the trouble`),
    ];
  }

  /** Leases in good order cost nothing: no request but for the lock and watches that begin anew. */
  async #beQuiet(): Promise<readonly string[]> {
    const { world } = this;
    const inGoodOrder = () =>
      world.leaseKeys.every((key) => {
        const [leader] = world.leadersOf(key);
        return (
          leader !== undefined &&
          leader === world.bestOf(key) &&
          !('preferredHolder' in world.api.leaseSpec(key))
        );
      });
    await world.run(QUIET_MS);
    if (!inGoodOrder()) return world.violations;
    const before = world.api.requests.length;
    // One that slept when it should have renewed is asked for a sign of life, and so is one that looks as if, to a replica
    // whose clock was ahead when it saw it first (rule 1).
    const aheadMs = Math.max(0, ...world.replicas.map(({ process }) => process.wallSkewMs));
    const recently = world.clock.now() - SILENT_MS + aheadMs;
    const punctual = new Set(
      world.api.writes
        .filter(({ at, resource }) => resource === 'leasecandidates' && at > recently)
        .map(({ writer }) => writer),
    );
    const population = world.candidates.length;
    await world.run(QUIET_MS);
    // One that has just started is no quiet.
    if (!inGoodOrder() || world.candidates.length > population) return world.violations;
    // Those that died, and those whose clocks make them look as if, are looked after for hours (rule 1).
    const running = new Set(
      world.candidates
        .filter(
          (candidate) =>
            candidate.isRunning &&
            punctual.has(candidate.identity.name) &&
            Math.abs(candidate.process.wallSkewMs) < 60_000,
        )
        .map(({ identity }) => identity.name),
    );
    const isNeedless = (request: string) => {
      const [, candidate] = /\/leasecandidates\/(.+)$/.exec(request) ?? [];
      return /^replica-\d+ /.test(request) && (candidate === undefined || running.has(candidate));
    };
    const ours = world.api.requests.slice(before).filter(isNeedless);
    return [...world.violations, ...ours.map((request) => `needless: ${request}`)];
  }

  #pingStorms(): readonly string[] {
    return [...this.world.pings].flatMap(([key, times]) => {
      const most = Math.max(
        ...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length),
      );
      return most > MAX_PINGS_PER_MINUTE ? [`${key} was pinged ${most} times in a minute`] : [];
    });
  }

  async #runUntil(predicate: () => boolean, withinMs: number): Promise<Instant | undefined> {
    const until = this.world.clock.now() + withinMs;
    while (!predicate()) {
      if (this.world.clock.now() >= until) return undefined;
      await this.world.run(500);
    }
    return this.world.clock.now();
  }
}
