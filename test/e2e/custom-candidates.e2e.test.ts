import { describe, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { createCandidate, readLease } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubernetesVersion } from '../control-plane/kubernetes-versions.ts';
import { eventually } from './coordinator.ts';
import { startCustomCandidates, startGatelessCluster, startGatelessServe } from './gateless-cluster.ts';

const apiVersion = CUSTOM_API_VERSION;
const testTimeout = 300_000;
const quick = { leaseDuration: '5s', renewDeadline: '3s', retryPeriod: '1s' } as const;

function holderOf(plane: ControlPlane, name: string): Promise<string | undefined> {
  return readLease(plane, { namespace: 'default', name }).then((lease) => lease?.spec.holderIdentity);
}

describe.concurrent('candidates of our own group (rule 13)', () => {
  test.for<{ readonly on: string; readonly version?: KubernetesVersion }>([
    { on: 'Kubernetes 1.36.3', version: '1.36.3' },
    { on: 'Kubernetes 1.31.4', version: '1.31.4' },
    { on: 'the embedded server' },
  ])(
    'are elected, replaced when they crash and when they release, on $on without the feature gate',
    { timeout: testTimeout },
    async ({ version }, context) => {
      const { expect } = context;
      const { plane, coordinator } =
        version === undefined
          ? await startGatelessServe(context)
          : await startGatelessCluster(version, context);
      const { body } = await coordinator.get('/readyz');
      expect(body).toContain(`[+]leasecandidates-served ok: ${apiVersion}`);

      const electors = await plane.startElectors();
      const candidates = await startCustomCandidates(plane, context);
      const web = { namespace: 'default', lease: 'web' };
      const programs = [];
      for (const name of ['first', 'second', 'third']) {
        await electors.start({ id: name, lease: 'web', mode: 'elector-only', ...quick });
        programs.push(await candidates.start({ ...web, name }));
      }
      const [first, second] = programs;
      await electors.waitFor({ id: 'first', event: 'startedLeading' });

      // It crashes: its Lease expires, and the next one has been pinged by then.
      await electors.crash('first');
      first?.silence();
      await electors.waitFor({ id: 'second', event: 'startedLeading' });
      expect(second?.acks()).toBeGreaterThan(0);

      const mark = electors.events.length;
      second?.silence();
      await electors.release('second');
      await electors.waitFor({ id: 'third', event: 'startedLeading' }, { since: mark });
      expect(electors.leading()).toEqual(['third']);
    },
  );

  test('are candidates beside native ones as soon as the feature gate is on', {
    timeout: testTimeout,
  }, async (context) => {
    const { expect } = context;
    const { plane, coordinator } = await startGatelessCluster('1.36.3', context);
    await createCandidate(plane, { apiVersion, lease: 'ours', name: 'ours-1' });
    await eventually(async () => (await holderOf(plane, 'ours')) || undefined, 'ours has a holder');

    await plane.restartApiServer({ coordinatedLeaderElection: true });
    await coordinator.waitForLog((line) => line['apiVersion'] === 'coordination.k8s.io/v1beta1', 60_000);
    await eventually(
      async () =>
        (await coordinator.get('/readyz')).body.includes('coordinator-lock ok: active') || undefined,
      'the coordinator is active',
      60_000,
    );
    await createCandidate(plane, { lease: 'theirs', name: 'theirs-1' });
    await eventually(async () => (await holderOf(plane, 'theirs')) || undefined, 'theirs has a holder');
    await createCandidate(plane, { apiVersion, lease: 'late', name: 'late-1' });
    await eventually(async () => (await holderOf(plane, 'late')) || undefined, 'late has a holder');

    const { body } = await coordinator.get('/readyz');
    expect(body).toContain(`[+]leasecandidates-served ok: coordination.k8s.io/v1beta1, ${apiVersion}`);
  });
});
