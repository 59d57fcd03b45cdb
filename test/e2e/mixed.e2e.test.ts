import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { microTime } from '../control-plane/cluster-objects.ts';
import type { Electors } from '../control-plane/electors.ts';
import { leadershipsOf, overlapsOf, RELEASE_REPORTED_LATE_MS } from '../control-plane/leaderships.ts';
import type { SimCandidateSpec } from '../control-plane/sim-candidate.ts';
import type { Change, WatchedLease } from '../control-plane/watched-objects.ts';
import { type CoordinatedCluster, startCoordinatedCluster } from './coordinated-cluster.ts';
import { eventually } from './coordinator.ts';

// Most of these tests wait for Leases to expire: all of them wait at the same time.
vi.setConfig({ maxConcurrency: 100, testTimeout: 240_000 });

const OLDEST = 'OldestEmulationVersion';
const CUSTOM = 'example.com/custom';

const oldest = {
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: OLDEST,
} satisfies Partial<SimCandidateSpec>;
const custom = { ...oldest, strategy: CUSTOM };

/** A Lease that somebody outside holds, for as long as a test may take unless told otherwise. */
function held(holderIdentity: string, leaseDurationSeconds = 600): WatchedLease['spec'] {
  return { holderIdentity, leaseDurationSeconds, acquireTime: microTime(), renewTime: microTime() };
}

const hasHolder = (name: string) => (lease: WatchedLease) => lease.spec.holderIdentity === name;
const prefers = (name: string) => (lease: WatchedLease) => lease.spec.preferredHolder === name;
const prefersNobody = (lease: WatchedLease) => lease.spec.preferredHolder === undefined;

