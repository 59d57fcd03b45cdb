import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { coordinatorLease, readLease } from '../control-plane/cluster-objects.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { eventually, installRole, startCoordinator, untilActive } from './coordinator.ts';

/** Three times the maximum interval in which the built-in controllers of later versions read the lock. */
const LONG_ENOUGH_MS = 13_000;

test('on Kubernetes 1.31, the built-in coordinator has the lock again after its kube-apiserver was restarted, and not before', async () => {
  const plane = await startControlPlane({ version: '1.31.4', readyWithinMs: 120_000 });
  onTestFinished(() => plane.stop());
  const holder = async () => (await readLease(plane, coordinatorLease))?.spec.holderIdentity;
  await eventually(holder, 'the built-in has the lock', 60_000);
  const coordinator = await startCoordinator(await installRole(plane));
  await untilActive(coordinator);
  await coordinator.stop();
  await sleep(LONG_ENOUGH_MS);
  expect(await holder()).toBe('');
  await plane.restartApiServer();
  await eventually(async () => (await holder()) || undefined, 'the built-in has the lock again', 30_000);
});
