import { describe, expect, test } from 'vitest';
import { Chance } from './chance.ts';
import { USUAL_TIMING } from './sim-candidate.ts';
import { candidateSlot, emptyPlan } from './sim-plan.ts';
import { SimWorld } from './sim-world.ts';

const LEASES = ['scheduler', 'controller-manager', 'webhook'].map((name) => ({
  namespace: 'default',
  name,
  timing: USUAL_TIMING,
}));
const REPLICAS = ['replica-1', 'replica-2'];

describe('an etcd that is restored from a backup', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'leaves no Lease without a leader, though the coordinators are not restarted (seed %i)',
    async (seed) => {
      const chance = new Chance(seed, 'restore');
      const world = new SimWorld({ ...emptyPlan(seed), leases: LEASES }, { isTracing: true });
      for (const lease of LEASES)
        for (let index = 0; index < 3; index++) world.addSlot(candidateSlot(lease, index, chance, {}));
      for (const name of REPLICAS) world.addReplica({ name, wallMs: 0, rate: 1 });
      await world.run(60_000);
      world.restoreLater(50_000);
      for (let step = 0; step < 10; step++) {
        chance.pick(world.slots)?.crash(1000 + chance.upTo(5000));
        await world.run(5000);
      }
      await world.run(90_000);
      const led = new Set<string>();
      for (let second = 0; second < 30; second++) {
        await world.run(1000);
        for (const key of world.leaseKeys) if (world.leadersOf(key).length > 0) led.add(key);
      }
      expect([...led].sort(), world.trace).toEqual([...world.leaseKeys].sort());
    },
  );

  test('is noticed although there was no write of the lock since the backup', async () => {
    const world = new SimWorld({ ...emptyPlan(1), leases: LEASES }, { isTracing: true });
    const chance = new Chance(1, 'restore');
    for (const lease of LEASES) world.addSlot(candidateSlot(lease, 0, chance, {}));
    for (const name of REPLICAS) world.addReplica({ name, wallMs: 0, rate: 1 });
    await world.run(60_000);
    const active = world.replicas.find((replica) => replica.isActive());
    world.coordinators.crash(active?.name.replace(/\.\d+$/, '') ?? '', 3000);
    world.restoreLater(10_000);
    // The restore loses so many revisions that a resumed watch would show nothing for a long time.
    for (let write = 0; write < 1000; write++) {
      const lease = world.store.get('leases', 'default/webhook');
      const metadata = { name: 'webhook', ...lease?.metadata, annotations: { write: `${write}` } };
      if (lease) world.writeAs('somebody', 'leases', lease, { ...lease, metadata });
    }
    await world.run(45_000);
    expect(world.tally.counts.get('fault storageRestored') ?? world.trace).toBe(1);
    for (const key of world.leaseKeys) expect(world.leadersOf(key), key).toHaveLength(1);
  });
});
