import { describe, expect, onTestFinished, test } from 'vitest';
import { CANDIDATES_PER_LEASE, type Shard, ShardedWorld } from './sharded-world.ts';

/**
 * The scale of the test. At scale 1: 1,000,000 candidates in 100 shards, 10 shards at a time on the API servers of
 * one cluster. Shards share nothing else, so the number of clusters does not matter.
 */
const SCALE = Number(process.env['CLE_SIM_SCALE'] ?? 0.01);
const SHARDS = 10;
const CLUSTERS = SCALE === 1 ? 10 : 1;
const CANDIDATES = (1_000_000 * SCALE) / CLUSTERS;
const LEASES_PER_SHARD = CANDIDATES / SHARDS / CANDIDATES_PER_LEASE;
/**
 * Seconds are enough for the small scale, and about a minute for each cluster of the full scale; but machines are
 * busy.
 */
const MAX_MS = SCALE === 1 ? 900_000 : 120_000;
const RENEW_EVERY_MS = 10_000;
/** Requests per second and Lease: a tenth of a request for its renewals, and an election takes six. */
const REQUESTS_PER_SECOND = 0.5;
/** One of ten leaders crashes within this time. */
const DYING = 10;
const DEATHS_MS = 10_000;
/**
 * Maximum wait of the lock's next holder: until the lock has expired, at most the same time once more, and its own
 * check.
 */
const LOCK_CHANGES_HANDS_MS = 40_000;

/** A coordinator's memory depends on its own Leases and candidates, not on those of other shards. */
function expectOnlyOwnKept(shard: Shard): void {
  const { entries, closed, memories } = shard.kept;
  expect(Math.max(entries, memories)).toBeLessThanOrEqual(LEASES_PER_SHARD);
  expect(closed).toBeLessThanOrEqual(LEASES_PER_SHARD * (1 + CANDIDATES_PER_LEASE));
}

describe(`${SHARDS} shards of a cluster with ${CANDIDATES} candidates, each with its own namespaces and lock`, () => {
  test.each(Array.from({ length: CLUSTERS }, (_, index) => index))(
    'elect beside each other, and one that loses its coordinator concerns no other (%i)',
    { timeout: MAX_MS },
    async () => {
      const world = new ShardedWorld({
        shards: SHARDS,
        leasesPerShard: LEASES_PER_SHARD,
        requestsPerSecond: REQUESTS_PER_SECOND * LEASES_PER_SHARD * SHARDS,
        renewEveryMs: RENEW_EVERY_MS,
      });
      onTestFinished(() => world.close());
      await world.runUntilLed(120_000);
      expect(world.violations).toEqual([]);
      expect(world.leaderless).toBe(0);
      const coordinators = world.shards.map(({ coordinator }) => coordinator);
      for (const shard of world.shards) expectOnlyOwnKept(shard);

      const [struck, ...others] = world.shards;
      if (!struck) throw new Error('there is no shard');
      const since = world.clock.now();
      struck.crashCoordinator();
      for (const shard of world.shards) shard.crashLeaders(DYING, DEATHS_MS);
      await world.run(DEATHS_MS);
      await world.runUntilLed(120_000);
      expect(world.violations).toEqual([]);
      expect(world.leaderless).toBe(0);
      expect(struck.coordinator).not.toBe(coordinators[0]);
      expect(others.map(({ coordinator }) => coordinator)).toEqual(coordinators.slice(1));
      expect(Math.max(...struck.vacanciesSince(since))).toBeLessThan(LOCK_CHANGES_HANDS_MS);
      for (const shard of others) expect(Math.max(...shard.vacanciesSince(since))).toBeLessThan(5000);
      for (const shard of world.shards) expectOnlyOwnKept(shard);
    },
  );
});
