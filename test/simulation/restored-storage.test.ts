import { describe, expect, test } from 'vitest';
import { SimWorld } from './sim-world.ts';

const LEASES = ['scheduler', 'controller-manager', 'webhook'];

describe('an etcd that is restored from a backup', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'leaves no Lease without a leader, though the coordinators are not restarted (seed %i)',
    async (seed) => {
      const world = new SimWorld(seed, LEASES);
      for (const name of LEASES) for (let count = 0; count < 3; count++) world.startCandidate(name);
      for (let count = 0; count < 2; count++) world.startReplica(true);
      await world.run(60_000);
      const restore = world.api.store.backUp();
      const crashOne = () => world.pick(world.candidates.filter(({ isRunning }) => isRunning))?.crash();
      for (let step = 0; step < 10; step++) {
        crashOne();
        await world.run(5000);
      }
      restore();
      for (const { client, lockClient } of world.replicas) {
        client.reset();
        lockClient.reset();
      }
      // What takes part in elections is started anew, as after any restore: client-go's watches hear nothing either.
      for (const candidate of world.candidates) if (candidate.isRunning) candidate.crash();
      await world.run(90_000);
      const led = new Set<string>();
      for (let second = 0; second < 30; second++) {
        await world.run(1000);
        for (const key of world.leaseKeys) if (world.leadersOf(key).length > 0) led.add(key);
      }
      expect([...led].sort(), world.trace).toEqual([...world.leaseKeys].sort());
    },
  );
});
