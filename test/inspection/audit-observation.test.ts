import { describe, expect, test, vi } from 'vitest';
import { observeForAudit } from '../../src/inspection/audit-observation.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { makeList, ScriptedClient } from '../kubernetes/scripted-client.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { rawLease, rawPod, stampAt } from './audit-builders.ts';

const LEASES = '/apis/coordination.k8s.io/v1/leases';
const CUSTOM = '/apis/coordinated-leader-election.dev/v1alpha1';

/** A cluster with the test's objects, and with limits of the user's permissions. */
function makeCluster({
  leases = [rawLease()],
  pods = [],
  candidates = [],
  refused = [],
}: {
  leases?: readonly KubernetesObject[];
  pods?: readonly KubernetesObject[];
  candidates?: readonly KubernetesObject[];
  refused?: readonly string[];
} = {}) {
  const client = new ScriptedClient();
  const refuse = ({ path, query }: ApiRequest) => {
    const verb = query?.['watch'] ? 'watch' : 'list';
    const isRefused = refused.some(
      (right) => right.startsWith(verb) && path.endsWith(right.split(' ')[1] ?? ''),
    );
    if (isRefused)
      throw new ApiError({ method: 'GET', path, status: 403, reason: 'Forbidden', message: 'no' });
  };
  client.onWatch = refuse;
  client.onRequest = (request) => {
    const { path } = request;
    refuse(request);
    if (path === CUSTOM) return { resources: [{ name: 'leasecandidates' }] };
    if (path.endsWith('/leases')) return makeList(leases, '5');
    if (path.endsWith('/pods')) return makeList(pods, '5');
    if (path === `${CUSTOM}/leasecandidates`) return makeList(candidates, '5');
    throw new ApiError({ method: 'GET', path, status: 404, reason: 'NotFound', message: 'no' });
  };
  return client;
}

/** Starts an observation of 30 s of virtual time. */
function observe(client: ScriptedClient, watchMs = 30_000, stopping = new AbortController()) {
  const clock = new VirtualClock();
  const onWatch = vi.fn();
  const seen = observeForAudit({ client, clock, namespace: '', watchMs, signal: stopping.signal, onWatch });
  return { seen, clock, onWatch };
}

const heartbeat = rawLease({}, { namespace: 'kube-node-lease', name: 'node-1' });
const apiServer = rawLease(
  {},
  {
    namespace: 'kube-system',
    name: 'apiserver-x',
    labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' },
  },
);

