import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { SimCandidate, SimCandidateSpec } from '../control-plane/sim-candidate.ts';
import type { WatchedLease } from '../control-plane/watched-objects.ts';
import type { LogLine } from '../support/log-line.ts';
import { type CoordinatedCluster, startCoordinatedCluster } from './coordinated-cluster.ts';

// They spend their time waiting for elections: all of them wait at the same time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 240_000 });

const X = 'OldestEmulationVersion';
const Y = 'example.com/y';
const Z = 'example.com/z';

const LEASE = 'elected';
const versions = { binaryVersion: '1.31.0', emulationVersion: '1.31.0' };
const older = { binaryVersion: '1.31.0', emulationVersion: '1.30.0' };
const hasHolder = (name: string) => (lease: WatchedLease) => lease.spec.holderIdentity === name;

describe.concurrent('ordered lists of preferred strategies, v1alpha1 on Kubernetes 1.31', () => {
  let cluster: CoordinatedCluster;

  beforeAll(async () => {
    cluster = await startCoordinatedCluster('1.31.4');
  });
  afterAll(() => cluster?.stop());

  /**
   * Creates candidates for the Lease of a namespace of its own. All of them are asked before any answers: the first to be
   * heard alone would be elected by its own list.
   */
  async function startTogether(
    namespace: string,
    specs: Readonly<Record<string, Omit<SimCandidateSpec, 'namespace' | 'name' | 'lease'>>>,
  ): Promise<ReadonlyMap<string, SimCandidate>> {
    await cluster.createNamespace(namespace);
    const started = await Promise.all(
      Object.entries(specs).map(([name, spec]) =>
        cluster.candidates.start({
          ...spec,
          namespace,
          name,
          lease: LEASE,
          renewedAgoMs: 60_000,
          answers: false,
        }),
      ),
    );
    await Promise.all(started.map((candidate) => candidate.pinged(1)));
    for (const candidate of started) candidate.answer();
    return new Map(started.map((candidate) => [candidate.name, candidate]));
  }

  test('are what the coordinator watches', async () => {
    const isWatching = ({ msg }: LogLine) => msg === 'Watching LeaseCandidates';
    const { apiVersion } = await cluster.coordinator.waitForLog(isWatching);
    expect(apiVersion).toBe('coordination.k8s.io/v1alpha1');
  });

  describe.concurrent('that can be merged', () => {
    test.each([
      { name: 'x-first', lists: [[X], [Y, X]] },
      { name: 'y-first', lists: [[Y, X], [X]] },
      { name: 'in-a-chain', lists: [[X], [Z, X], [Y, Z]] },
    ])('leave the Lease to the third party whose strategy is on top: $name', async ({ name, lists }) => {
      await startTogether(
        name,
        Object.fromEntries(
          lists.map((preferredStrategies, index) => [`c${index}`, { ...versions, preferredStrategies }]),
        ),
      );
      const made = await cluster.leases.waitFor(name, LEASE, () => true);
      expect(made.object.spec).toEqual({ holderIdentity: '', strategy: Y });
      await sleep(6_000); // longer than an election
      expect(cluster.leases.history(name, LEASE)).toHaveLength(1);
    });

    test.each([
      { name: 'both-orders-1', first: [Y], second: [X, Y] },
      { name: 'both-orders-2', first: [X, Y], second: [Y] },
    ])('elect by OldestEmulationVersion where that is on top: $name', async ({ name, first, second }) => {
      await startTogether(name, {
        newer: { ...versions, preferredStrategies: first },
        older: { ...older, preferredStrategies: second },
      });
      const made = await cluster.leases.waitFor(name, LEASE, () => true);
      expect(made.object.spec).toMatchObject({
        holderIdentity: 'older',
        strategy: X,
        leaseDurationSeconds: 10,
      });
    });

    test('elect by the first element that they share, whatever they say further down', async () => {
      await startTogether('shared-first', {
        newer: { ...versions, preferredStrategies: [X, Y, Z] },
        older: { ...older, preferredStrategies: [X, Z, Y] },
      });
      const made = await cluster.leases.waitFor('shared-first', LEASE, () => true);
      expect(made.object.spec).toMatchObject({ holderIdentity: 'older', strategy: X });
      expect(cluster.troubles('shared-first', LEASE, 'StrategyConflict')).toEqual([]);
    });
  });

  describe.concurrent('that contradict each other', () => {
    test.each([
      {
        name: 'cycle',
        lists: [
          [X, Y],
          [Y, X],
        ] as const,
      },
      { name: 'two-tops', lists: [[X], [Y]] as const },
    ])(
      'are reported once, operate on no Lease, and elect once one is deleted: $name',
      async ({ name, lists }) => {
        const [ofA, ofB] = lists;
        const candidates = await startTogether(name, {
          a: { ...versions, preferredStrategies: ofA },
          b: { ...older, preferredStrategies: ofB },
        });
        await cluster.untilTrouble(name, LEASE, 'StrategyConflict');
        const a = candidates.get('a');
        const b = candidates.get('b');
        // Both are asked again, as a dead party is no party; both still answer.
        const pings = a?.pings() ?? 0;
        await a?.pinged(pings + 2);
        expect(cluster.troubles(name, LEASE, 'StrategyConflict')).toHaveLength(1);
        expect(cluster.leases.history(name, LEASE)).toEqual([]);

        await b?.remove();
        const made = await cluster.leases.waitFor(name, LEASE, () => true);
        expect(made.object.spec).toMatchObject({ holderIdentity: 'a', strategy: X });
        expect(cluster.troubles(name, LEASE, 'StrategyConflict')).toHaveLength(1);
      },
    );

    test('elect once one party has died silently', async () => {
      const candidates = await startTogether('cycle-of-the-dead', {
        a: { ...versions, preferredStrategies: [X, Y] },
        b: { ...older, preferredStrategies: [Y, X] },
      });
      await cluster.untilTrouble('cycle-of-the-dead', LEASE, 'StrategyConflict');
      candidates.get('b')?.silence();
      await cluster.leases.waitFor('cycle-of-the-dead', LEASE, hasHolder('a'));
      expect(cluster.troubles('cycle-of-the-dead', LEASE, 'StrategyConflict')).toHaveLength(1);
    });
  });

  describe.concurrent('of candidates without versions', () => {
    test('let those take part, but not be elected by OldestEmulationVersion', async () => {
      const candidates = await startTogether('versionless', {
        // Written first, and by name the first too: only its missing versions stand against it.
        a: { binaryVersion: '', preferredStrategies: [Y] },
        b: { ...versions, preferredStrategies: [X, Y] },
      });
      const made = await cluster.leases.waitFor('versionless', LEASE, () => true);
      expect(made.object.spec).toMatchObject({ holderIdentity: 'b', strategy: X });
      // With nobody left who wants otherwise, its own strategy is the Lease's, which is a third party's then.
      await candidates.get('b')?.remove();
      await cluster.leases.waitFor('versionless', LEASE, ({ spec }) => spec.strategy === Y);
      const holders = cluster.leases
        .history('versionless', LEASE)
        .map(({ object }) => object.spec.holderIdentity);
      expect(holders).not.toContain('a');
    });

    test.each([
      { what: 'both', spec: { binaryVersion: '' } },
      { what: 'the emulationVersion', spec: { binaryVersion: '1.31.0', emulationVersion: '' } },
    ])('are refused by the API where they name OldestEmulationVersion and lack $what', async ({ spec }) => {
      const refused = cluster.candidates.start({
        ...spec,
        namespace: 'default',
        name: 'refused',
        lease: LEASE,
        preferredStrategies: [X],
      });
      await expect(refused).rejects.toThrow(': 422 ');
    });
  });
});
