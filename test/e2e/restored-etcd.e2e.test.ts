import { expect, onTestFinished, test } from 'vitest';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from './coordinator.ts';

/** Far more writes than follow the restore before the coordinator must notice it. */
const LOST_WRITES = 500;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

test('a running coordinator elects at once after etcd was restored from a backup (rule 8)', {
  timeout: 300_000,
}, async () => {
  const plane = await startControlPlane();
  onTestFinished(() => plane.stop());
  const coordinator = await startCoordinator(await installRole(plane));
  onTestFinished(async () => {
    await coordinator.stop();
  });
  await untilActive(coordinator);
  const electors = await plane.startElectors();
  await electors.start({ id: 'before', lease: 'before' });
  await electors.waitFor({ id: 'before', event: 'startedLeading' });

  const restore = await plane.backUp();
  for (let write = 0; write < LOST_WRITES; write++)
    await plane.request('POST', CONFIG_MAPS, { metadata: { name: `lost-${write}` } });
  // Leases and candidates that are written after the backup advance the coordinator's watches equally.
  await electors.start({ id: 'lost', lease: 'lost' });
  await electors.waitFor({ id: 'lost', event: 'startedLeading' });
  const listsBefore = await listsOf(coordinator);
  await restore();

  await electors.start({ id: 'after', lease: 'after' });
  await electors.waitFor({ id: 'after', event: 'startedLeading' });
  // A watch that continued where it ended would miss all changes until the server has made up for the lost writes.
  const listsAfter = await listsOf(coordinator);
  expect(listsAfter.leases).toBeGreaterThan(listsBefore.leases);
  expect(listsAfter.leasecandidates).toBeGreaterThan(listsBefore.leasecandidates);
});

/** How often the coordinator has listed each resource. */
async function listsOf(coordinator: Coordinator) {
  const { body } = await coordinator.get('/metrics');
  const count = (resource: string) =>
    Number(new RegExp(`^cle_reflector_lists_total\\{resource="${resource}"\\} (\\d+)$`, 'm').exec(body)?.[1]);
  return { leases: count('leases'), leasecandidates: count('leasecandidates') };
}
