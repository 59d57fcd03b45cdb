import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { showAudit } from '../../src/cli/audit.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { AuditSettings } from '../../src/settings/inspection-settings.ts';
import { rawLease, rawPod, stampAt } from '../inspection/audit-builders.ts';
import { makeList } from '../kubernetes/scripted-client.ts';
import { ScriptedServer, sendJson } from '../kubernetes/scripted-server.ts';
import { type LookingSite, makeLookingHost, startLookingSite, timeAt } from './looking-site.ts';

async function audit(kubeconfig: string, more: Partial<AuditSettings> = {}, host = makeLookingHost()) {
  const settings = { kubeconfig, context: undefined, namespace: undefined, allNamespaces: true, forMs: 0 };
  const code = await showAudit({ ...settings, output: 'table', ...more }, host);
  return { code, ...host.said };
}

/** How long a command may take until it watches, on a busy machine. */
const SOON = { timeout: 20_000 };
const CUSTOM = '/apis/coordinated-leader-election.dev/v1alpha1';

/** Held Leases of every kind, each renewed 2 s ago. */
const leases = [
  lease('cert-manager', 'cert-manager-controller', {
    holderIdentity: 'cert-manager-7d8f6b5c9-x2x4z_6cb25b29',
  }),
  lease('kube-system', 'kube-scheduler', { holderIdentity: 'control-plane-1_67d47c84' }),
  lease('operators', 'olm-operator-lock', {
    holderIdentity: 'olm-operator-6c9d-abcde_088d83c5',
    leaseDurationSeconds: 137,
  }),
  lease('operators', 'mesh.example.com', {
    holderIdentity: 'mesh-operator-0_a8678a9e',
    renewTime: stampAt(-60_000),
  }),
  lease('operators', 'former', { holderIdentity: 'former-0_1', renewTime: stampAt(-86_400_000) }),
  lease(
    'shop',
    'web',
    { holderIdentity: 'web-5f7d8c-ccccc-50bc5b08' },
    {
      managedFields: [
        { manager: 'coordinated-leader-election-participant', fieldsV1: { 'f:spec': { 'f:renewTime': {} } } },
      ],
    },
  ),
  lease('kube-node-lease', 'worker-1', { holderIdentity: 'worker-1' }),
  lease(
    'kube-system',
    'apiserver-x',
    {},
    { labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' } },
  ),
];

function lease(namespace: string, name: string, spec: object, metadata: object = {}) {
  const times = { acquireTime: stampAt(-600_000), renewTime: stampAt(-2000) };
  return rawLease({ ...times, ...spec }, { namespace, name, ...metadata });
}

const old = -86_400_000;
const pods = [
  {
    namespace: 'cert-manager',
    name: 'cert-manager-7d8f6b5c9-x2x4z',
    owner: { kind: 'ReplicaSet', name: 'cert-manager-7d8f6b5c9' },
    containers: ['cert-manager-controller'],
  },
  {
    namespace: 'kube-system',
    name: 'kube-scheduler-control-plane-1',
    annotations: { 'kubernetes.io/config.mirror': 'x' },
    containers: ['kube-scheduler'],
    spec: { hostNetwork: true, nodeName: 'control-plane-1' },
  },
  ...['abcde', 'fghij'].map((end) => ({
    namespace: 'operators',
    name: `olm-operator-6c9d-${end}`,
    owner: { kind: 'ReplicaSet', name: 'olm-operator-6c9d' },
  })),
  { namespace: 'operators', name: 'mesh-operator-0', containers: ['manager', 'istio-proxy'] },
  { namespace: 'shop', name: 'web-5f7d8c-ccccc', uid: '50bc5b08-0000' },
].map((pod) => rawPod({ createdAt: old, ...pod }));

const candidates = ['web-5f7d8c-ccccc-50bc5b08', 'web-5f7d8c-aaaaa-12345678'].map((name) => ({
  metadata: {
    ...{ namespace: 'shop', name, uid: `uid-of-${name}` },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: name.slice(0, -9), uid: '50bc5b08-0000' }],
  },
  spec: { leaseName: 'web', renewTime: stampAt(-60_000) },
}));

