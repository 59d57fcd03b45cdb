import { describe, expect, type TestContext, test } from 'vitest';
import { FENCE } from '../../src/election/model.ts';
import { leasePath } from '../control-plane/cluster-objects.ts';
import type { ElectorSpec, Electors } from '../control-plane/electors.ts';
import type { KubernetesVersion } from '../control-plane/kubernetes-versions.ts';
import { findOverlaps } from '../control-plane/leaderships.ts';
import { type WatchedLease, type WatchedObjects, watchLeases } from '../control-plane/watched-objects.ts';
import { startCoordinator, untilActive } from './coordinator.ts';
import { type GatelessCluster, startCustomCandidates, startGatelessCluster } from './gateless-cluster.ts';

const namespace = 'default';
const preferredHolderNote = 'coordinated-leader-election.dev/preferred-holder';
const strategyNote = 'coordinated-leader-election.dev/strategy';
const timeout = 400_000;

type ElectorTimes = Pick<ElectorSpec, 'leaseDuration' | 'renewDeadline'>;

interface Site extends GatelessCluster {
  readonly electors: Electors;
  readonly leases: WatchedObjects<WatchedLease>;
  /** Starts `<lease>.<name>`, a candidate of our own group, with client-go's coordinated elector beside it. */
  start(name: string, emulationVersion?: string, times?: ElectorTimes): Promise<void>;
  untilLeads(name: string): Promise<void>;
  untilFenced(lease: string): Promise<void>;
}

async function startSite(version: KubernetesVersion, context: TestContext): Promise<Site> {
  const cluster = await startGatelessCluster(version, context);
  const { plane } = cluster;
  const leases = await watchLeases(plane);
  context.onTestFinished(() => leases.stop());
  const electors = await plane.startElectors();
  const candidates = await startCustomCandidates(plane, context);
  return {
    ...cluster,
    electors,
    leases,
    async start(name, emulationVersion = '1.36.0', times = {}) {
      const lease = leaseOf(name);
      await candidates.start({ namespace, lease, name, binaryVersion: '1.36.0', emulationVersion });
      await electors.start({ id: name, name, lease, mode: 'elector-only', ...times });
    },
    untilLeads: async (name) => {
      await electors.waitFor({ id: name, event: 'startedLeading' }, { timeoutMs: 90_000 });
    },
    untilFenced: async (lease) => {
      await leases.waitFor(namespace, lease, ({ spec }) => spec.holderIdentity === FENCE);
    },
  };
}

const leaseOf = (id: string) => id.split('.')[0] ?? '';
const holdersOf = ({ leases }: Site, lease: string): readonly string[] => {
  const holders = leases.history(namespace, lease).map(({ object }) => object.spec.holderIdentity ?? '');
  return holders.filter((holder, index) => holder !== holders[index - 1]);
};
const notesOn = (lease: WatchedLease | undefined) =>
  (lease?.metadata['annotations'] ?? {}) as Readonly<Record<string, string>>;
const current = ({ leases }: Site, lease: string): WatchedLease | undefined =>
  leases.current(namespace, lease);

describe.concurrent('a server that drops strategy and preferredHolder (rule 14)', () => {
  test.for<KubernetesVersion>(['1.36.3', '1.33.13', '1.32.13', '1.31.4'])(
    'has a leader that knows no notes fenced for a better candidate, on Kubernetes %s',
    { timeout },
    async (version, context) => {
      const site = await startSite(version, context);
      const { electors, leases, plane } = site;
      await Promise.all(['web', 'deleted'].map((lease) => site.start(`${lease}.newer`)));
      for (const lease of ['web', 'deleted']) await site.untilLeads(`${lease}.newer`);
      await leases.waitFor(namespace, 'web', (lease) => strategyNote in notesOn(lease));
      expect(notesOn(current(site, 'web'))).toEqual({
        [strategyNote]: 'OldestEmulationVersion',
      });

      await Promise.all(['web', 'deleted'].map((lease) => site.start(`${lease}.older`, '1.35.0')));
      const told = await leases.waitFor(
        namespace,
        'web',
        (lease) => notesOn(lease)[preferredHolderNote] === 'web.older',
      );
      await site.untilFenced('web');
      const fenced = leases
        .history(namespace, 'web')
        .find(({ object }) => object.spec.holderIdentity === FENCE);
      // From the last renewal before the note to the fence: the watch may be late with either.
      const [toldAt, fencedAt] = [told.object, fenced?.object].map((lease) =>
        Date.parse(lease?.spec.renewTime ?? ''),
      );
      expect(Number(fencedAt) - Number(toldAt)).toBeGreaterThan(10_000);
      expect(fenced?.object.spec).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 1 });

      // Its Lease is deleted during a fence.
      await site.untilFenced('deleted');
      await plane.request('DELETE', leasePath({ namespace, name: 'deleted' }));
      await site.untilLeads('deleted.older');
      await site.untilLeads('web.older');

      expect(holdersOf(site, 'web')).toEqual(['web.newer', FENCE, 'web.older']);
      expect(current(site, 'web')?.spec).toMatchObject({ leaseTransitions: 2 });
      expect(notesOn(current(site, 'web'))).toEqual({
        [strategyNote]: 'OldestEmulationVersion',
      });
      expect(findOverlaps(electors.events, leaseOf)).toEqual([]);
      expect(site.coordinator.log.filter(({ reason }) => reason === 'WritesIgnored')).toEqual([]);
    },
  );

  test('keeps a fence longer than the coordinator that wrote it', { timeout }, async (context) => {
    const site = await startSite('1.36.3', context);
    const { coordinator, electors, kubeconfig } = site;
    await site.start('web.newer');
    await site.untilLeads('web.newer');
    await site.start('web.older', '1.35.0');
    await site.untilFenced('web');
    await coordinator.kill();
    const next = await startCoordinator(kubeconfig);
    context.onTestFinished(async () => {
      await next.stop();
    });
    await site.untilLeads('web.older');
    expect(holdersOf(site, 'web')).toEqual(['web.newer', FENCE, 'web.older']);
    expect(findOverlaps(electors.events, leaseOf)).toEqual([]);
  });

  test('uses the field again after its feature gate is on', { timeout }, async (context) => {
    const site = await startSite('1.36.3', context);
    const { coordinator, electors, leases, plane } = site;
    // It must not give up while the API server restarts. It makes way only after its renewDeadline, too.
    await site.start('web.newer', '1.36.0', { leaseDuration: '60s', renewDeadline: '40s' });
    await site.untilLeads('web.newer');
    await leases.waitFor(namespace, 'web', (lease) => strategyNote in notesOn(lease));

    await plane.restartApiServer({ coordinatedLeaderElection: true });
    await untilActive(coordinator, 90_000);
    const [leasesNow, candidates] = await Promise.all([
      watchLeases(plane),
      startCustomCandidates(plane, context),
    ]);
    context.onTestFinished(() => leasesNow.stop());
    const versions = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' };
    await candidates.start({ namespace, lease: 'web', name: 'web.older', ...versions });
    await electors.start({ id: 'web.older', name: 'web.older', lease: 'web', mode: 'elector-only' });
    await leasesNow.waitFor(namespace, 'web', ({ spec }) => spec.preferredHolder === 'web.older', {
      timeoutMs: 120_000,
    });
    await site.untilLeads('web.older');
    const { spec, metadata } = leasesNow.current(namespace, 'web') ?? {};
    expect(spec?.strategy).toBe('OldestEmulationVersion');
    expect(metadata?.['annotations'] ?? {}).toEqual({});
    expect(findOverlaps(electors.events, leaseOf)).toEqual([]);
  });
});