describe.concurrent('a coordinator with its defaults', () => {
  let cluster: CoordinatedCluster;
  let electors: Electors;

  beforeAll(async () => {
    cluster = await startCoordinatedCluster('1.36.3');
    electors = await cluster.plane.startElectors();
  });
  afterAll(async () => {
    await electors?.stop();
    await cluster?.stop();
  });

  const overlaps = (...ids: string[]) =>
    overlapsOf(
      leadershipsOf(electors.events, (id) => ids.includes(id)),
      RELEASE_REPORTED_LATE_MS,
    );
  const leads = (id: string, timeoutMs = 90_000) =>
    electors.waitFor({ id, event: 'startedLeading' }, { timeoutMs });
  const hasStopped = (id: string) =>
    electors.events.some((event) => event.id === id && event.event === 'stoppedLeading');

  /** For `since`: everything after that change. */
  const mark = (namespace: string, name: string, change: Change<WatchedLease>) =>
    cluster.leases.history(namespace, name).indexOf(change) + 1;

  describe.concurrent('with a plain elector on the same Lease', () => {
    test('lets it lead, follows it when it dies, and is followed by one when every candidate has died', async () => {
      const lease = 'mixed';
      await electors.start({ id: 'mixed-plain', lease, mode: 'plain' });
      await leads('mixed-plain');
      await electors.start({ id: 'mixed-old', lease, emulationVersion: '1.35.0' });
      await electors.start({ id: 'mixed-new', lease });

      // Each renewal of the plain elector wipes preferredHolder: telling it once of each candidate must do.
      await cluster.untilTrouble('default', lease, 'WritesIgnored');
      const renewedTwice = cluster.leases.history('default', lease).length + 2;
      await eventually(
        () => cluster.leases.history('default', lease).length >= renewedTwice || undefined,
        'the plain elector goes on renewing',
      );
      const told = cluster.leases
        .history('default', lease)
        .flatMap(({ object }) => object.spec.preferredHolder ?? []);
      expect(told.length).toBeGreaterThan(0);
      // Whichever candidate is seen first is preferred first.
      expect(new Set(told).size).toBe(told.length);
      expect(electors.leading()).toContain('mixed-plain');

      await electors.crash('mixed-plain');
      await leads('mixed-old');
      await electors.start({ id: 'mixed-heir', lease, mode: 'plain' });
      await electors.waitFor({ id: 'mixed-heir', event: 'newLeader', leader: 'mixed-old' });
      await electors.crash('mixed-old');
      await electors.crash('mixed-new');
      await leads('mixed-heir');
      expect(overlaps('mixed-plain', 'mixed-old', 'mixed-new', 'mixed-heir')).toEqual([]);
    });

    test('says once that it wipes what it is told, and tells it again ever more rarely', async () => {
      const lease = 'wiped';
      await electors.start({ id: 'wiped-plain', lease, mode: 'plain' });
      await leads('wiped-plain');
      await electors.start({ id: 'wiped-candidate', lease });
      const isTold = ({ spec }: WatchedLease) => spec.preferredHolder !== undefined;
      const first = await cluster.leases.waitFor('default', lease, isTold);
      const wiped = await cluster.leases.waitFor('default', lease, prefersNobody, {
        since: mark('default', lease, first),
      });
      const second = await cluster.leases.waitFor('default', lease, isTold, {
        since: mark('default', lease, wiped),
      });
      expect(second.at - first.at).toBeGreaterThan(29_000);
      // Wiped a second time.
      await cluster.leases.waitFor('default', lease, prefersNobody, {
        since: mark('default', lease, second),
      });
      await sleep(1_000);
      expect(cluster.troubles('default', lease, 'WritesIgnored')).toHaveLength(1);
    });

    test('never lets two lead when it and a candidate are both waiting for the leader to die', async () => {
      const lease = 'raced';
      await electors.start({ id: 'raced-leader', lease, emulationVersion: '1.35.0' });
      await leads('raced-leader');
      await electors.start({ id: 'raced-plain', lease, mode: 'plain' });
      await electors.start({ id: 'raced-candidate', lease });
      await electors.waitFor({ id: 'raced-plain', event: 'newLeader', leader: 'raced-leader' });
      const mark = electors.events.length;
      await electors.crash('raced-leader');
      const rivals = ['raced-plain', 'raced-candidate'];
      const next = await Promise.any(
        rivals.map((id) =>
          electors.waitFor({ id, event: 'startedLeading' }, { since: mark, timeoutMs: 60_000 }),
        ),
      );
      // Long enough for the other to look at the Lease several times.
      await sleep(6_000);
      expect(electors.leading().filter((id) => rivals.includes(id))).toEqual([next.id]);
      expect(overlaps('raced-leader', ...rivals)).toEqual([]);
    });
  });

  describe.concurrent('under a strategy that is a third party’s', () => {
    test('creates the Lease with the strategy and no holder, and then leaves it to the third party', async () => {
      const namespace = 'third-party';
      await cluster.createNamespace(namespace);
      const candidate = { ...custom, namespace, lease: 'made' };
      await cluster.candidates.start({ ...candidate, name: 'a' });
      const made = await cluster.leases.waitFor(namespace, 'made', () => true);
      expect(made.type).toBe('ADDED');
      expect(made.object.spec).toEqual({ holderIdentity: '', strategy: CUSTOM });

      // It lets its holder's Lease expire, prefers another, and empties the Lease: all that is its own business.
      const chosen = await cluster.patchLease(namespace, 'made', { ...held('a', 1), preferredHolder: 'b' });
      await cluster.candidates.start({ ...candidate, name: 'b', emulationVersion: '1.30.0' });
      await sleep(3_000);
      const emptied = await cluster.patchLease(namespace, 'made', {
        holderIdentity: '',
        preferredHolder: null,
      });
      await sleep(3_000);
      expect(cluster.leases.history(namespace, 'made').map(({ object }) => object.spec)).toEqual([
        made.object.spec,
        chosen.spec,
        emptied.spec,
      ]);
      expect(cluster.troubles(namespace, 'made', 'ThirdPartyStrategy').length).toBeGreaterThan(0);
    });

    test('gives an existing Lease the name of the strategy and changes nothing else', async () => {
      const namespace = 'third-party-renamed';
      await cluster.createNamespace(namespace);
      const before = await cluster.createLease(namespace, 'kept', {
        ...held('somebody', 2),
        strategy: OLDEST,
      });
      await cluster.candidates.start({ ...custom, namespace, lease: 'kept', name: 'a' });
      const renamed = await cluster.leases.waitFor(namespace, 'kept', ({ spec }) => spec.strategy === CUSTOM);
      expect(renamed.object.spec).toEqual({ ...before.spec, strategy: CUSTOM });
      await sleep(4_000); // twice its duration
      expect(cluster.leases.history(namespace, 'kept')).toHaveLength(2);
    });

    test('writes out that there is no holder in a Lease that does not say', async () => {
      const namespace = 'third-party-unsaid';
      await cluster.createNamespace(namespace);
      await cluster.createLease(namespace, 'bare', {});
      await cluster.candidates.start({ ...custom, namespace, lease: 'bare', name: 'a' });
      const mended = await cluster.leases.waitFor(namespace, 'bare', ({ spec }) => spec.strategy === CUSTOM);
      expect(mended.object.spec).toEqual({ holderIdentity: '', strategy: CUSTOM });
    });
  });

  describe.concurrent('when strategies conflict', () => {
    // Both are asked before either answers: the first to be heard alone would be elected.
    const startDispute = async (namespace: string) => {
      await cluster.createNamespace(namespace);
      const lease = { holderIdentity: '', leaseTransitions: 7 };
      await cluster.createLease(namespace, 'disputed', lease);
      const party = { namespace, lease: 'disputed', renewedAgoMs: 60_000, answers: false };
      const parties = await Promise.all([
        cluster.candidates.start({ ...party, ...oldest, name: 'a' }),
        cluster.candidates.start({ ...party, ...custom, name: 'b' }),
      ]);
      await Promise.all(parties.map((each) => each.pinged(1)));
      for (const each of parties) each.answer();
      await cluster.untilTrouble(namespace, 'disputed', 'StrategyConflict');
      expect(cluster.leases.current(namespace, 'disputed')?.spec).toEqual(lease);
      return parties;
    };

    test('sees none between one that answers and one that never does', async () => {
      const namespace = 'conflict-with-the-dead';
      await cluster.createNamespace(namespace);
      const party = { namespace, lease: 'disputed', renewedAgoMs: 60_000 };
      const a = await cluster.candidates.start({ ...party, ...oldest, name: 'a', answers: false });
      await cluster.candidates.start({ ...party, ...custom, name: 'b' });
      // The one that answers wants its strategy, which is nobody's to dispute until the other one comes to life.
      await cluster.leases.waitFor(namespace, 'disputed', ({ spec }) => spec.strategy === CUSTOM);
      expect(a.pings()).toBeGreaterThan(0);
      expect(cluster.troubles(namespace, 'disputed', 'StrategyConflict')).toEqual([]);
    });

    test('leaves the Lease alone, asks again who still lives, reports once, and elects when a party is deleted', async () => {
      const namespace = 'conflict';
      const [a, b] = await startDispute(namespace);
      const seen = cluster.leases.history(namespace, 'disputed').length;
      const [pingsOfA, pingsOfB] = [a.pings(), b.pings()];
      await Promise.all([a.pinged(pingsOfA + 2), b.pinged(pingsOfB + 2)]);
      expect(cluster.troubles(namespace, 'disputed', 'StrategyConflict')).toHaveLength(1);
      expect(cluster.leases.history(namespace, 'disputed')).toHaveLength(seen);
      await b.remove();
      const elected = await cluster.leases.waitFor(namespace, 'disputed', hasHolder('a'));
      expect(elected.object.spec).toMatchObject({ strategy: OLDEST, leaseTransitions: 8 });
      expect(cluster.troubles(namespace, 'disputed', 'StrategyConflict')).toHaveLength(1);
    });

    test('elects when a party has died silently, as a dead party is no party', async () => {
      const namespace = 'conflict-silent';
      const [, b] = await startDispute(namespace);
      const pings = b.pings();
      b.silence();
      await cluster.leases.waitFor(namespace, 'disputed', hasHolder('a'));
      expect(b.pings()).toBeGreaterThan(pings);
      expect(cluster.troubles(namespace, 'disputed', 'StrategyConflict')).toHaveLength(1);
    });

    test.each([
      { arrives: oldest, wantHolder: 'newer' },
      { arrives: custom, wantHolder: '' },
    ])(
      'follows a newer binaryVersion that arrives and wants $arrives.strategy',
      async ({ arrives, wantHolder }) => {
        const namespace = `conflict-newer-${wantHolder === '' ? 'custom' : 'oldest'}`;
        await startDispute(namespace);
        const newer = { ...arrives, binaryVersion: '1.37.0', emulationVersion: '1.30.0' };
        await cluster.candidates.start({ ...newer, namespace, lease: 'disputed', name: 'newer' });
        const resolved = await cluster.leases.waitFor(
          namespace,
          'disputed',
          ({ spec }) => spec.strategy === arrives.strategy && spec.holderIdentity === wantHolder,
        );
        expect(resolved.object.spec.preferredHolder).toBeUndefined();
      },
    );

    test('takes its preferredHolder off a held Lease, and else leaves that alone', async () => {
      const namespace = 'conflict-held';
      await cluster.createNamespace(namespace);
      const party = { namespace, lease: 'disputed' };
      await cluster.createLease(namespace, 'disputed', held('somebody'));
      await cluster.candidates.start({ ...party, ...oldest, name: 'a' });
      const preferred = await cluster.leases.waitFor(namespace, 'disputed', prefers('a'));
      const b = await cluster.candidates.start({ ...party, ...custom, name: 'b' });
      const left = await cluster.leases.waitFor(namespace, 'disputed', prefersNobody, {
        since: mark(namespace, 'disputed', preferred),
      });
      expect(left.object.spec).toMatchObject({ holderIdentity: 'somebody', leaseDurationSeconds: 600 });
      await cluster.untilTrouble(namespace, 'disputed', 'StrategyConflict');
      const seen = cluster.leases.history(namespace, 'disputed').length;
      await sleep(6_000); // longer than an election
      expect(cluster.leases.history(namespace, 'disputed')).toHaveLength(seen);
      expect(cluster.troubles(namespace, 'disputed', 'StrategyConflict')).toHaveLength(1);
      await b.remove();
      await cluster.leases.waitFor(namespace, 'disputed', prefers('a'), { since: seen });
    });
  });

  describe.concurrent('while answers are awaited', () => {
    // Neither is trusted without an answer, and the best one, asked first, gives none.
    const startBoth = async (namespace: string) => {
      await cluster.createNamespace(namespace);
      const both = { ...oldest, namespace, lease: 'awaited', renewedAgoMs: 60_000 };
      const best = await cluster.candidates.start({
        ...both,
        name: 'best',
        emulationVersion: '1.35.0',
        answers: false,
      });
      const other = await cluster.candidates.start({ ...both, name: 'other' });
      const askedAt = await best.pinged(1);
      await other.pinged(1);
      return { both, best, other, askedAt };
    };

    test('decides at once when the one awaited is deleted', async () => {
      const { best, askedAt } = await startBoth('deleted-mid-election');
      expect(cluster.leases.current('deleted-mid-election', 'awaited')).toBeUndefined();
      await best.remove();
      const elected = await cluster.leases.waitFor('deleted-mid-election', 'awaited', () => true);
      expect(elected.object.spec.holderIdentity).toBe('other');
      // Rather than when its time to answer is over.
      expect(elected.at - askedAt).toBeLessThan(4_500);
    });

    test('elects nobody when all are deleted', async () => {
      const { best, other } = await startBoth('all-deleted-mid-election');
      await other.remove();
      await best.remove();
      await sleep(6_000); // longer than they had to answer
      expect(cluster.leases.history('all-deleted-mid-election', 'awaited')).toEqual([]);
    });

    test('takes one that comes back under its name for the new program that it is', async () => {
      const { both, best } = await startBoth('replaced-mid-election');
      await best.remove();
      await cluster.candidates.start({ ...both, name: 'best', emulationVersion: '1.35.0', renewedAgoMs: 0 });
      // "other" may have been quicker: then the new one is preferred to it.
      await cluster.leases.waitFor(
        'replaced-mid-election',
        'awaited',
        (lease) => hasHolder('best')(lease) || prefers('best')(lease),
      );
    });
  });

  test.each([
    { what: 'no number', spec: { binaryVersion: 'latest', emulationVersion: '1.36.0' } },
    { what: 'marked with a v', spec: { binaryVersion: 'v1.36.0', emulationVersion: '1.36.0' } },
    { what: 'short', spec: { binaryVersion: '1.36.0', emulationVersion: '1.36' } },
    { what: 'absent', spec: { binaryVersion: '1.36.0', emulationVersion: '' } },
    { what: 'newer than the binary', spec: { binaryVersion: '1.36.0', emulationVersion: '1.37.0' } },
  ])('never meets a version that is $what on this server, which refuses it', async ({ spec }) => {
    // v1alpha1 lets absent ones in where the list lacks OldestEmulationVersion: preferred-strategies.e2e.test.ts.
    const refused = cluster.candidates.start({
      namespace: 'default',
      lease: 'refused',
      name: 'refused',
      strategy: OLDEST,
      ...spec,
    });
    await expect(refused).rejects.toThrow(': 422 ');
  });

  describe.concurrent('with several namespaces', () => {
    test('elects independently where names are the same', async () => {
      await Promise.all(['twin-1', 'twin-2'].map((name) => cluster.createNamespace(name)));
      const both = { lease: 'same' };
      await Promise.all([
        electors.start({
          ...both,
          namespace: 'twin-1',
          name: 'a',
          id: 'twin-1/a',
          emulationVersion: '1.35.0',
        }),
        electors.start({
          ...both,
          namespace: 'twin-2',
          name: 'b',
          id: 'twin-2/b',
          emulationVersion: '1.35.0',
        }),
      ]);
      await Promise.all([leads('twin-1/a'), leads('twin-2/b')]);
      await Promise.all([
        electors.start({ ...both, namespace: 'twin-1', name: 'b', id: 'twin-1/b' }),
        electors.start({ ...both, namespace: 'twin-2', name: 'a', id: 'twin-2/a' }),
      ]);
      await electors.crash('twin-1/a');
      await leads('twin-1/b');
      expect(electors.leading()).toContain('twin-2/b');
      expect(cluster.leases.current('twin-2', 'same')?.spec.holderIdentity).toBe('b');
      const changesOfHolder = new Set(
        cluster.leases.history('twin-2', 'same').map(({ object }) => object.spec.holderIdentity),
      );
      expect([...changesOfHolder]).toEqual(['b']);
    });

    test('takes leaseName for a Lease of the candidate’s own namespace', async () => {
      await Promise.all(['here', 'elsewhere'].map((name) => cluster.createNamespace(name)));
      // It has expired, and would be anybody's who is a candidate for it.
      await cluster.createLease('elsewhere', 'shared', held('somebody', 1));
      const before = await cluster.readLease('elsewhere', 'shared');
      await cluster.candidates.start({ ...oldest, namespace: 'here', lease: 'shared', name: 'a' });
      await cluster.leases.waitFor('here', 'shared', hasHolder('a'));
      await sleep(3_000); // three times its duration
      expect(await cluster.readLease('elsewhere', 'shared')).toBe(before);
    });
  });

  describe.concurrent('with a candidate that only a finalizer keeps', () => {
    const finalizers = ['example.com/not-yet'];

    test('gives its Lease to another, asks it nothing any more, and waits for it no longer', async () => {
      const namespace = 'finalized';
      await cluster.createNamespace(namespace);
      const both = { ...oldest, namespace, lease: 'finalized' };
      const leaving = { ...both, name: 'leaving', emulationVersion: '1.35.0', finalizers };
      const best = await cluster.candidates.start(leaving);
      await cluster.leases.waitFor(namespace, 'finalized', hasHolder('leaving'));
      await cluster.candidates.start({ ...both, name: 'other' });
      await best.remove();
      best.answer(); // its program runs on for as long as its object is there
      const deletion = await cluster.candidates.objects.waitFor(
        namespace,
        'leaving',
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      );
      const pings = best.pings();
      await cluster.leases.waitFor(namespace, 'finalized', hasHolder('other'), { timeoutMs: 90_000 });
      // A ping under way when the deletion was seen may still land.
      expect(best.pings() - pings).toBeLessThanOrEqual(1);
      expect(cluster.candidates.objects.current(namespace, 'leaving')?.metadata.uid).toBe(
        deletion.object.metadata.uid,
      );
    });

    test('takes it off as preferredHolder', async () => {
      const namespace = 'finalized-preferred';
      await cluster.createNamespace(namespace);
      await cluster.createLease(namespace, 'finalized', held('somebody'));
      const both = { ...oldest, namespace, lease: 'finalized' };
      const best = await cluster.candidates.start({ ...both, name: 'leaving', finalizers });
      const preferred = await cluster.leases.waitFor(namespace, 'finalized', prefers('leaving'));
      const since = cluster.leases.history(namespace, 'finalized').indexOf(preferred) + 1;
      const removedAt = performance.now();
      await best.remove();
      const off = await cluster.leases.waitFor(namespace, 'finalized', prefersNobody, { since });
      // At once, rather than after the 5 s that it has to answer.
      expect(off.at - removedAt).toBeLessThan(4_000);
    });
  });

  test('leaves Leases alone that never had a candidate', async () => {
    const namespace = 'foreign';
    await cluster.createNamespace(namespace);
    const specs: Readonly<Record<string, WatchedLease['spec']>> = {
      bare: {},
      released: { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() },
      expired: held('somebody', 1),
      preferring: { ...held('somebody', 1), strategy: OLDEST, preferredHolder: 'another' },
      'third-partys': { holderIdentity: '', strategy: CUSTOM },
    };
    const names = Object.keys(specs);
    await Promise.all(names.map((name) => cluster.createLease(namespace, name, specs[name] ?? {})));
    const read = () => Promise.all(names.map((name) => cluster.readLease(namespace, name)));
    const before = await read();
    // An election among neighbours, so that the namespace is surely looked at; its Lease expires and is granted anew.
    await cluster.candidates.start({ ...oldest, namespace, lease: 'neighbour', name: 'a' });
    const first = await cluster.leases.waitFor(namespace, 'neighbour', hasHolder('a'));
    await cluster.leases.waitFor(
      namespace,
      'neighbour',
      ({ spec }) => spec.renewTime !== first.object.spec.renewTime,
    );
    expect(await read()).toEqual(before);
  });

  test('never coordinates its own lock, whoever names it', async () => {
    const [namespace, name] = ['kube-system', 'leader-election-controller'];
    const usurper = await cluster.candidates.start({
      ...oldest,
      namespace,
      lease: name,
      name: 'usurper',
      emulationVersion: '1.0.0',
      renewedAgoMs: 60_000,
    });
    await cluster.candidates.start({ ...custom, namespace, lease: name, name: 'third-party' });
    await cluster.coordinator.waitForLog(({ lease, reason }) => {
      return lease === `${namespace}/${name}` && reason === 'CoordinatorLease';
    });
    const since = cluster.leases.history(namespace, name).length;
    await eventually(
      () => cluster.leases.history(namespace, name).length >= since + 5 || undefined,
      'the lock goes on being renewed',
    );
    for (const { object } of cluster.leases.history(namespace, name).slice(since)) {
      expect(object.spec.holderIdentity).toMatch(/^coordinated-leader-election_/);
      expect(object.spec).not.toHaveProperty('strategy');
      expect(object.spec).not.toHaveProperty('preferredHolder');
    }
    expect(usurper.pings()).toBe(0);
  });

  test('keeps whatever else a Lease says, with each kind of write', async () => {
    const namespace = 'kept';
    await cluster.createNamespace(namespace);
    const kept = {
      labels: { team: 'web', 'example.com/tier': 'a' },
      annotations: { 'example.com/note': 'by hand', 'example.com/json': '{"a":[1]}' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'b4f1d9a2-0000-4000-8000-000000000000' },
      ],
      finalizers: ['example.com/hold'],
    };
    await cluster.createLease(namespace, 'kept', { ...held('somebody', 20), leaseTransitions: 41 }, kept);
    const better = await cluster.candidates.start({
      ...oldest,
      namespace,
      lease: 'kept',
      name: 'better',
    });
    const preferred = await cluster.leases.waitFor(namespace, 'kept', prefers('better'));
    better.silence();
    const off = await cluster.leases.waitFor(namespace, 'kept', prefersNobody, {
      since: mark(namespace, 'kept', preferred),
    });
    await cluster.candidates.start({ ...oldest, namespace, lease: 'kept', name: 'next' });
    const granted = await cluster.leases.waitFor(namespace, 'kept', hasHolder('next'), { timeoutMs: 90_000 });
    for (const { object } of [preferred, off, granted]) expect(object.metadata).toMatchObject(kept);
    expect(preferred.object.spec).toMatchObject({ holderIdentity: 'somebody', leaseTransitions: 41 });
    expect(granted.object.spec.leaseTransitions).toBe(42);
    const managers = (granted.object.metadata['managedFields'] as { manager: string }[]).map(
      ({ manager }) => manager,
    );
    expect(managers).toHaveLength(2); // whoever created it, and the coordinator
  });

  describe.concurrent('when a better candidate appears', () => {
    test('prefers it, and it takes over without ever leading beside the other', async () => {
      const lease = 'preempted';
      await electors.start({ id: 'preempted-new', lease });
      await leads('preempted-new');
      await electors.start({ id: 'preempted-old', lease, emulationVersion: '1.35.0' });
      const preferred = await cluster.leases.waitFor('default', lease, prefers('preempted-old'));
      expect(preferred.object.spec).toMatchObject({ holderIdentity: 'preempted-new', strategy: OLDEST });
      await leads('preempted-old');
      await electors.waitFor({ id: 'preempted-new', event: 'stoppedLeading' });
      expect(overlaps('preempted-new', 'preempted-old')).toEqual([]);
      const taken = await cluster.leases.waitFor('default', lease, hasHolder('preempted-old'));
      expect(taken.object.spec).not.toHaveProperty('preferredHolder');
    });

    test('takes the preference back in time when it crashes before it has taken over', async () => {
      const lease = 'spared';
      await electors.start({ id: 'spared-new', lease });
      await leads('spared-new');
      await electors.start({ id: 'spared-old', lease, emulationVersion: '1.35.0' });
      const preferred = await cluster.leases.waitFor('default', lease, prefers('spared-old'));
      await electors.crash('spared-old');
      const since = cluster.leases.history('default', lease).indexOf(preferred) + 1;
      const off = await cluster.leases.waitFor('default', lease, prefersNobody, { since });
      // It is asked 2 s after its last answer and has 5 s for the next; its holder would give up after 10.
      expect(off.at - preferred.at).toBeGreaterThan(4_500);
      expect(off.at - preferred.at).toBeLessThan(9_500);
      expect(off.object.spec.holderIdentity).toBe('spared-new');
      const renewed = ({ spec }: WatchedLease) => spec.renewTime !== off.object.spec.renewTime;
      await cluster.leases.waitFor('default', lease, renewed, {
        since: mark('default', lease, off),
      });
      expect(hasStopped('spared-new')).toBe(false);
    });

    test('does not keep evicting the leader for one in a crash loop, whatever names it comes under', async () => {
      const [namespace, lease] = ['crash-loop', 'looped'];
      await cluster.createNamespace(namespace);
      await electors.start({ id: 'steady', namespace, lease });
      await leads('steady');
      const preferences = () =>
        cluster.leases.history(namespace, lease).filter(({ object }, index, history) => {
          const { preferredHolder } = object.spec;
          return (
            preferredHolder !== undefined &&
            history[index - 1]?.object.spec.preferredHolder !== preferredHolder
          );
        });
      let isOver = false;
      const looping = (async () => {
        // It lives for 2.5 s, and clears up after itself, so that nothing but the Lease's own history can tell.
        for (let run = 1; !isOver; run++) {
          const flaky = await cluster.candidates.start({
            ...oldest,
            namespace,
            lease,
            name: `flaky-${run}`,
            emulationVersion: '1.35.0',
          });
          await sleep(2_500);
          await flaky.remove();
        }
      })();
      const untilPreferred = async (since: number) =>
        cluster.leases.waitFor(namespace, lease, ({ spec }) => spec.preferredHolder !== undefined, {
          since,
          timeoutMs: 90_000,
        });
      const untilOff = (since: number) => cluster.leases.waitFor(namespace, lease, prefersNobody, { since });

      const first = await untilPreferred(0);
      const firstOff = await untilOff(mark(namespace, lease, first));
      const second = await untilPreferred(mark(namespace, lease, firstOff));
      expect(second.at - firstOff.at).toBeGreaterThan(14_000);
      const secondOff = await untilOff(mark(namespace, lease, second));
      // After the first failure it took 15 s until the next attempt; after the second it takes twice that.
      await sleep(22_000 - (performance.now() - secondOff.at));
      isOver = true;
      await looping;
      expect(preferences()).toHaveLength(2);
      expect(electors.leading()).toContain('steady');
      expect(hasStopped('steady')).toBe(false);
    });
  });
});

