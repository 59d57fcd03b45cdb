import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { LeaseCandidateVersion } from '../../../src/coordination/candidate-sources.ts';
import { candidatePath, createCandidate, leasePath, readLease } from '../../control-plane/cluster-objects.ts';
import type { LogLine } from '../../support/log-line.ts';
import { PATIENCE_MS } from '../changes.ts';
import { contestedLease, heldBy } from '../contested-lease.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded-cluster.ts';
import { startCoordinator } from '../embedded-coordinator.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';
import { PatientClock } from '../patient-clock.ts';

const X = 'OldestEmulationVersion';
const Y = 'example.com/y';
const Z = 'example.com/z';
const versions = { binaryVersion: '1.31.0', emulationVersion: '1.31.0' };
const older = { binaryVersion: '1.31.0', emulationVersion: '1.30.0' };
const settings = { electionDurationMs: 2000, leaseDurationSeconds: 3 };

const isWatching = ({ msg }: LogLine) => msg === 'Watching LeaseCandidates';

describe.concurrent('a server with LeaseCandidates as v1alpha1 only (rule 11)', () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ leaseCandidateVersions: ['v1alpha1'], settings });
  });
  afterAll(() => site?.stop());

  test('is watched in that version', () => {
    expect(site.coordinator.log.filter(isWatching)).toMatchObject([
      { apiVersion: 'coordination.k8s.io/v1alpha1' },
    ]);
  });

  test.each([
    { name: 'x-first', lists: [[X], [Y, X]] },
    { name: 'in-a-chain', lists: [[X], [Z, X], [Y, Z]] },
  ])(
    'leaves a Lease to the third party whose strategy is first in all lists: $name',
    async ({ name, lists }) => {
      const lease = await contestedLease(site, name);
      await lease.startTogether(
        ...lists.map((preferredStrategies, index) => ({
          name: `c${index}`,
          ...versions,
          preferredStrategies,
        })),
      );
      const made = await lease.until(() => true);
      expect(made.object.spec).toEqual({ holderIdentity: '', strategy: Y });
    },
  );

  test.each([
    { name: 'both-orders', first: [Y], second: [X, Y] },
    { name: 'shared-first', first: [X, Y, Z], second: [X, Z, Y] },
  ])('elects by OldestEmulationVersion if that is first: $name', async ({ name, first, second }) => {
    const lease = await contestedLease(site, name);
    await lease.startTogether(
      { name: 'newer', ...versions, preferredStrategies: first },
      { name: 'older', ...older, preferredStrategies: second },
    );
    const made = await lease.until(() => true);
    expect(made.object.spec).toMatchObject({ holderIdentity: 'older', strategy: X, leaseDurationSeconds: 3 });
  });

  test('has a conflict while lists contradict each other, until one of them is deleted', async () => {
    const lease = await contestedLease(site, 'cycle');
    const [, b] = await lease.startTogether(
      { name: 'a', ...versions, preferredStrategies: [X, Y] },
      { name: 'b', ...older, preferredStrategies: [Y, X] },
    );
    await site.coordinator.untilTrouble(lease.namespace, lease.name, 'StrategyConflict');
    expect(lease.history()).toEqual([]);
    await b?.remove();
    const made = await lease.until(() => true);
    expect(made.object.spec).toMatchObject({ holderIdentity: 'a', strategy: X });
  });

  test('lets candidates without versions take part, but never lead by OldestEmulationVersion', async () => {
    const lease = await contestedLease(site, 'versionless');
    const [, b] = await lease.startTogether(
      { name: 'a', binaryVersion: '', preferredStrategies: [Y] },
      { name: 'b', ...versions, preferredStrategies: [X, Y] },
    );
    const made = await lease.until(() => true);
    expect(made.object.spec).toMatchObject({ holderIdentity: 'b', strategy: X });
    await b?.remove();
    await lease.until(({ strategy }) => strategy === Y);
    expect(lease.holders()).not.toContain('a');
  });
});