/** Starts a server with Pods, which the embedded one does not have. Resolves to a kubeconfig. */
async function startClusterWithPods(): Promise<string> {
  const server = await ScriptedServer.start();
  const inOperators = ({ metadata }: KubernetesObject) => metadata.namespace === 'operators';
  const lists: Readonly<Record<string, object>> = {
    '/apis/coordination.k8s.io/v1/leases': makeList(leases, '5'),
    '/apis/coordination.k8s.io/v1/namespaces/operators/leases': makeList(leases.filter(inOperators), '5'),
    '/api/v1/pods': makeList(pods, '5'),
    '/api/v1/namespaces/operators/pods': makeList(pods.filter(inOperators), '5'),
    [`${CUSTOM}/namespaces/operators/leasecandidates`]: makeList([], '5'),
    [CUSTOM]: { resources: [{ name: 'leasecandidates' }] },
    [`${CUSTOM}/leasecandidates`]: makeList(candidates, '5'),
  };
  server.answer = ({ url = '' }, response) => {
    // According to the Date header of the answers, the clock of the tests would be wrong.
    response.sendDate = false;
    const found = lists[url.split('?', 1)[0] ?? ''];
    sendJson(response, found ?? { kind: 'Status', reason: 'NotFound' }, found ? 200 : 404);
  };
  const directory = await mkdtemp(join(tmpdir(), 'audit-'));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText({ server: `http://127.0.0.1:${server.port}`, token: 'x' }));
  onTestFinished(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });
  return kubeconfig;
}

describe('an audit of a cluster with Pods', () => {
  test.each([
    { file: 'audit', output: 'table' },
    { file: 'audit-wide', output: 'wide' },
    { file: 'audit-yaml', output: 'yaml' },
  ] as const)('is as the file $file has it', async ({ file, output }) => {
    const { code, out, err } = await audit(await startClusterWithPods(), { output });
    expect({ code, err }).toEqual({ code: 3, err: '' });
    await expect(out).toMatchFileSnapshot(`outputs/${file}.txt`);
  });

  test('reports that it has not read Pods in other namespaces, if it has found none in one', async () => {
    const kubeconfig = await startClusterWithPods();
    const { err } = await audit(kubeconfig, { allNamespaces: false, namespace: 'operators' });
    expect(err).toBe(
      'warning: only Pods in operators namespace were looked at; -A also finds Pods in other namespaces\n',
    );
  });

  test('is readable for scripts with -o json', async () => {
    const { out } = await audit(await startClusterWithPods(), { output: 'json' });
    const { leases: audited, heartbeats } = JSON.parse(out);
    expect(heartbeats).toEqual({ nodes: 1, apiServers: 1 });
    expect(audited.at(-1)).toMatchObject({
      name: 'web',
      pod: { name: 'web-5f7d8c-ccccc', container: 'app' },
      foundBy: 'owner',
      elector: 'participant',
      crashCostsSeconds: 15,
      standbys: 1,
      crashEvidence: 'Applies',
      findings: [],
    });
  });
});

