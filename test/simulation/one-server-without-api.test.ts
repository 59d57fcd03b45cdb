import { describe, expect, test } from 'vitest';
import { Chance } from './chance.ts';
import { type SimApiServer, specOf } from './sim-api-server.ts';
import { USUAL_TIMING } from './sim-candidate.ts';
import { candidateSlot, emptyPlan } from './sim-plan.ts';
import { SimWorld } from './sim-world.ts';

const LEASES = ['scheduler', 'controller-manager'].map((name) => ({
  namespace: 'default',
  name,
  timing: USUAL_TIMING,
}));
/**
 * A broken watch is retried within 10 s and refused, because the API is gone. 10 s later, the holder releases the
 * lock at its next check, within 2.2 s. The next holder acts at once, at the latest 3.5 s later, when the last write
 * has ended.
 */
const HANDED_OVER_MS = 26_000;
/**
 * The Lease of a crashed leader expires after 15 s. The coordinator waits up to 5 s for its successor, which reads
 * the Lease within 4.4 s.
 */
const LED_AGAIN_MS = 25_000;

/**
 * Two replicas, and candidates that use the other server. The first replica coordinates through the server that will
 * lose the API.
 */
class RollingChange {
  readonly world = new SimWorld({ ...emptyPlan(1), leases: LEASES }, { isTracing: true, keepsRecord: true });
  readonly changing: SimApiServer = this.world.servers[1];
  readonly serving: SimApiServer = this.world.servers[0];

  async begin(replicas: readonly string[]): Promise<void> {
    const { world } = this;
    for (const [index, name] of replicas.entries()) {
      world.addReplica({ name, wallMs: 0, rate: 1 });
      const replica = world.replicas[index];
      for (const connection of [replica?.client, replica?.lockClient])
        if (connection) connection.api = index === 0 ? this.changing : this.serving;
      await world.run(5000);
    }
    const chance = new Chance(1, 'versions');
    for (const lease of LEASES)
      for (let index = 0; index < 3; index++) world.addSlot(candidateSlot(lease, index, chance, {}));
    await world.run(0);
    for (const { connection } of world.candidates) connection.api = this.serving;
    await world.run(60_000);
  }

  turnOff(...servers: readonly SimApiServer[]): void {
    for (const api of servers) {
      api.candidateVersions = [];
      api.isGateOn = false;
      this.#restart(api);
    }
  }

  turnOn(...servers: readonly SimApiServer[]): void {
    for (const api of servers) {
      api.candidateVersions = ['v1beta1'];
      api.isGateOn = true;
      this.#restart(api);
    }
  }

  /** Connected clients connect to the same server again. */
  #restart(api: SimApiServer): void {
    api.forgetHistory();
    for (const connection of this.world.network.connections) if (connection.api === api) connection.reset();
  }

  crashLeaders(): void {
    for (const key of this.world.leaseKeys) this.world.leaderSlot(key)?.crash(600_000);
  }

  get led(): readonly string[] {
    return this.world.leaseKeys.filter((key) => this.world.leadersOf(key).length > 0);
  }

  get active(): readonly string[] {
    return this.world.replicas.filter((replica) => replica.isActive()).map(({ name }) => name);
  }

  /** The holders of the lock, in order. */
  get lockHolders(): readonly string[] {
    const holders = this.world.servers
      .flatMap(({ writes }) => writes)
      .filter(({ key, status }) => key.endsWith('/leader-election-controller') && status < 300)
      .sort((a, b) => a.at - b.at)
      .map(({ after }) => String(specOf(after)['holderIdentity']));
    return holders.filter((holder, index) => holder !== holders[index - 1]);
  }
}

describe('the API at one of two API servers only', () => {
  test('makes a replica at the other one take over, and elect', async () => {
    const change = new RollingChange();
    const { world } = change;
    await change.begin(['replica-1', 'replica-2']);
    expect(change.active).toEqual(['replica-1.1']);
    expect(change.led).toEqual(world.leaseKeys);
    change.turnOff(change.changing);
    change.crashLeaders();
    await world.run(HANDED_OVER_MS);
    expect(change.active, world.trace).toEqual(['replica-2.1']);
    await world.run(LED_AGAIN_MS);
    expect(change.led, world.trace).toEqual(world.leaseKeys);
    // The lock stays with its holder, even after the other server has the API again.
    await world.run(120_000);
    change.turnOn(change.changing);
    await world.run(120_000);
    expect(change.active).toEqual(['replica-2.1']);
    expect(change.lockHolders).toHaveLength(3);
    expect(world.violations).toEqual([]);
  });

  test('leaves the lock to the built-in controller of the other one', async () => {
    const change = new RollingChange();
    const { world } = change;
    await change.begin(['replica-1']);
    world.coordinators.startBuiltIn();
    await world.run(5000);
    expect(change.active).toEqual(['replica-1.1']);
    change.turnOff(change.changing);
    await world.run(HANDED_OVER_MS + 5000);
    expect(change.lockHolders.at(-1)).toBe('built-in-1');
    await world.run(120_000);
    expect(change.lockHolders.at(-1)).toBe('built-in-1');
    change.turnOn(change.changing);
    await world.run(60_000);
    expect(change.active).toEqual(['replica-1.1']);
    expect(world.violations).toEqual([]);
  });
});

describe('the API at no API server', () => {
  test('makes the lock be released once, taken by none, and taken at once when the API is back', async () => {
    const change = new RollingChange();
    const { world } = change;
    await change.begin(['replica-1', 'replica-2']);
    change.turnOff(...world.servers);
    await world.run(600_000);
    expect(change.active).toEqual([]);
    expect(change.lockHolders).toEqual([expect.stringContaining('replica-1.1'), '']);
    change.turnOn(...world.servers);
    // Replicas run discovery every 10 s.
    await world.run(11_000);
    expect(change.active).toHaveLength(1);
    expect(world.violations).toEqual([]);
  });
});