describe('an observation for the audit', () => {
  test('omits heartbeats of nodes and API servers, and counts them', async () => {
    const { seen } = observe(makeCluster({ leases: [heartbeat, rawLease(), apiServer] }), 0);
    const { leases, heartbeats } = await seen;
    expect(leases.map(({ lease: { name } }) => name)).toEqual(['web']);
    expect(heartbeats).toEqual({ nodes: 1, apiServers: 1 });
  });

  test('reads once, without a watch, with a time of 0', async () => {
    const client = makeCluster();
    const { seen, onWatch } = observe(client, 0);
    expect(await seen).toMatchObject({ watchedMs: 0, unread: [] });
    expect(client.watches).toEqual([]);
    expect(onWatch).not.toHaveBeenCalled();
  });

  test('sees renewals by its own clock, new Leases and deleted ones, until the time is over', async () => {
    const client = makeCluster({ leases: [rawLease(), rawLease({}, { name: 'deleted' })] });
    const { seen, clock, onWatch } = observe(client);
    await vi.waitFor(() => expect(client.watches).toHaveLength(1));
    expect(onWatch).toHaveBeenCalledWith(2);
    expect(client.watch.request.query).toMatchObject({
      fieldSelector: 'metadata.namespace!=kube-node-lease',
      resourceVersion: '5',
    });
    const renew = async (at: number) => {
      await clock.advance(at - clock.now());
      client.watch.event('MODIFIED', rawLease({ renewTime: stampAt(at) }));
      await clock.advance(0);
    };
    await renew(2000);
    await renew(4000);
    await renew(9000);
    client.watch.event('ADDED', rawLease({}, { name: 'added' }));
    client.watch.event('ADDED', apiServer);
    client.watch.event('DELETED', rawLease({}, { name: 'deleted' }));
    client.watch.bookmark('9');
    await clock.advance(30_000);
    const { leases, watchedMs, unread } = await seen;
    expect({ watchedMs, unread }).toEqual({ watchedMs: 30_000, unread: [] });
    expect(leases.map(({ lease: { name } }) => name)).toEqual(['web', 'added']);
    // The first renewal followed the acquisition.
    expect(leases[0]?.renewals).toMatchObject({ count: 2, firstAt: 4000, lastAt: 9000, longestMs: 5000 });
  });

  test('restarts with a new holder', async () => {
    const client = makeCluster({ leases: [rawLease({ renewTime: stampAt(1) })] });
    const { seen, clock } = observe(client);
    await vi.waitFor(() => expect(client.watches).toHaveLength(1));
    await clock.advance(2000);
    client.watch.event('MODIFIED', rawLease({ renewTime: stampAt(2000) }));
    await clock.advance(1000);
    client.watch.event('MODIFIED', rawLease({ renewTime: stampAt(3000), holderIdentity: 'web-1_5678' }));
    await clock.advance(30_000);
    expect((await seen).leases[0]).toMatchObject({
      lease: { holderIdentity: 'web-1_5678' },
      renewals: { count: 0, lastAt: 3000 },
    });
  });

  test('reports its results when it is stopped', async () => {
    const stopping = new AbortController();
    const client = makeCluster();
    const { seen, clock } = observe(client, 30_000, stopping);
    await vi.waitFor(() => expect(client.watches).toHaveLength(1));
    await clock.advance(4000);
    stopping.abort();
    expect(await seen).toMatchObject({ watchedMs: 4000, unread: [] });
  });

  test('reads Pods and candidates, with the containers that annotations name', async () => {
    const annotations = { 'coordinated-leader-election.dev/container': 'app' };
    const candidate = {
      metadata: { namespace: 'shop', name: 'web-0', annotations },
      spec: { leaseName: 'web' },
    };
    const { seen } = observe(makeCluster({ pods: [rawPod({ name: 'web-0' })], candidates: [candidate] }), 0);
    const { pods, candidates, unread } = await seen;
    expect(pods?.map(({ name }) => name)).toEqual(['web-0']);
    expect(candidates).toMatchObject([{ name: 'web-0', source: 'custom', leadingContainer: 'app' }]);
    expect(unread).toEqual([]);
  });

  test.each([
    { refused: 'list pods', want: { what: 'pods', why: '403 Forbidden', grant: 'list pods' } },
    {
      refused: 'list leasecandidates',
      want: {
        what: 'leasecandidates',
        why: '403 Forbidden',
        grant: 'list leasecandidates of coordinated-leader-election.dev',
      },
    },
    { refused: 'watch leases', want: { what: 'renewals', why: '403 Forbidden', grant: 'watch leases' } },
  ])('continues without the permission to $refused, and reports what to grant', async ({ refused, want }) => {
    const { seen, clock } = observe(makeCluster({ refused: [refused] }));
    await clock.advance(30_000);
    expect((await seen).unread).toEqual([want]);
  });

  test('ends early with a watch that the server closes', async () => {
    const client = makeCluster();
    const { seen, clock } = observe(client);
    await vi.waitFor(() => expect(client.watches).toHaveLength(1));
    await clock.advance(3000);
    client.watch.end();
    expect(await seen).toMatchObject({
      watchedMs: 3000,
      unread: [{ what: 'renewals', why: 'the watch was closed', grant: undefined }],
    });
  });

  test('opens a watch again from its last event when its lifetime is over, so that a long audit lasts to its end', async () => {
    const client = makeCluster();
    const { seen, clock } = observe(client, 600_000);
    await vi.waitFor(() => expect(client.watches).toHaveLength(1));
    client.watch.event('MODIFIED', rawLease({ renewTime: stampAt(2000) }, { resourceVersion: '7' }));
    await clock.advance(300_000);
    client.watch.bookmark('9');
    client.watch.end();
    await vi.waitFor(() => expect(client.watches).toHaveLength(2));
    expect(client.watches.map(({ resourceVersion }) => resourceVersion)).toEqual(['5', '9']);
    await clock.advance(300_000);
    expect(await seen).toMatchObject({ watchedMs: 600_000, unread: [] });
  });

  test('rejects without the permission to list Leases', async () => {
    const { seen } = observe(makeCluster({ refused: ['list leases'] }));
    await expect(seen).rejects.toThrow(`GET ${LEASES} was answered 403`);
  });
});
