import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPlane } from '../../../control-plane/embedded-plane.ts';
import { startCoordinator, untilActive } from '../../coordinator.ts';
import { Cast } from './cast.ts';
import { between } from './hand-over-table.ts';
import { measureStops, startRanks } from './phases.ts';
import { siteOn } from './site.ts';

// As much as shows that the bench measures something: it has no run of its own in CI.
test('a leader that is told to stop is followed by the next best program, at once', {
  timeout: 90_000,
}, async () => {
  const plane = await startEmbeddedPlane({ keepsData: false });
  onTestFinished(() => plane.stop());
  const coordinator = await startCoordinator(plane.coordinatorKubeconfig);
  onTestFinished(async () => {
    await coordinator.stop();
  });
  await untilActive(coordinator);
  const site = await siteOn(plane, 'coordination.k8s.io/v1beta1');
  onTestFinished(() => site.stop());
  const cast = new Cast(site, 'default', 'participants');
  onTestFinished(() => cast.end());

  const ranks = await startRanks(cast, ['web'], 0);
  expect(cast.holder('web')).toBe('web.40');
  const [handOver] = await measureStops(cast, ranks, () => 0);
  expect(cast.holder('web')).toBe('web.41');
  expect(cast.programsOf('web')).toEqual(['web.41', 'web.42', 'web.50']);
  if (!handOver) throw new Error('nothing was measured');
  expect(handOver.releasedAt).toBeGreaterThanOrEqual(handOver.causedAt);
  expect(between('releasedAt', 'heldAt')(handOver)).toBeLessThan(5_000);
  // The watch beside it may tell of the renewal later than the program that has sent it.
  expect(between('causedAt', 'workedAt')(handOver)).toBeLessThan(5_000);
  expect(between('causedAt', 'workedAt')(handOver)).toBeGreaterThan(0);
});
