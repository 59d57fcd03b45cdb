import { describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { priorityPatch } from '../../src/coordination/priority-patch.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { drainCandidates, type MoveRequest, transferLease } from '../../src/moving/moves.ts';
import { makeCandidateObject, makeLeaseObject } from '../controller/make-objects.ts';
import { SimApiServer } from '../simulation/sim-api-server.ts';
import { SimConnection } from '../simulation/sim-connection.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { defaultSettings, WALL_START } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A Lease with the candidates a, b and c, and a coordinator that holds the lock but does nothing. */
function startSite(leader: string) {
  const clock = new VirtualClock();
  const api = new SimApiServer(clock);
  for (const name of ['a', 'b', 'c'])
    api.store.create('leasecandidates', makeCandidateObject(name, { renewedAt: 0 }));
  const lease = api.store.create('leases', makeLeaseObject(leader, 0));
  api.store.create('leases', {
    ...makeLeaseObject('coordinated-leader-election_x', 0),
    metadata: { namespace: 'kube-system', name: 'leader-election-controller' },
  });
  const told: string[] = [];
  /** `onTold` runs after the command has written the priorities, and before it looks for the new leader. */
  const request = (onTold = () => {}): MoveRequest => ({
    client: new SimConnection(api, new SimProcess(clock), 'on-call'),
    clock,
    settings: defaultSettings,
    lockNamespace: 'kube-system',
    namespace: 'default',
    forMs: 60_000,
    timeoutMs: 0,
    tell(line) {
      told.push(line);
      if (told.length === 1) onTold();
    },
  });
  const { store } = api;
  const lead = (holder: string) => store.update('leases', lease, makeLeaseObject(holder, 0));
  const removeCandidate = (name: string) => {
    const candidate = store.candidate(`default/${name}`);
    if (candidate) store.remove('leasecandidates', candidate);
  };
  const removeLease = () => store.remove('leases', lease);
  return { api, told, request, lead, removeCandidate, removeLease };
}

test.each(['a', 'b', 'c'])(
  'a drain sets the priority of the leader last (%s), so that no drained candidate follows it',
  async (leader) => {
    const { api, told, request } = startSite(leader);
    await drainCandidates({ kind: 'all' }, request());
    const written = api.writes.map(({ key }) => key.replace('default/', ''));
    expect(written.toSorted()).toEqual(['a', 'b', 'c']);
    expect(written.at(-1)).toBe(leader);
    expect(told[0]).toBe('3 candidates of 1 Lease drained, 1 of them leading.');
  },
);

test('a drain gives its writes a minute, because most of them wait for a connection', async () => {
  const { request } = startSite('a');
  const given = request();
  const deadlines: unknown[] = [];
  const client = {
    ...given.client,
    request(call: ApiRequest) {
      if (call.method === 'PATCH') deadlines.push(call.deadlineMs);
      return given.client.request(call);
    },
  };
  await drainCandidates({ kind: 'all' }, { ...given, client });
  expect(deadlines).toEqual([60_000, 60_000, 60_000]);
});

describe('a drain that moves no leader', () => {
  type Site = ReturnType<typeof startSite>;

  test.each<{ name: string; change: (site: Site) => void; want: string }>([
    {
      name: 'the leader stays',
      change: () => {},
      want: 'default/scheduler stays with a: there is no other candidate.',
    },
    {
      name: 'another drained candidate leads',
      change: ({ lead }) => lead('b'),
      want: 'default/scheduler has moved from a to b, which is drained, too: there is no other candidate.',
    },
    {
      name: 'nothing leads',
      change: ({ lead }) => lead(''),
      want: 'default/scheduler has no leader: there is no other candidate.',
    },
    {
      name: 'the Lease and its candidates are deleted',
      change({ removeCandidate, removeLease }) {
        for (const name of ['a', 'b', 'c']) removeCandidate(name);
        removeLease();
      },
      want: 'default/scheduler has no leader: the Lease no longer exists.',
    },
  ])('reports that $name', async ({ change, want }) => {
    const site = startSite('a');
    const { leases } = await drainCandidates(
      { kind: 'all' },
      site.request(() => change(site)),
    );
    expect(site.told.slice(1)).toEqual([want]);
    expect(leases).toEqual([
      {
        namespace: 'default',
        lease: 'scheduler',
        from: 'a',
        to: undefined,
        why: want.replace(/^.*: (.*)\.$/, '$1'),
      },
    ]);
  });
});

describe('a transfer to a candidate that cannot lead any more', () => {
  test('does not report that a priority was removed if the candidate is gone', async () => {
    const { told, request, removeCandidate } = startSite('a');
    await transferLease(
      'scheduler',
      'b',
      request(() => removeCandidate('b')),
    );
    expect(told.slice(1)).toEqual([
      'b cannot lead default/scheduler: it is not a candidate of default/scheduler; there are a and c.',
    ]);
  });

  test('reports that its priority has ended, and removes it', async () => {
    const { api, told, request } = startSite('a');
    await transferLease('scheduler', 'b', { ...request(), forMs: 0, timeoutMs: 60_000 });
    expect(told.slice(1)).toEqual([
      'b cannot lead default/scheduler: its priority has ended. Its priority was taken back.',
    ]);
    expect(JSON.stringify(api.store.candidate('default/b')?.metadata['annotations'])).not.toContain(
      'priority',
    );
  });

  test('ends its own priority only, not that of a drain', async () => {
    const { api, request } = startSite('a');
    await drainCandidates({ kind: 'candidate', name: 'b' }, request());
    const drained = api.store.candidate('default/b')?.metadata['annotations'];
    expect(JSON.stringify(drained)).toContain('-1000');
    await transferLease('scheduler', 'b', { ...request(), forMs: 0, timeoutMs: 60_000 });
    expect(api.store.candidate('default/b')?.metadata['annotations']).toEqual(drained);
  });

  test.each([
    { by: 'drain', priority: -1000, until: WALL_START },
    { by: 'transfer', priority: 1, until: WALL_START + 1n },
  ] as const)('leaves the priority $priority of a $by alone that was set during the wait', async (drain) => {
    const { api, told, request } = startSite('a');
    let drained: KubernetesObject | undefined;
    const moving = request(() => {
      const candidate = api.store.candidate('default/b');
      if (!candidate) return;
      const { metadata } = priorityPatch(candidate, drain) as { metadata: object };
      drained = { ...candidate, metadata: { ...candidate.metadata, ...metadata } };
      api.store.update('leasecandidates', candidate, drained);
    });
    await transferLease('scheduler', 'b', { ...moving, forMs: 0, timeoutMs: 60_000 });
    expect(told.at(-1)).toBe('b cannot lead default/scheduler: its priority has ended.');
    const annotations = drained?.metadata['annotations'];
    expect(JSON.stringify(annotations)).toContain(`"${drain.priority}"`);
    expect(api.store.candidate('default/b')?.metadata['annotations']).toEqual(annotations);
  });

  test('removes its priority', async () => {
    const { api, told, request } = startSite('a');
    const conflict = () => {
      const candidate = api.store.candidate('default/c');
      if (candidate)
        api.store.update('leasecandidates', candidate, {
          ...candidate,
          spec: { ...(candidate['spec'] as object), strategy: 'x.io/y' },
        });
    };
    await transferLease('scheduler', 'b', request(conflict));
    expect(told.slice(1)).toEqual([
      'b cannot lead default/scheduler: the candidates disagree on the strategy, OldestEmulationVersion and x.io/y. Its priority was taken back.',
    ]);
  });
});

test.each([
  { name: 'the custom one', nativeAt: 0, customAt: 5000, want: 'custom' },
  { name: 'the native one', nativeAt: 5000, customAt: 0, want: 'native' },
  { name: 'the native one, if both renewed at the same time', nativeAt: 0, customAt: 0, want: 'native' },
])(
  'a transfer to a candidate with a twin sets the priority of the one that renewed last: $name',
  async (row) => {
    const { api, request } = startSite('a');
    const publish = (
      apiVersion: string,
      resource: 'leasecandidates' | 'customcandidates',
      renewedAt: number,
    ) => api.store.create(resource, { ...makeCandidateObject('twin', { renewedAt }), apiVersion });
    publish('coordination.k8s.io/v1beta1', 'leasecandidates', row.nativeAt);
    publish(CUSTOM_API_VERSION, 'customcandidates', row.customAt);
    api.hasCustomCandidates = true;
    await transferLease('scheduler', 'twin', request());
    const isMarked = (object: KubernetesObject | undefined) =>
      JSON.stringify(object?.metadata['annotations'] ?? {}).includes('priority');
    const marked = {
      native: isMarked(api.store.get('leasecandidates', 'default/twin')),
      custom: isMarked(api.store.get('customcandidates', 'default/twin')),
    };
    expect(marked).toEqual({ native: row.want === 'native', custom: row.want === 'custom' });
  },
);
