import { describe, type TestContext, test } from 'vitest';
import type { LeaseCandidateVersion } from '../../src/coordination/candidate-sources.ts';
import { readLease } from '../control-plane/cluster-objects.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../control-plane/control-plane.ts';
import type { Electors } from '../control-plane/electors.ts';
import type { KubernetesVersion } from '../control-plane/kubernetes-versions.ts';
import {
  type SimCandidate,
  type SimCandidateSpec,
  type SimCandidates,
  startSimCandidates,
} from '../control-plane/sim-candidate.ts';
import type { LogLine } from '../support/log-line.ts';
import { type Coordinator, eventually, installRole, startCoordinator, untilActive } from './coordinator.ts';

// Five control planes start at once. Alone, each would be ready within seconds.
const readyWithinMs = 120_000;
const testTimeout = 300_000;

/** Short, so that a yielding leader costs only seconds. client-go requires duration > deadline > 1.2 x retry period. */
const quick = { leaseDuration: '5s', renewDeadline: '3s', retryPeriod: '1s' } as const;

const isWatching =
  (version: LeaseCandidateVersion) =>
  ({ msg, apiVersion }: LogLine) =>
    msg === 'Watching LeaseCandidates' && apiVersion === `coordination.k8s.io/${version}`;

async function start(
  options: ControlPlaneOptions,
  { onTestFinished }: TestContext,
): Promise<{ plane: ControlPlane; coordinator: Coordinator }> {
  const plane = await startControlPlane({ readyWithinMs, ...options });
  onTestFinished(() => plane.stop());
  const coordinator = await startCoordinator(await installRole(plane));
  onTestFinished(async () => {
    await coordinator.stop();
  });
  return { plane, coordinator };
}

function readyzSays(coordinator: Coordinator, status: number, line: string): Promise<true> {
  return eventually(async () => {
    const { status: actual, body } = await coordinator.get('/readyz');
    return (actual === status && body.includes(line)) || undefined;
  }, `/readyz says ${status} and ${line}`);
}

/**
 * Starts an elector with this name as its identity, and a LeaseCandidate in a version that NewCandidate does not
 * support.
 */
async function startParticipant(
  electors: Electors,
  candidates: SimCandidates,
  spec: SimCandidateSpec,
): Promise<SimCandidate> {
  await electors.start({ id: spec.name, lease: spec.lease, mode: 'elector-only', ...quick });
  return candidates.start(spec);
}

describe.concurrent('on a server that serves LeaseCandidates (rule 11)', () => {
  test.for<[KubernetesVersion, LeaseCandidateVersion]>([
    ['1.36.3', 'v1beta1'],
    ['1.33.13', 'v1beta1'],
  ])(
    'of Kubernetes %s as %s, real candidates are elected, and an older one succeeds a newer one',
    { timeout: testTimeout },
    async ([version, wantVersion], context) => {
      const { expect } = context;
      const { plane, coordinator } = await start({ version }, context);
      await coordinator.waitForLog(isWatching(wantVersion));
      await readyzSays(coordinator, 200, `[+]leasecandidates-served ok: coordination.k8s.io/${wantVersion}`);
      await untilActive(coordinator);

      const electors = await plane.startElectors();
      await electors.start({ id: 'newer', lease: 'web', emulationVersion: '1.36.0', ...quick });
      await electors.waitFor({ id: 'newer', event: 'startedLeading' });
      await electors.start({ id: 'older', lease: 'web', emulationVersion: '1.35.0', ...quick });
      const mark = electors.events.length;
      await coordinator.waitForLog(({ preferredHolder }) => preferredHolder === 'older');
      // It was preferred only because it answered.
      await electors.waitFor({ id: 'older', event: 'candidateRenewed' }, { since: mark - 2 });
      await electors.waitFor({ id: 'older', event: 'startedLeading' });
      expect(electors.leading()).toEqual(['older']);
      const { holder } = await coordinator.waitForLog(
        (line) => line.msg === 'Changed a Lease' && line.holder === 'older',
      );
      expect(holder).toBe('older');
    },
  );

  test.for<[KubernetesVersion, LeaseCandidateVersion]>([
    ['1.32.13', 'v1alpha2'],
    ['1.31.4', 'v1alpha1'],
  ])(
    'of Kubernetes %s as %s, candidates are elected, and an older one succeeds a newer one',
    { timeout: testTimeout },
    async ([version, wantVersion], context) => {
      const { expect } = context;
      const { plane, coordinator } = await start({ version }, context);
      await coordinator.waitForLog(isWatching(wantVersion));
      await readyzSays(coordinator, 200, `[+]leasecandidates-served ok: coordination.k8s.io/${wantVersion}`);
      await untilActive(coordinator);

      const electors = await plane.startElectors();
      const candidates = await startSimCandidates(plane, `coordination.k8s.io/${wantVersion}`);
      context.onTestFinished(() => candidates.stop());
      const web = { namespace: 'default', lease: 'web' };
      await startParticipant(electors, candidates, { ...web, name: 'newer', emulationVersion: '1.36.0' });
      await electors.waitFor({ id: 'newer', event: 'startedLeading' });
      const older = { ...web, name: 'older', emulationVersion: '1.35.0' };
      const olderCandidate = await startParticipant(electors, candidates, older);
      await coordinator.waitForLog(({ preferredHolder }) => preferredHolder === 'older');
      expect(olderCandidate.acks()).toBeGreaterThan(0);
      await electors.waitFor({ id: 'older', event: 'startedLeading' });
      expect(electors.leading()).toEqual(['older']);
      const lease = await readLease(plane, { namespace: 'default', name: 'web' });
      expect(lease?.spec).toMatchObject({ holderIdentity: 'older', strategy: 'OldestEmulationVersion' });
    },
  );
});
