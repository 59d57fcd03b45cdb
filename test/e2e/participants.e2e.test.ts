import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { sortedYaml } from '../chart/plain-manifests.ts';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import {
  candidatesPath,
  coordinatorAccount,
  coordinatorLease,
  createLease,
  createNamespaces,
  leasePath,
  leasesPath,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { accessBy, review } from './access-review.ts';
import { eventually } from './coordinator.ts';
import { type ChartObject, chartFolder, type Helm, release, startHelm } from './helm.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';
import { permissionsIn, type RbacObject } from './permissions.ts';

const group = 'coordinated-leader-election.dev';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const web = { leaseName: 'web' };

let helm: Helm;
beforeAll(async () => {
  helm = await startHelm();
});
afterAll(() => helm?.remove());

async function apply(kubectl: Kubectl, objects: readonly ChartObject[]): Promise<void> {
  const { code, stderr } = await kubectl.run(['apply', '--server-side', '--filename', '-'], {
    input: sortedYaml(objects),
  });
  expect(stderr).toBe('');
  expect(code).toBe(0);
}

async function accountIn(plane: ControlPlane, namespace: string, name: string): Promise<ApiAccess> {
  await plane.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  return accessBy(plane, await plane.kubeconfigFor({ serviceAccount: { namespace, name } }));
}

describe('the roles of the chart that others are given', () => {
  let plane: ControlPlane;
  let kubectl: Kubectl;
  let nobody: ApiAccess;
  const chartRoles: RbacObject[] = [];

  beforeAll(async () => {
    plane = await startControlPlane();
    kubectl = await kubectlFor(plane.kubeconfig);
    await createNamespaces(plane, 'team-a', 'team-b');
    const objects = await helm.render({ rbac: { aggregateToEdit: true } });
    await apply(kubectl, objects);
    chartRoles.push(
      ...(objects as readonly RbacObject[]).filter(({ metadata }) => metadata.name.includes(':')),
    );
    nobody = await accountIn(plane, 'team-a', 'nobody');
    // It adds roles up that say that they are parts of others.
    await plane.startControllerManager({
      name: 'aggregating',
      extraArgs: ['--controllers=clusterrole-aggregation-controller'],
    });
  });
  afterAll(async () => {
    await kubectl?.remove();
    await plane?.stop();
  });

  /** A new ServiceAccount of team-a that has a ClusterRole there. */
  async function accountWith(clusterRole: string): Promise<ApiAccess> {
    const name = clusterRole.replace(':', '-');
    const access = await accountIn(plane, 'team-a', name);
    await plane.request('POST', `${rbac}/namespaces/team-a/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'team-a' }],
    });
    return access;
  }

  /** Everything that somebody may do in a namespace, beyond what everybody may. */
  async function permissions(access: ApiAccess, namespace: string): Promise<readonly string[]> {
    const [own, everybodys] = await Promise.all(
      [access, nobody].map(async (each) => {
        const kind = 'SelfSubjectRulesReview';
        const listed = await review<{ resourceRules: RbacObject['rules'] }>(each, kind, { namespace });
        return permissionsIn({ rules: listed.resourceRules });
      }),
    );
    return [...new Set(own)].filter((permission) => !everybodys?.includes(permission)).sort();
  }

  const onCandidates = (...verbs: readonly string[]) =>
    verbs.map((verb) => `${verb} leasecandidates.${group}`);
  const onLeases = (...verbs: readonly string[]) => verbs.map((verb) => `${verb} leases.coordination.k8s.io`);

  test.for([
    {
      role: 'participant',
      want: [
        ...onCandidates('create', 'delete', 'get', 'list', 'patch', 'update', 'watch'),
        ...onLeases('get', 'list', 'patch', 'update', 'watch'),
      ],
    },
    { role: 'reader', want: onCandidates('get', 'list', 'watch') },
  ])('$role: what it allows in its namespace, and nothing elsewhere', async ({ role, want }) => {
    const access = await accountWith(`${release.name}:${role}`);
    await eventually(
      async () => (await permissions(access, 'team-a')).length > 0 || undefined,
      'the role is bound',
    );
    expect(await permissions(access, 'team-a')).toEqual(want.sort());
    expect(await permissions(access, 'team-b')).toEqual([]);
  });

  test('a participant publishes, renews and removes its candidate, and renews a Lease that it cannot make or delete', async () => {
    const access = await accountIn(plane, 'team-a', 'program');
    const status = async (method: string, path: string, body?: unknown) =>
      (await apiRequest(access, method, path, body)).status;
    await createLease(plane, { namespace: 'team-a', name: 'web' }, { holderIdentity: 'web-0' });
    const lease = leasePath({ namespace: 'team-a', name: 'web' });
    expect(await status('GET', lease)).toBe(403);
    await plane.request('POST', `${rbac}/namespaces/team-a/rolebindings`, {
      metadata: { name: 'program' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: `${release.name}:participant`,
      },
      subjects: [{ kind: 'ServiceAccount', name: 'program', namespace: 'team-a' }],
    });
    await eventually(async () => (await status('GET', lease)) === 200 || undefined, 'the role is bound');

    const own = ownCandidatesPath('team-a');
    const candidate = {
      apiVersion: `${group}/v1alpha1`,
      kind: 'LeaseCandidate',
      metadata: { name: 'web-0' },
      spec: web,
    };
    const renewTime = '2026-11-22T10:00:00.000000Z';
    expect(await status('POST', own, candidate)).toBe(201);
    expect(await status('PATCH', `${own}/web-0`, { spec: { renewTime } })).toBe(200);
    expect(await status('GET', `${own}?fieldSelector=spec.leaseName%3Dweb`)).toBe(200);
    expect(await status('PATCH', lease, { spec: { renewTime } })).toBe(200);
    const read = JSON.parse((await apiRequest(access, 'GET', lease)).text) as object;
    expect(await status('PUT', lease, read)).toBe(200);
    expect(await status('DELETE', `${own}/web-0`)).toBe(200);

    expect(await status('DELETE', own)).toBe(403);
    expect(await status('DELETE', lease)).toBe(403);
    expect(await status('POST', leasesPath('team-a'), { metadata: { name: 'other' } })).toBe(403);
    expect(await status('POST', ownCandidatesPath('team-b'), candidate)).toBe(403);
    expect(await status('GET', leasesPath('team-b'))).toBe(403);
    expect(await status('GET', `/apis/${group}/v1alpha1/leasecandidates`)).toBe(403);
    expect(await status('GET', candidatesPath({ namespace: 'team-a' }))).toBe(403);
    expect(await status('GET', '/api/v1/namespaces/team-a/pods')).toBe(403);
  });

  test.for([
    { role: 'view', may: ['get', 'list', 'watch'], mayNot: ['create', 'update', 'patch', 'delete'] },
    {
      role: 'edit',
      may: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
      mayNot: ['deletecollection'],
    },
    { role: 'admin', may: ['get', 'create', 'delete'], mayNot: ['deletecollection'] },
  ])('who has $role in a namespace may do as much with its candidates', async ({ role, may, mayNot }) => {
    const access = await accountWith(role);
    const isAllowed = async (verb: string, namespace = 'team-a') => {
      const resourceAttributes = { group, resource: 'leasecandidates', verb, namespace };
      const kind = 'SelfSubjectAccessReview';
      return (await review<{ allowed: boolean }>(access, kind, { resourceAttributes })).allowed;
    };
    for (const verb of may) {
      await eventually(async () => (await isAllowed(verb)) || undefined, `${role} may ${verb} candidates`);
    }
    for (const verb of mayNot) expect(await isAllowed(verb), verb).toBe(false);
    expect(await isAllowed('list', 'team-b')).toBe(false);
  });

  test('who may edit a namespace could write its Leases before, and is given nothing but candidates', async () => {
    const [participant] = chartRoles.filter(({ metadata }) => metadata.name.endsWith(':participant'));
    const { rules } = await plane.request<RbacObject>('GET', `${rbac}/clusterroles/system:aggregate-to-edit`);
    const before = permissionsIn({ rules });
    const added = permissionsIn(participant ?? {}).filter((permission) => !before.includes(permission));
    expect(added.length).toBeGreaterThan(0);
    expect(added.filter((permission) => !permission.endsWith(`leasecandidates.${group}`))).toEqual([]);
  });
});

test('the FlowSchema of the chart is left out where the API server has none', async () => {
  const plane = await startControlPlane({
    runtimeConfig: ['coordination.k8s.io/v1beta1=true', 'flowcontrol.apiserver.k8s.io/v1=false'],
    extraApiServerArgs: ['--enable-priority-and-fairness=false'],
  });
  onTestFinished(() => plane.stop());
  const { code, stdout, stderr } = await helm.run([
    ...['install', release.name, chartFolder, '--namespace', release.namespace],
    ...['--set', 'flowSchema.enabled=true', '--dry-run=server', '--kubeconfig', plane.kubeconfig],
  ]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('kind: ClusterRole');
  expect(stdout).not.toContain('FlowSchema');
});

describe.each(['1.36.3', '1.31.4'] as const)('the FlowSchema of the chart, on Kubernetes %s', (version) => {
  const flowcontrol = '/apis/flowcontrol.apiserver.k8s.io/v1';
  let plane: ControlPlane;
  let kubectl: Kubectl;
  let coordinator: ApiAccess;
  let participant: ApiAccess;
  let schema: ChartObject;
  const names = new Map<string, string>();

  beforeAll(async () => {
    plane = await startControlPlane({ version });
    kubectl = await kubectlFor(plane.kubeconfig);
    await createNamespaces(plane, 'team-a');
    const objects = await helm.render({ flowSchema: { enabled: true } });
    const [found, ...others] = objects.filter(({ kind }) => kind === 'FlowSchema');
    if (!found || others.length > 0) throw new Error('the chart has not one FlowSchema');
    schema = found;
    await apply(
      kubectl,
      objects.filter(({ kind }) => kind !== 'FlowSchema'),
    );
    coordinator = await accessBy(plane, await plane.kubeconfigFor({ serviceAccount: coordinatorAccount }));
    participant = await accountIn(plane, 'team-a', 'web');
  });
  afterAll(async () => {
    await kubectl?.remove();
    await plane?.stop();
  });

  /** The names of the FlowSchema and of the priority level that a request came under, whatever its answer was. */
  async function flowOf(access: ApiAccess, method: string, path: string, body?: unknown) {
    const { headers } = await apiRequest(access, method, path, body);
    const nameOf = async (header: string, resource: string) => {
      const uid = String(headers[header]);
      if (!names.has(uid)) {
        const { items } = await plane.request<{ items: { metadata: { uid: string; name: string } }[] }>(
          'GET',
          `${flowcontrol}/${resource}`,
        );
        for (const { metadata } of items) names.set(metadata.uid, metadata.name);
      }
      return names.get(uid);
    };
    return {
      schema: await nameOf('x-kubernetes-pf-flowschema-uid', 'flowschemas'),
      level: await nameOf('x-kubernetes-pf-prioritylevel-uid', 'prioritylevelconfigurations'),
    };
  }

  const ours = { schema: release.name, level: 'leader-election' };
  const usual = { schema: 'service-accounts', level: 'workload-low' };
  const own = ownCandidatesPath('team-a');
  const lease = leasePath({ namespace: 'team-a', name: 'web' });

  test('without it, participants queue with all other programs', async () => {
    expect(await flowOf(participant, 'GET', lease)).toEqual(usual);
    expect(await flowOf(participant, 'GET', own)).toEqual(usual);
  });

  describe('once it is there', () => {
    beforeAll(async () => {
      await apply(kubectl, [schema]);
      const isHeeded = async () =>
        (await flowOf(participant, 'GET', lease)).schema === release.name || undefined;
      await eventually(isHeeded, 'the API server heeds it');
    });

    const asWatch = 'watch=true&timeoutSeconds=1';
    test.for([
      { name: 'reads its Lease', method: 'GET', path: lease },
      {
        name: 'watches its Lease',
        method: 'GET',
        path: `${leasesPath('team-a')}?fieldSelector=metadata.name%3Dweb&${asWatch}`,
      },
      { name: 'renews its Lease', method: 'PATCH', path: lease, body: { spec: {} } },
      { name: 'replaces its Lease', method: 'PUT', path: lease, body: {} },
      { name: 'publishes its candidate', method: 'POST', path: own, body: { spec: web } },
      { name: 'renews its candidate', method: 'PATCH', path: `${own}/web-0`, body: { spec: {} } },
      { name: 'watches candidates', method: 'GET', path: `${own}?${asWatch}` },
      { name: 'removes its candidate', method: 'DELETE', path: `${own}/web-0` },
      {
        name: 'publishes a candidate of Kubernetes',
        method: 'POST',
        path: candidatesPath({ namespace: 'team-a' }),
        body: {},
      },
    ])('a participant that $name goes before other programs', async ({ method, path, body }) => {
      expect(await flowOf(participant, method, path, body)).toEqual(ours);
    });

    test.for([
      { name: 'lists pods', path: '/api/v1/namespaces/team-a/pods' },
      { name: 'lists the Leases of all namespaces', path: '/apis/coordination.k8s.io/v1/leases' },
      { name: 'lists the candidates of all namespaces', path: `/apis/${group}/v1alpha1/leasecandidates` },
    ])('a participant that $name does not', async ({ path }) => {
      expect(await flowOf(participant, 'GET', path)).toEqual(usual);
    });

    test.for([
      { name: 'lists Leases', method: 'GET', path: '/apis/coordination.k8s.io/v1/leases' },
      { name: 'watches Leases', method: 'GET', path: `/apis/coordination.k8s.io/v1/leases?${asWatch}` },
      { name: 'lists candidates', method: 'GET', path: `/apis/${group}/v1alpha1/leasecandidates` },
      {
        name: 'watches candidates',
        method: 'GET',
        path: `/apis/${group}/v1alpha1/leasecandidates?${asWatch}`,
      },
      { name: 'grants a Lease', method: 'PATCH', path: lease, body: { spec: {} } },
      { name: 'pings a candidate', method: 'PATCH', path: `${own}/web-0`, body: { spec: {} } },
      { name: 'collects a candidate', method: 'DELETE', path: `${own}/web-0` },
    ])('the coordinator that $name goes before other programs', async ({ method, path, body }) => {
      expect(await flowOf(coordinator, method, path, body)).toEqual(ours);
    });

    test("the coordinator's lock goes as that of every component of kube-system", async () => {
      const lock = leasePath(coordinatorLease);
      const want = { schema: 'system-leader-election', level: 'leader-election' };
      expect(await flowOf(coordinator, 'GET', lock)).toEqual(want);
      expect(await flowOf(coordinator, 'PUT', lock, {})).toEqual(want);
    });

    test("the coordinator's Events wait with other requests", async () => {
      const events = '/api/v1/namespaces/team-a/events';
      expect((await flowOf(coordinator, 'POST', events, {})).level).not.toBe('leader-election');
    });
  });
});
