import { beforeAll, describe, expect, test } from 'vitest';
import type { Instant } from '../../src/support/clock.ts';
import { Chance } from './chance.ts';
import { type SimWrite, specOf } from './sim-api-server.ts';
import { USUAL_TIMING } from './sim-candidate.ts';
import { candidateSlot, emptyPlan, type LeasePlan } from './sim-plan.ts';
import type { SimContender } from './sim-slot.ts';
import { SimWorld } from './sim-world.ts';

const LEASES = Array.from({ length: 60 }, (_, index) => ({
  namespace: 'default',
  name: `component-${index}`,
  timing: USUAL_TIMING,
}));
const CANDIDATES_PER_LEASE = 5;
/** client-go looks for the second time 2.0 to 4.4 s after its start; before that nobody can have taken a grant up. */
const SECOND_LOOK_MS = { earliest: 2000, latest: 4400 };
/** Where requests travel for a millisecond, and events not at all. */
const AT_ONCE_MS = 100;
/** A second revision comes so long after the first, at the least. */
const BETWEEN_REVISIONS_MS = 300;

/** Components whose candidates all start within two seconds, in any order, beside a coordinator that is there already. */
class FirstStart {
  readonly world = new SimWorld({ ...emptyPlan(1), leases: LEASES }, { keepsRecord: true });
  readonly #chance = new Chance(1, 'starts');
  /** Leases that were not their best candidate's before anybody can have taken them up. */
  readonly wronglyHeld: string[] = [];
  /** Leases that were not led by their best candidate when it must have looked. */
  readonly wronglyLed: string[] = [];
  #stopsAt: Instant = 0;

  async run(): Promise<void> {
    const { world } = this;
    world.network.calm = { latencyMs: 1, watchDelayMs: 1 };
    world.addReplica({ name: 'replica-1', wallMs: 0, rate: 1 });
    await world.run(20_000);
    for (const lease of LEASES) this.#start(lease);
    await world.run(10_000);
    this.#stopsAt = world.clock.now();
    for (const key of world.leaseKeys) for (const leader of world.leadersOf(key)) void leader.stop();
    await world.run(10_000);
  }

  #start(lease: LeasePlan): void {
    const { world } = this;
    const key = `default/${lease.name}`;
    const starts: number[] = [];
    for (let count = 0; count < CANDIDATES_PER_LEASE; count++) {
      const ms = this.#chance.upTo(SECOND_LOOK_MS.earliest - AT_ONCE_MS);
      world.addSlot(candidateSlot(lease, count, this.#chance, { startsAtMs: ms }));
      starts.push(ms);
    }
    const [firstMs, lastMs] = [Math.min(...starts), Math.max(...starts)];
    const settledMs = Math.max(firstMs + SECOND_LOOK_MS.earliest, lastMs + BETWEEN_REVISIONS_MS);
    world.clock.setTimer(() => {
      const [holder, best] = [world.api.leaseSpec(key)['holderIdentity'], bestOf(world, key)?.identity.name];
      if (holder !== best) this.wronglyHeld.push(`${key} by ${String(holder)}, not ${best}`);
    }, settledMs + AT_ONCE_MS);
    world.clock.setTimer(
      () => {
        const leaders = world.leadersOf(key).map(({ identity }) => identity.name);
        const best = bestOf(world, key)?.identity.name;
        if (leaders.join() !== best)
          this.wronglyLed.push(`${key} by ${leaders.join() || 'nobody'}, not ${best}`);
      },
      lastMs + SECOND_LOOK_MS.latest + AT_ONCE_MS,
    );
  }

  /** What the coordinator wrote before the leaders stopped. */
  get ourWrites(): readonly SimWrite[] {
    return this.#writes.filter(({ at, writer }) => at < this.#stopsAt && /^replica-\d+\.\d+$/.test(writer));
  }

  get #writes(): readonly SimWrite[] {
    return this.world.servers.flatMap(({ writes }) => writes).sort((a, b) => a.at - b.at);
  }

  /** How long each Lease was nobody's after its leader released it; NaN: it was not released. */
  get waitsMs(): readonly number[] {
    return this.world.leaseKeys.map((key) => {
      const writes = this.#writes.filter((write) => write.key === key && write.status < 300);
      const release = writes.findIndex(({ after }) => specOf(after)['holderIdentity'] === '');
      return (writes[release + 1]?.at ?? Number.POSITIVE_INFINITY) - (writes[release]?.at ?? Number.NaN);
    });
  }
}

/** The best of the running candidates, by emulationVersion, binaryVersion, age and name. */
function bestOf(world: SimWorld, key: string): SimContender | undefined {
  const rank = ({ identity }: SimContender) => {
    const { namespace, emulationVersion, binaryVersion, name } = identity;
    const object = world.store.candidate(`${namespace}/${name}`);
    return [emulationVersion, binaryVersion, object?.metadata.creationTimestamp ?? 'z', name].join(' ');
  };
  const running = world.candidates.filter((candidate) => candidate.leaseKey === key);
  return running.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))[0];
}

describe('candidates that all start within two seconds', () => {
  const start = new FirstStart();
  beforeAll(() => start.run());

  test('have the best of them as holder before anybody can have looked', () => {
    expect(start.wronglyHeld).toEqual([]);
  });

  test('are led by the best of them once it has looked', () => {
    expect(start.wronglyLed).toEqual([]);
  });

  test('cost no preferredHolder, and three writes a Lease at most', () => {
    const preferences = start.ourWrites.filter(({ after }) => 'preferredHolder' in specOf(after));
    expect(preferences.map(({ key }) => key)).toEqual([]);
    const byLease = Map.groupBy(start.ourWrites, ({ key }) => key);
    expect([...byLease].filter(([, writes]) => writes.length > 3).map(([key]) => key)).toEqual([]);
    expect(byLease.size).toBe(LEASES.length);
  });

  test('have a clean release of their leader followed at once', () => {
    expect(Math.max(...start.waitsMs)).toBeLessThan(AT_ONCE_MS);
  });

  test('break no rule', () => {
    expect(start.world.violations).toEqual([]);
  });
});
