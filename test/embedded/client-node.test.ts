import {
  ApiException,
  CoordinationV1Api,
  CoordinationV1alpha2Api,
  CoordinationV1beta1Api,
  CoreV1Api,
  type KubernetesObject,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  V1MicroTime,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from 'vitest';
import { Changes } from './changes.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from './embedded-cluster.ts';

vi.setConfig({ maxConcurrency: 100, testTimeout: 120_000, hookTimeout: 120_000 });

let shared: EmbeddedCluster;

beforeAll(async () => {
  shared = await startEmbeddedCluster();
});
afterAll(() => shared?.stop());

/** Clients for one test, with a namespace of its own. */
async function start(namespace: string, cluster = shared) {
  const kubeConfig = cluster.kubeConfigOf('admin');
  await kubeConfig.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: namespace } } });
  return {
    namespace,
    kubeConfig,
    leases: kubeConfig.makeApiClient(CoordinationV1Api),
    candidates: kubeConfig.makeApiClient(CoordinationV1beta1Api),
    formerCandidates: kubeConfig.makeApiClient(CoordinationV1alpha2Api),
  };
}

const patchedAs = (strategy: PatchStrategy) => setHeaderOptions('Content-Type', strategy);

/** The API's answer in place of an object. */
async function refusal(call: Promise<unknown>): Promise<{ readonly code: number; readonly reason: unknown }> {
  const error = await call.then(
    () => undefined,
    (problem: unknown) => problem,
  );
  if (!(error instanceof ApiException)) throw new Error('this is to be refused', { cause: error });
  const { reason } = JSON.parse(String(error.body)) as { readonly reason?: unknown };
  return { code: error.code, reason };
}

const candidateSpec = {
  leaseName: 'web',
  binaryVersion: '1.36.0',
  emulationVersion: '1.35.0',
  strategy: 'OldestEmulationVersion',
};

/** Every event of a watch, like `ADDED a`, until the test ends. */
async function watch(
  { onTestFinished }: TestContext,
  kubeConfig: Awaited<ReturnType<typeof start>>['kubeConfig'],
  path: string,
  query: Readonly<Record<string, string>> = {},
) {
  const events: string[] = [];
  const changes = new Changes();
  const tell = (what: string) => {
    events.push(what);
    changes.notify();
  };
  const ending = await new Watch(kubeConfig).watch(
    path,
    query,
    (phase, object: KubernetesObject & { code?: number }) =>
      tell(`${phase} ${object.metadata?.name ?? object.code}`),
    () => tell('end'),
  );
  onTestFinished(() => ending.abort());
  return {
    events,
    until: (count: number) =>
      changes.until(
        () => (events.length >= count ? events : undefined),
        () => `${count} events, not ${events.join(', ')}`,
      ),
  };
}

