import { afterAll, beforeAll, expect, test } from 'vitest';
import { readLease } from '../control-plane/cluster-objects.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { NEWEST } from '../support/election-builders.ts';
import { startCoordinationSite } from './coordination-site.ts';
import { type Coordinator, startCoordinator, untilActive } from './coordinator.ts';

let plane: CoordinationPlane;
let coordinator: Coordinator;

beforeAll(async () => {
  const site = await startCoordinationSite();
  plane = site.plane;
  coordinator = await startCoordinator(site.coordinatorKubeconfig);
  await untilActive(coordinator, 90_000);
}, 120_000);

afterAll(async () => {
  await coordinator?.stop();
  await plane?.stop();
});

test('client-go’s electors that ask for NewestVersion: the newest gets a free Lease, and no leader yields because of a version', async () => {
  const electors = await plane.startElectors();
  const start = async (id: string, version: string) => {
    const timing = { leaseDuration: '5s', renewDeadline: '3s', retryPeriod: '1s' };
    const versions = { binaryVersion: version, emulationVersion: version };
    await electors.start({ id, lease: 'web', strategy: NEWEST, ...versions, ...timing });
    await electors.waitFor({ id, event: 'candidateCreated' });
  };
  await start('first', '1.35.0');
  await electors.waitFor({ id: 'first', event: 'startedLeading' });
  await start('older', '1.34.0');
  await start('newest', '1.37.0');
  await start('newer', '1.36.0');
  const lease = async () => (await readLease(plane, { namespace: 'default', name: 'web' }))?.spec;
  expect(await lease()).toMatchObject({ holderIdentity: 'first', strategy: NEWEST });
  expect((await lease())?.preferredHolder).toBeUndefined();

  await electors.release('first');
  await electors.waitFor({ id: 'newest', event: 'startedLeading' });
  expect(electors.leading()).toEqual(['newest']);
});