describe('an audit of a cluster without Pods, CRD and feature gate', () => {
  let site: LookingSite;

  beforeAll(async () => {
    site = await startLookingSite({ leaseCandidateVersions: [] });
    const times = { leaseDurationSeconds: 15, acquireTime: timeAt(-600), renewTime: timeAt(-2) };
    await site.putLease('kube-system', 'scheduler', { holderIdentity: 'scheduler-a', ...times });
    await site.putLease('default', 'slow', { holderIdentity: 'slow-0', ...times, leaseDurationSeconds: 60 });
    await site.putLease('kube-public', 'empty', {});
  });

  afterAll(() => site.stop());

  test('shows the data of Leases, and which parts are unknown', async () => {
    const { code, out, err } = await audit(site.kubeconfig, {
      namespace: 'kube-system',
      allNamespaces: false,
    });
    expect(code).toBe(0);
    expect(out.split('\n').slice(0, 2)).toEqual([
      'NAME        HOLDER        FOUND BY   ELECTOR   DURATION   RENEWS   CRASH COSTS   FINDINGS',
      'scheduler   scheduler-a   ?          plain     15s        -        17s           -',
    ]);
    expect(err).toBe(
      'warning: Pods could not be listed: the Pod of each holder, its replicas and crash evidence are unknown (404 NotFound)\n',
    );
  });

  test.each([
    { namespace: 'default', want: 4 },
    { namespace: 'kube-public', want: 3 },
  ])('ends with code $want for the findings in $namespace', async ({ namespace, want }) => {
    const { code } = await audit(site.kubeconfig, { namespace, allNamespaces: false });
    expect(code).toBe(want);
  });

  test('reports an empty cluster', async () => {
    const { code, out, err } = await audit(site.kubeconfig, {
      namespace: 'kube-node-lease',
      allNamespaces: false,
    });
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toContain('No Leases found in kube-node-lease namespace; -A looks into all of them.\n');
  });

  test('shows Leases that appear during the watch', async () => {
    let rounds = 0;
    // On a slow machine, the end of the watch may come before the event.
    await vi.waitFor(async () => {
      rounds += 1;
      const name = `new-${rounds}`;
      const host = makeLookingHost();
      const ended = audit(site.kubeconfig, { forMs: 500 * rounds, output: 'json' }, host);
      await vi.waitFor(() => expect(host.said.err).toContain('Watching'), SOON);
      await site.putLease('default', name, { holderIdentity: 'new-0' });
      expect(JSON.parse((await ended).out).leases).toContainEqual(
        expect.objectContaining({ name, state: 'untimed' }),
      );
    }, 20_000);
  });

  test('gives a lower bound on the interval that is not longer than the holder was watched', async () => {
    let rounds = 0;
    // On a slow machine, the end of the watch may come before the event.
    await vi.waitFor(async () => {
      rounds += 1;
      const name = `late-${rounds}`;
      const host = makeLookingHost();
      const watching = { ...host, clock: { ...host.clock, now: () => performance.now() } };
      const settings = { forMs: 1000 * rounds, namespace: 'kube-public', allNamespaces: false };
      const ended = audit(site.kubeconfig, settings, watching);
      await vi.waitFor(() => expect(host.said.err).toContain('Watching'), SOON);
      await setTimeout(500 * rounds);
      const spec = { holderIdentity: 'late-0', leaseDurationSeconds: 15, renewTime: timeAt(0) };
      await site.putLease('kube-public', name, spec);
      const [, bound = ''] =
        new RegExp(`^${name} +late-0 .* >([0-9.]+)s `, 'm').exec((await ended).out) ?? [];
      expect(Number.parseFloat(bound)).toBeLessThan(0.8 * rounds);
    }, 20_000);
  });

  test('stops at a signal, and shows its results so far', async () => {
    const host = makeLookingHost();
    const ended = audit(
      site.kubeconfig,
      { forMs: 3_600_000, namespace: 'default', allNamespaces: false },
      host,
    );
    await vi.waitFor(() => expect(host.said.err).toMatch(/^Watching \d Leases? for 1h; Ctrl-C/), SOON);
    host.stop();
    expect((await ended).out).toMatch(/^slow +slow-0 .* SlowFailover$/m);
  });

  test('explains what to do without the permission to list Leases of all namespaces', async () => {
    await expect(audit(site.limitedKubeconfig)).rejects.toThrow(
      /403 .* Ask for the right to list leases .* or name a namespace that you may read with --namespace/,
    );
    expect(
      await audit(site.limitedKubeconfig, { namespace: 'kube-system', allNamespaces: false }),
    ).toMatchObject({ code: 0 });
  });
});
