import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type EmbeddedPlane, startEmbeddedPlane } from '../../../control-plane/embedded-plane.ts';
import {
  type WatchedLease,
  type WatchedObjects,
  watchLeases,
} from '../../../control-plane/watched-objects.ts';
import { castOf } from '../casts.ts';
import { type SimPrograms, startSimPrograms } from '../sim-programs.ts';
import { type Limit, startLimit } from './limit.ts';

const namespace = 'default';
const LEASE_SECONDS = 1;

describe('the limit', () => {
  let plane: EmbeddedPlane;
  let leases: WatchedObjects<WatchedLease>;
  let limit: Limit;
  let programs: SimPrograms;
  let tests = 0;
  let lease = '';

  beforeAll(async () => {
    plane = await startEmbeddedPlane({ keepsData: false });
    leases = await watchLeases(plane);
    limit = await startLimit({ kubeconfig: plane.kubeconfig, namespace });
  });
  afterAll(async () => {
    await limit.stop();
    leases.stop();
    await plane.stop();
  });
  beforeEach(async () => {
    tests += 1;
    lease = `component-${tests}`;
    programs = await startSimPrograms(plane, namespace);
    await programs.pace({ renewEveryMs: 50, leaseDurationSeconds: LEASE_SECONDS });
  });
  afterEach(() => programs.stop());

  const isHeldBy = (name: string) =>
    leases.waitFor(namespace, lease, ({ spec }) => spec.holderIdentity === name);

  async function leadBest(renewedAgoMs = 0): Promise<void> {
    const [best, ...others] = castOf(lease, 3).map((program) => ({
      ...program,
      isHolder: false,
      renewedAgoMs,
    }));
    if (!best) throw new Error('there is no candidate');
    await programs.start([...others, best]);
    // And has been taken up.
    await leases.waitFor(namespace, lease, ({ spec }) => spec.leaseDurationSeconds === LEASE_SECONDS);
  }

  test('gives a new Lease to the best candidate, whichever it sees first', async () => {
    await leadBest();
    expect(leases.history(namespace, lease)[0]?.object.spec.holderIdentity).toBe(`${lease}.30`);
    expect(await programs.countAcks()).toBe(0);
  });

  test('pings a candidate before that, where none is fresh', async () => {
    await leadBest(10_000);
    await expect.poll(() => programs.countAcks()).toBe(1);
  });

  test('pings the next best candidate after a release, and gives it the Lease', async () => {
    await leadBest();
    await programs.release(`${lease}.30`);
    await isHeldBy(`${lease}.31`);
    await expect.poll(() => programs.countAcks()).toBe(1);
  });

  test('gives the Lease of a dead holder to the next best candidate once it has run out, pinged before', async () => {
    await leadBest();
    const expiresAt = await programs.crash(`${lease}.30`);
    const { wallMs } = await isHeldBy(`${lease}.31`);
    expect(wallMs).toBeGreaterThanOrEqual(Math.floor(expiresAt));
    expect(wallMs).toBeLessThan(expiresAt + 500);
    await expect.poll(() => programs.countAcks()).toBe(1);
  });

  test('leaves a holder alone that renews', async () => {
    await leadBest();
    await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASE_SECONDS * 1000));
    expect(leases.current(namespace, lease)?.spec.holderIdentity).toBe(`${lease}.30`);
  });

  test('lists everything page by page, and tells how long that took', async () => {
    await leadBest();
    await expect(limit.list()).resolves.toBeGreaterThan(0);
  });
});