// Ten minutes pass before anybody is deleted: rbac.e2e.test.ts shows that, with a clock that goes faster.
describe.concurrent('a coordinator for which candidates are valid for 12 s and overdue after 20 s', () => {
  const [validityMs, gcAfterMs, electionMs] = [12_000, 20_000, 1_000];
  const namespace = 'default';
  let cluster: CoordinatedCluster;
  let electors: Electors;

  beforeAll(async () => {
    const flags = ['--candidate-validity', '12s', '--candidate-gc-after', '20s', '--election-duration', '1s'];
    cluster = await startCoordinatedCluster('1.36.3', flags);
    electors = await cluster.plane.startElectors();
  });
  afterAll(async () => {
    await electors?.stop();
    await cluster?.stop();
  });

  const current = (name: string) => cluster.candidates.objects.current(namespace, name);

  /** The pings that a candidate was sent, as seen in its pingTime, from its `since`th version on. */
  const pingsOf = (name: string, since: number) =>
    cluster.candidates.objects
      .history(namespace, name)
      .filter(
        ({ object: { spec } }, index, all) =>
          index >= since &&
          spec.pingTime !== undefined &&
          spec.pingTime !== all[index - 1]?.object.spec.pingTime,
      );

  test('does not count one that was silent for longer, asks it when it is overdue, and keeps it for now', async () => {
    const lease = 'outlived';
    await electors.start({ id: 'outlived-leader', lease });
    await electors.waitFor({ id: 'outlived-leader', event: 'startedLeading' });
    const startedAt = performance.now();
    const silent = await cluster.candidates.start({
      ...oldest,
      namespace,
      lease,
      name: 'outlived-silent',
      emulationVersion: '1.30.0',
      renewedAgoMs: validityMs + 1_000,
      answers: false,
    });
    const askedAt = await silent.pinged(1);
    expect(askedAt - startedAt).toBeGreaterThan(gcAfterMs - validityMs - 2_000);
    // Several times as long as it has for its answer.
    await sleep(5 * electionMs);
    expect(silent.pings()).toBe(1);
    expect(current('outlived-silent')).toBeDefined();
    expect(cluster.leases.history(namespace, lease).map(({ object }) => object.spec)).not.toContainEqual(
      expect.objectContaining({ preferredHolder: 'outlived-silent' }),
    );
  });

  test('counts one again that answers when it is asked', async () => {
    const lease = 'returning';
    await electors.start({ id: 'returning-leader', lease });
    await electors.waitFor({ id: 'returning-leader', event: 'startedLeading' });
    const back = await cluster.candidates.start({
      ...oldest,
      namespace,
      lease,
      name: 'returning-better',
      emulationVersion: '1.30.0',
      renewedAgoMs: gcAfterMs + 60_000,
    });
    await back.pinged(1);
    await cluster.leases.waitFor(namespace, lease, prefers('returning-better'));
    await cluster.leases.waitFor(namespace, lease, hasHolder('returning-better'), { timeoutMs: 60_000 });
    expect(current('returning-better')).toBeDefined();
  });

  test('asks a candidate half way through its validity as long as it answers, and then when it is overdue', async () => {
    const lease = 'answering';
    const leader = { ...oldest, namespace, lease, emulationVersion: '1.30.0' };
    await cluster.createLease(namespace, lease, { ...held('answering-a'), strategy: OLDEST });
    await cluster.candidates.start({ ...leader, name: 'answering-a' });
    const startedAt = performance.now();
    const other = await cluster.candidates.start({
      ...oldest,
      namespace,
      lease,
      name: 'answering-b',
    });
    const thirdAt = await other.pinged(3, 90_000);
    // Three halves of 12 s, each up to a tenth shorter.
    expect(thirdAt - startedAt).toBeGreaterThan(3 * (validityMs / 2) * 0.85);
    await eventually(() => other.acks() >= other.pings() || undefined, 'it answers');
    other.silence();
    const pings = other.pings();
    const silentFrom = performance.now();
    // Half way through, and when it is overdue: it is not asked again and again in between, nor after that.
    const overdueAt = await other.pinged(pings + 2, 90_000);
    expect(overdueAt - silentFrom).toBeGreaterThan(gcAfterMs - validityMs / 2 - 1_000);
    await sleep(5 * electionMs);
    expect(other.pings() - pings).toBeLessThanOrEqual(3);
    expect(current('answering-b')).toBeDefined();
  });

  test('does not ask whoever leads when its candidate is overdue, as it cannot write', async () => {
    const lease = 'muted';
    await electors.start({ id: 'muted', lease });
    await electors.waitFor({ id: 'muted', event: 'startedLeading' });
    await electors.pause('muted', 'candidate', 'fail');
    const since = cluster.candidates.objects.history(namespace, 'muted').length;
    await sleep(gcAfterMs + 10 * electionMs);
    // Once, half way through.
    expect(pingsOf('muted', since)).toHaveLength(1);
    expect(current('muted')?.metadata.name).toBe('muted');
    expect(electors.leading()).toContain('muted');
  });
});