describe.concurrent('a server with LeaseCandidates as v1alpha2 only (rule 11)', () => {
  let site: EmbeddedSite;
  beforeAll(async () => {
    site = await startEmbeddedSite({ leaseCandidateVersions: ['v1alpha2'], settings });
  });
  afterAll(() => site?.stop());

  test('has elections among them', async () => {
    expect(site.coordinator.log.filter(isWatching)).toMatchObject([
      { apiVersion: 'coordination.k8s.io/v1alpha2' },
    ]);
    const lease = await contestedLease(site, 'web');
    await lease.create(heldBy('newer'));
    await lease.startCandidate({ name: 'newer', emulationVersion: '1.36.0' });
    const better = await lease.startCandidate({ name: 'older', emulationVersion: '1.35.0' });
    await lease.untilPreferred('older');
    expect(better.pings()).toBeGreaterThan(0);
    await lease.patch({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: heldBy('').renewTime });
    const taken = await lease.untilHeldBy('older');
    expect(taken.object.spec).toMatchObject({ strategy: X, leaseTransitions: 5 });
    expect(taken.object.spec).not.toHaveProperty('preferredHolder');
  });
});

describe.concurrent('a server whose configuration changes (rule 11)', () => {
  const isNotServed = ({ level, msg }: LogLine) =>
    level === 'error' && msg.startsWith('The API server does not serve LeaseCandidates');
  /** The coordinator runs discovery again after 10 s. */
  const LOOKS_AGAIN_AFTER_MS = 10_000;

  /** A new candidate is elected. */
  async function elects(cluster: EmbeddedCluster, version: LeaseCandidateVersion, name: string) {
    await createCandidate(cluster, { apiVersion: `coordination.k8s.io/${version}`, lease: name, name });
    const lease = await vi.waitFor(
      async () => {
        const read = await readLease(cluster, { namespace: 'default', name });
        if (!read?.spec.holderIdentity) throw new Error(`${name} has no holder`);
        return read;
      },
      { timeout: PATIENCE_MS },
    );
    expect(lease.spec.holderIdentity).toBe(name);
  }

  test('serves no LeaseCandidates, then one version, then another one, then none', async () => {
    const clock = new PatientClock();
    const cluster = await startEmbeddedCluster({ leaseCandidateVersions: [], keepsData: true });
    const coordinator = startCoordinator(cluster, {
      clock,
      settings: { ...settings, electionDurationMs: 5000, leaseDurationSeconds: 600 },
    });
    const restart = async (...served: LeaseCandidateVersion[]) => {
      const since = coordinator.log.length;
      await cluster.close();
      await cluster.open(served);
      clock.skip(LOOKS_AGAIN_AFTER_MS);
      return since;
    };
    try {
      const { msg: advice } = await coordinator.waitForLog(isNotServed);
      expect(advice).toContain('--feature-gates=CoordinatedLeaderElection=true');

      const gateOn = await restart('v1alpha2');
      const watched = await coordinator.waitForLog(isWatching, gateOn);
      expect(watched['apiVersion']).toBe('coordination.k8s.io/v1alpha2');
      await elects(cluster, 'v1alpha2', 'before-the-upgrade');

      // Stored objects stay, in a version that replaces the other.
      const upgraded = await restart('v1beta1', 'v1alpha1');
      const watchedThen = await coordinator.waitForLog(isWatching, upgraded);
      expect(watchedThen['apiVersion']).toBe('coordination.k8s.io/v1beta1');
      const kept = candidatePath({ apiVersion: 'coordination.k8s.io/v1beta1', name: 'before-the-upgrade' });
      expect(await cluster.request('GET', kept)).toMatchObject({
        apiVersion: 'coordination.k8s.io/v1beta1',
        spec: { leaseName: 'before-the-upgrade', strategy: X },
      });
      await elects(cluster, 'v1beta1', 'after-the-upgrade');

      const gateOff = await restart();
      await coordinator.waitForLog(isNotServed, gateOff);
      expect(
        await cluster.request('GET', leasePath({ namespace: 'default', name: 'after-the-upgrade' })),
      ).toMatchObject({ spec: { holderIdentity: 'after-the-upgrade' } });
      // It logs one error each time, not in a loop.
      expect(coordinator.log.filter(isNotServed)).toHaveLength(2);
    } finally {
      await coordinator.stop();
      await cluster.stop();
    }
  });
});
