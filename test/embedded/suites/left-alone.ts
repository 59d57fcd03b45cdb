import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leasePath, microTime } from '../../control-plane/cluster-objects.ts';
import type { WatchedLease } from '../../control-plane/watched-objects.ts';
import { contestedLease, heldBy, untilNeighboursAreServed } from '../contested-lease.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded-site.ts';

const OLDEST = 'OldestEmulationVersion';
const CUSTOM = 'example.com/custom';
const oldest = { strategy: OLDEST };
const custom = { strategy: CUSTOM };

let site: EmbeddedSite;

beforeAll(async () => {
  site = await startEmbeddedSite({ settings: { electionDurationMs: 750, leaseDurationSeconds: 1 } });
});
afterAll(async () => {
  await site?.stop();
  expect(site.coordinator.log.filter(({ level }) => level === 'error')).toEqual([]);
});

const specOf = ({ spec }: { readonly spec: WatchedLease['spec'] }) => spec;

describe.concurrent('under a third-party strategy', () => {
  test('a Lease is created with the strategy and no holder, and then left to the third party', async () => {
    const lease = await contestedLease(site, 'third-party');
    await lease.startCandidate({ name: 'a', ...custom });
    const made = await lease.until(() => true);
    expect(made.type).toBe('ADDED');
    expect(made.object.spec).toEqual({ holderIdentity: '', strategy: CUSTOM });
    // The built-in coordinator lets its holder's Lease expire, prefers another, and empties the Lease: all of that is
    // its own business.
    const chosen = await lease.patch({ ...heldBy('a'), strategy: CUSTOM, leaseDurationSeconds: 1 });
    await lease.startCandidate({ name: 'b', ...custom, emulationVersion: '1.30.0' });
    const preferring = await lease.patch({ preferredHolder: 'b' });
    await untilNeighboursAreServed(site, lease);
    const emptied = await lease.patch({ holderIdentity: '', preferredHolder: null });
    await untilNeighboursAreServed(site, lease);
    expect(lease.history().map(({ object }) => object.spec)).toEqual(
      [made.object, chosen, preferring, emptied].map(specOf),
    );
    expect(site.coordinator.troubles(lease.namespace, lease.name, 'ThirdPartyStrategy')).not.toEqual([]);
  });

  test('an existing Lease gets the strategy, and no other change', async () => {
    const lease = await contestedLease(site, 'third-party-renamed');
    const { spec } = await lease.create({ ...heldBy('somebody'), leaseDurationSeconds: 1 });
    await lease.startCandidate({ name: 'a', ...custom });
    const renamed = await lease.until(({ strategy }) => strategy === CUSTOM);
    expect(renamed.object.spec).toEqual({ ...spec, strategy: CUSTOM });
    await untilNeighboursAreServed(site, lease);
    expect(lease.history()).toHaveLength(2);
  });

  test('a Lease without holderIdentity gets an empty one', async () => {
    const lease = await contestedLease(site, 'third-party-unsaid');
    await lease.create({});
    await lease.startCandidate({ name: 'a', ...custom });
    const mended = await lease.until(({ strategy }) => strategy === CUSTOM);
    expect(mended.object.spec).toEqual({ holderIdentity: '', strategy: CUSTOM });
  });
});

describe.concurrent('when strategies conflict', () => {
  /** Both are pinged before either answers: a candidate that answers alone would be elected. */
  async function startDispute(namespace: string) {
    const lease = await contestedLease(site, namespace);
    const { spec } = await lease.create({ holderIdentity: '', leaseTransitions: 7 });
    const [a, b] = await lease.startTogether({ name: 'a', ...oldest }, { name: 'b', ...custom });
    if (!a || !b) throw new Error('there are two parties');
    await site.coordinator.untilTrouble(namespace, lease.name, 'StrategyConflict');
    expect(lease.history().map(({ object }) => object.spec)).toEqual([spec]);
    const reports = () => site.coordinator.troubles(namespace, lease.name, 'StrategyConflict');
    return { lease, a, b, reports };
  }

  test('a Lease is left alone, and its parties are pinged again, until one of them is deleted', async () => {
    const { lease, a, b, reports } = await startDispute('conflict');
    await Promise.all([a.pinged(a.pings() + 1), b.pinged(b.pings() + 1)]);
    expect(reports()).toHaveLength(1);
    expect(lease.history()).toHaveLength(1);
    await b.remove();
    const elected = await lease.untilHeldBy('a');
    expect(elected.object.spec).toMatchObject({ strategy: OLDEST, leaseTransitions: 8 });
    expect(reports()).toHaveLength(1);
  });

  test('a party that has died silently is not a party any more', async () => {
    const { lease, b, reports } = await startDispute('conflict-silent');
    const pings = b.pings();
    b.silence();
    await lease.untilHeldBy('a');
    expect(b.pings()).toBeGreaterThan(pings);
    expect(reports()).toHaveLength(1);
  });

  test.each([
    { name: 'ours', ...oldest, wantHolder: 'newer' },
    { name: 'a third party’s', ...custom, wantHolder: '' },
  ])('the strategy of a newer binaryVersion resolves it: $name', async ({ strategy, wantHolder }) => {
    const { lease } = await startDispute(`conflict-settled-${wantHolder || 'custom'}`);
    const versions = { binaryVersion: '1.37.0', emulationVersion: '1.30.0' };
    await lease.startCandidate({ name: 'newer', strategy, ...versions });
    const settled = await lease.until((spec) => spec.strategy === strategy);
    expect(settled.object.spec.holderIdentity).toBe(wantHolder);
  });

  test('a Lease with a valid holder loses its preferredHolder, and has no other change', async () => {
    const lease = await contestedLease(site, 'conflict-held');
    const { spec } = await lease.create(heldBy('somebody'));
    await lease.startCandidate({ name: 'a', ...oldest });
    const preferred = await lease.untilPreferred('a');
    const b = await lease.startCandidate({ name: 'b', ...custom });
    const left = await lease.untilPreferred(undefined, preferred);
    expect(left.object.spec).toEqual(spec);
    await site.coordinator.untilTrouble(lease.namespace, lease.name, 'StrategyConflict');
    await untilNeighboursAreServed(site, lease);
    expect(lease.history().at(-1)).toBe(left);
    await b.remove();
    await lease.untilPreferred('a', left);
  });
});