describe.concurrent('the typed API of client-node', () => {
  test('creates, reads, replaces and deletes a Lease', async () => {
    const { namespace, leases } = await start('lease-life');
    const renewTime = new V1MicroTime('2026-01-02T03:04:05.678Z');
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime };
    const lease = { namespace, name: 'a' };
    const created = await leases.createNamespacedLease({
      namespace,
      body: { metadata: { name: 'a' }, spec },
    });
    expect(created).toMatchObject({ kind: 'Lease', metadata: { ...lease, uid: expect.any(String) } });
    const read = await leases.readNamespacedLease(lease);
    expect(read).toEqual(created);
    // Despite its types, it returns times as they arrive.
    expect(read.spec?.renewTime).toBe('2026-01-02T03:04:05.678000Z');

    const body = { ...read, spec: { ...read.spec, holderIdentity: 'b', leaseTransitions: 1 } };
    const replaced = await leases.replaceNamespacedLease({ ...lease, body });
    expect(replaced.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    expect(replaced.metadata?.uid).toBe(created.metadata?.uid);
    const outdated = leases.replaceNamespacedLease({ ...lease, body });
    expect(await refusal(outdated)).toEqual({ code: 409, reason: 'Conflict' });

    await leases.deleteNamespacedLease(lease);
    expect(await refusal(leases.readNamespacedLease(lease))).toEqual({ code: 404, reason: 'NotFound' });
  });

  test('has one LeaseCandidate in two versions', async () => {
    const { namespace, candidates, formerCandidates } = await start('candidates');
    const candidate = { namespace, name: 'a' };
    const created = await candidates.createNamespacedLeaseCandidate({
      namespace,
      body: { metadata: { name: 'a' }, spec: candidateSpec },
    });
    expect(created).toMatchObject({ apiVersion: 'coordination.k8s.io/v1beta1', spec: candidateSpec });
    const former = await formerCandidates.readNamespacedLeaseCandidate(candidate);
    expect(former).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1alpha2',
      metadata: { uid: created.metadata?.uid },
      spec: candidateSpec,
    });
    const pinged = await formerCandidates.patchNamespacedLeaseCandidate(
      { ...candidate, body: { spec: { pingTime: '2026-01-02T03:04:06.000001Z' } } },
      patchedAs(PatchStrategy.MergePatch),
    );
    const answered = await candidates.replaceNamespacedLeaseCandidate({
      ...candidate,
      body: {
        metadata: { name: 'a', resourceVersion: pinged.metadata?.resourceVersion ?? '' },
        spec: { ...candidateSpec, renewTime: new V1MicroTime('2026-01-02T03:04:07Z') },
      },
    });
    expect(answered.spec?.renewTime).toBe('2026-01-02T03:04:07.000000Z');
    const moved = candidates.patchNamespacedLeaseCandidate(
      { ...candidate, body: { spec: { leaseName: 'other' } } },
      patchedAs(PatchStrategy.MergePatch),
    );
    expect(await refusal(moved)).toEqual({ code: 422, reason: 'Invalid' });
    const { items } = await candidates.listLeaseCandidateForAllNamespaces({
      fieldSelector: `metadata.namespace=${namespace}`,
    });
    expect(items).toMatchObject([{ metadata: { name: 'a' } }]);
    await candidates.deleteNamespacedLeaseCandidate(candidate);
    expect((await formerCandidates.listNamespacedLeaseCandidate({ namespace })).items).toEqual([]);
  });
});

describe.concurrent('the watches of client-node', () => {
  test('show every change since a resourceVersion, in order', async (context) => {
    const { namespace, kubeConfig, leases } = await start('watched');
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const { metadata } = await leases.listNamespacedLease({ namespace });
    await leases.createNamespacedLease({ namespace, body: { metadata: { name: 'before' } } });
    const seen = await watch(context, kubeConfig, path, {
      resourceVersion: metadata?.resourceVersion ?? '',
    });
    await seen.until(1);
    await leases.createNamespacedLease({ namespace, body: { metadata: { name: 'a' } } });
    const body = { spec: { holderIdentity: 'a' } };
    await leases.patchNamespacedLease({ namespace, name: 'a', body }, patchedAs(PatchStrategy.MergePatch));
    await leases.deleteNamespacedLease({ namespace, name: 'before' });
    expect(await seen.until(4)).toEqual(['ADDED before', 'ADDED a', 'MODIFIED a', 'DELETED before']);
  });
});

describe.concurrent('an informer of client-node', () => {
  test('stays in sync with Leases', async ({ onTestFinished }) => {
    const { namespace, kubeConfig, leases } = await start('informed');
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    await leases.createNamespacedLease({ namespace, body: { metadata: { name: 'before' } } });
    const informer = makeInformer(kubeConfig, path, () => leases.listNamespacedLease({ namespace }));
    const events: string[] = [];
    const changes = new Changes();
    for (const verb of ['add', 'update', 'delete'] as const) {
      informer.on(verb, ({ metadata }: KubernetesObject) => {
        events.push(`${verb} ${metadata?.name}`);
        changes.notify();
      });
    }
    informer.on('error', (error) => events.push(`error ${String(error)}`));
    await informer.start();
    onTestFinished(() => informer.stop());
    const a = { namespace, name: 'a' };
    await leases.createNamespacedLease({ namespace, body: { metadata: { name: 'a' } } });
    await leases.patchNamespacedLease(
      { ...a, body: { spec: { holderIdentity: 'me' } } },
      patchedAs(PatchStrategy.MergePatch),
    );
    await leases.deleteNamespacedLease({ namespace, name: 'before' });
    await changes.until(
      () => (events.length >= 4 ? true : undefined),
      () => `four events, not ${events.join(', ')}`,
    );
    expect(events).toEqual(['add before', 'add a', 'update a', 'delete before']);
    expect(informer.list()).toMatchObject([{ metadata: a, spec: { holderIdentity: 'me' } }]);
  });
});