describe.concurrent('without candidates', () => {
  test('Leases are left alone, whatever they contain', async () => {
    const lease = await contestedLease(site, 'foreign');
    const { namespace } = lease;
    const specs: Readonly<Record<string, WatchedLease['spec']>> = {
      bare: {},
      released: { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
      expired: { ...heldBy('somebody'), leaseDurationSeconds: 1 },
      preferring: { ...heldBy('somebody'), leaseDurationSeconds: 1, preferredHolder: 'another' },
      'third-partys': { holderIdentity: '', strategy: CUSTOM },
    };
    const names = Object.keys(specs);
    await Promise.all(
      names.map((name) =>
        site.cluster.request('POST', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
          metadata: { name },
          spec: specs[name],
        }),
      ),
    );
    const read = () =>
      Promise.all(names.map((name) => site.cluster.request('GET', leasePath({ namespace, name }))));
    const before = await read();
    await untilNeighboursAreServed(site, lease);
    expect(await read()).toEqual(before);
  });

  test('a Lease stays with its holder, even after its expiry', async () => {
    const lease = await contestedLease(site, 'abandoned');
    const { spec } = await lease.create({ ...heldBy('only'), leaseDurationSeconds: 600 });
    const only = await lease.startCandidate({ name: 'only' });
    await only.remove();
    const last = await lease.patch({ renewTime: microTime(), leaseDurationSeconds: 1 });
    await untilNeighboursAreServed(site, lease);
    expect(lease.history().map(({ object }) => object.spec)).toEqual([spec, last.spec]);
  });

  test('no candidate is elected when all of them are deleted while their answers are awaited', async () => {
    const lease = await contestedLease(site, 'all-deleted');
    const silent = { renewedAgoMs: 60_000, answers: false };
    const all = await Promise.all([
      lease.startCandidate({ name: 'a', ...silent }),
      lease.startCandidate({ name: 'b', ...silent }),
    ]);
    await Promise.all(all.map((candidate) => candidate.pinged(1)));
    await Promise.all(all.map((candidate) => candidate.remove()));
    await untilNeighboursAreServed(site, lease);
    expect(lease.history()).toEqual([]);
  });
});

describe.concurrent('every write of a Lease', () => {
  test('keeps its other fields', async () => {
    const kept = {
      labels: { team: 'web', 'example.com/tier': 'a' },
      annotations: { 'example.com/note': 'by hand', 'example.com/json': '{"a":[1]}' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'b4f1d9a2-0000-4000-8000-000000000000' },
      ],
      finalizers: ['example.com/hold'],
    };
    const lease = await contestedLease(site, 'kept');
    await lease.create(heldBy('somebody', 15), kept);
    const better = await lease.startCandidate({ name: 'better' });
    const preferred = await lease.untilPreferred('better');
    await better.remove();
    const off = await lease.untilPreferred(undefined, preferred);
    await lease.startCandidate({ name: 'next' });
    const granted = await lease.untilHeldBy('next');
    for (const { object } of [preferred, off, granted]) expect(object.metadata).toMatchObject(kept);
    expect(granted.object.spec.leaseTransitions).toBe(5);
    // The client that created and changed it, and the coordinator: no other manager owns a field.
    const owners = granted.object.metadata['managedFields'] as { manager: string; operation: string }[];
    expect(new Set(owners.map(({ operation }) => operation))).toEqual(new Set(['Update']));
    expect(owners).toHaveLength(2);
    const uids = new Set([preferred, off, granted].map(({ object }) => object.metadata.uid));
    expect(uids.size).toBe(1);
  });

  test('leaves the coordinator’s own lock alone, even if candidates name it', async () => {
    const [namespace, lease] = ['kube-system', 'leader-election-controller'];
    const usurper = await site.candidates.start({
      namespace,
      lease,
      name: 'usurper',
      emulationVersion: '1.0.0',
      renewedAgoMs: 60_000,
    });
    await site.candidates.start({ namespace, lease, name: 'third-party', ...custom });
    await site.coordinator.waitForLog(
      (line) => line.lease === `${namespace}/${lease}` && line.reason === 'CoordinatorLease',
    );
    const history = () => site.leases.history(namespace, lease);
    const renewals = history().length + 1;
    await site.leases.waitFor(namespace, lease, () => history().length >= renewals);
    for (const { object } of history()) {
      expect(object.spec.holderIdentity).toMatch(/^coordinated-leader-election_/);
      expect(object.spec).not.toHaveProperty('strategy');
      expect(object.spec).not.toHaveProperty('preferredHolder');
    }
    expect(usurper.pings()).toBe(0);
  });
});
