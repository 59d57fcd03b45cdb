import { readFile } from 'node:fs/promises';
import { loadAllYaml } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CUSTOM_API_VERSION as apiVersion } from '../../src/coordination/candidate-sources.ts';
import { GROUP } from '../../src/election/model.ts';
import type { ApiAccess } from '../control-plane/api-request.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import {
  candidatePath,
  coordinatorAccount,
  coordinatorLease,
  createCandidate,
  createLease,
  createNamespaces,
  leasesPath,
  microTime,
  readLease,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { accessBy, review } from './access-review.ts';
import { type Coordinator, eventually, installRole, startCoordinator, untilActive } from './coordinator.ts';
import { type ChartObject, startHelm } from './helm.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly Rule[];
}

/**
 * A permission: `create leases`, or `get leases leader-election-controller`. For our own group: `list
 * leasecandidates.coordinated-leader-election.dev`.
 */
type Permission = string;

function permissionsIn(rules: readonly Rule[]): Permission[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups
        .flatMap((group) =>
          resources.map((resource) => (group === GROUP ? `${resource}.${group}` : resource)),
        )
        .flatMap((resource) => resourceNames.map((name) => `${verb} ${resource} ${name}`.trim())),
    ),
  );
}

function without(rules: readonly Rule[], missing: Permission): Rule[] {
  const ofOneGroup = rules.flatMap((rule) =>
    rule.apiGroups.map((group) => ({ ...rule, apiGroups: [group] })),
  );
  return ofOneGroup.map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter((verb) => !permissionsIn([{ ...rule, verbs: [verb] }]).includes(missing)),
  }));
}

const manifests = loadAllYaml(
  await readFile(new URL('../../deploy/rbac.yaml', import.meta.url), 'utf8'),
) as Manifest[];

function rulesOf(kind: 'ClusterRole' | 'Role'): readonly Rule[] {
  const rules = manifests.flatMap((manifest) => (manifest.kind === kind ? (manifest.rules ?? []) : []));
  if (rules.length === 0) throw new Error(`deploy/rbac.yaml has no ${kind}`);
  return rules;
}

const electionRules = rulesOf('ClusterRole');
const lockRules = rulesOf('Role');
const rbacGroup = '/apis/rbac.authorization.k8s.io/v1';
const system = coordinatorAccount.namespace;

let plane: ControlPlane;
const replicas: Coordinator[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  await installCandidateResource(plane);
});

afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.kill()));
  await plane?.stop();
});

/**
 * Creates a ServiceAccount with roles in namespaces, and returns a kubeconfig for it. Roles are bound in each
 * namespace separately, as for a coordinator that is limited to some: a missing permission in one cannot come from
 * another.
 */
async function account(name: string, rules: Readonly<Record<string, readonly Rule[]>>): Promise<string> {
  await plane.request('POST', `/api/v1/namespaces/${system}/serviceaccounts`, { metadata: { name } });
  for (const [namespace, granted] of Object.entries(rules)) await grant(name, namespace, granted);
  return plane.kubeconfigFor({ serviceAccount: { namespace: system, name } });
}

let grants = 0;

async function grant(accountName: string, namespace: string, rules: readonly Rule[]): Promise<void> {
  grants += 1;
  const name = `${accountName}-${grants}`;
  const namespaced = `${rbacGroup}/namespaces/${namespace}`;
  // The API server refuses a rule without a verb.
  const left = rules.filter(({ verbs }) => verbs.length > 0);
  await plane.request('POST', `${namespaced}/roles`, { metadata: { name }, rules: left });
  await plane.request('POST', `${namespaced}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name: accountName, namespace: system }],
  });
}

async function start(kubeconfig: string, ...args: readonly string[]): Promise<Coordinator> {
  const replica = await startCoordinator(kubeconfig, args);
  replicas.push(replica);
  return replica;
}

/** Waits until it has logged an error with the missing permission and its namespace. */
async function untilRefused(
  replica: Pick<Coordinator, 'waitForLog'>,
  permission: Permission,
  namespace: string,
  msg: string,
) {
  const [verb, what = ''] = permission.split(' ');
  const [resource = '', ...own] = what.split('.');
  const native = resource === 'events' || resource === 'pods' ? '' : 'coordination.k8s.io';
  const group = own.join('.') || native;
  return replica.waitForLog((line) => {
    const { message = '' } = (line['err'] ?? {}) as { readonly message?: string };
    return (
      line.msg === msg &&
      message.includes('403 Forbidden') &&
      message.includes(
        `cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "${namespace}"`,
      )
    );
  });
}

/** The namespace of a missing permission. */
function namespaceWithout(permission: Permission): string {
  return `no-${permission.replaceAll(/[ .]/g, '-')}`;
}

describe('a missing permission of deploy/rbac.yaml', () => {
  /** Makes the coordinator try a write in a namespace in which it has all other permissions. */
  const writes: Readonly<Record<Permission, (namespace: string) => Promise<void>>> = {
    'create leases': (namespace) => createCandidate(plane, { namespace, lease: 'web', name: 'fresh' }),
    'patch leases': async (namespace) => {
      const released = { metadata: { name: 'web' }, spec: { holderIdentity: '', leaseDurationSeconds: 1 } };
      await plane.request('POST', leasesPath(namespace), released);
      await createCandidate(plane, { namespace, lease: 'web', name: 'fresh' });
    },
    'patch leasecandidates': (namespace) =>
      createCandidate(plane, { namespace, lease: 'web', name: 'stale', renewedAgoMs: 600_000 }),
  };
  /** Makes it try to write Events: the second is a repeated conflict, which is counted up in the first. */
  const tells: Readonly<Record<Permission, (namespace: string) => Promise<void>>> = {
    'create events': (namespace) => createCandidate(plane, { namespace, lease: 'web', name: 'fresh' }),
    'patch events': async (namespace) => {
      const rival = { namespace, lease: 'web', name: 'rival', strategy: 'example.com/other' };
      const untilTold = async (reason: string, count: number) =>
        eventually(async () => {
          const path = `/api/v1/namespaces/${namespace}/events`;
          const { items } = await plane.request<{ items: { reason: string }[] }>('GET', path);
          return items.filter((event) => event.reason === reason).length === count || undefined;
        }, `an Event of ${reason}`);
      await createCandidate(plane, { namespace, lease: 'web', name: 'fresh' });
      await untilTold('LeaderElected', 1);
      await createCandidate(plane, rival);
      await untilTold('StrategyConflict', 1);
      await plane.request('DELETE', candidatePath(rival));
      await untilTold('StrategyResolved', 1);
      await createCandidate(plane, rival);
    },
  };
  const reads: readonly Permission[] = [
    'list leases',
    'watch leases',
    'list leasecandidates',
    'watch leasecandidates',
    `list leasecandidates.${GROUP}`,
    `watch leasecandidates.${GROUP}`,
  ];

  test('to see Leases and LeaseCandidates: without one, an error names it, and granting it is enough', async () => {
    await createNamespaces(plane, ...reads.map(namespaceWithout));
    const missing = reads.map((permission) => [
      namespaceWithout(permission),
      without(electionRules, permission),
    ]);
    const rules = { [system]: lockRules, ...Object.fromEntries(missing) };
    const namespaces = reads.map(namespaceWithout).join();
    const replica = await start(await account('watcher', rules), '--no-take-over', '--namespace', namespaces);
    await Promise.all(
      reads.map((permission) =>
        untilRefused(replica, permission, namespaceWithout(permission), 'Watching failed'),
      ),
    );
    expect((await replica.get('/readyz')).status).toBe(503);
    // For our own group, no candidate is required: unread ones are visible because they take no part.
    const unseen = namespaceWithout(`list leasecandidates.${GROUP}`);
    await createCandidate(plane, { apiVersion, namespace: unseen, lease: 'web', name: 'unseen' });
    const candidates = async () =>
      /^cle_candidates\{.*\} [1-9]/m.test((await replica.get('/metrics')).body) || undefined;
    expect(await candidates()).toBeUndefined();
    await Promise.all(
      reads.map((permission) => grant('watcher', namespaceWithout(permission), electionRules)),
    );
    await eventually(
      async () => (await replica.get('/readyz')).status === 200 || undefined,
      'it sees everything once it may',
    );
    await eventually(candidates, 'it sees the candidate of our own group');
    expect(await replica.stop()).toBe(0);
  });

  test('to take the lock: a replica that sees nothing leaves it to one that does', async () => {
    const holder = async () => (await readLease(plane, coordinatorLease))?.spec.holderIdentity || undefined;
    const builtIn = await eventually(holder, 'the built-in has the lock');
    await createNamespaces(plane, 'dark', 'unlit');
    const kubeconfig = await account('blind', { [system]: lockRules });
    const replica = await start(kubeconfig, '--take-over', '--namespace', 'dark,unlit');
    await Promise.all(
      ['dark', 'unlit'].map((namespace) =>
        untilRefused(replica, 'list leases', namespace, 'Watching failed'),
      ),
    );
    await replica.waitForLog(({ state }) => state === 'waiting');
    expect(await holder()).toBe(builtIn);
    // One namespace is enough, although the other one cannot be read.
    await grant('blind', 'dark', electionRules);
    await replica.waitForLog(({ state }) => state === 'active');
    await createCandidate(plane, { namespace: 'dark', lease: 'web', name: 'candidate' });
    const lease = await eventually(
      () => readLease(plane, { namespace: 'dark', name: 'web' }),
      'an election where it may see',
    );
    expect(lease.spec.holderIdentity).toBe('candidate');
    expect((await replica.get('/readyz')).status).toBe(503);
    expect(await replica.stop()).toBe(0);
  });

  test('to write: without one, an error names it, and other namespaces are not affected', async () => {
    const permissions = [...Object.keys(writes), ...Object.keys(tells)];
    const namespaces = [...permissions.map(namespaceWithout), 'complete'];
    await createNamespaces(plane, ...namespaces);
    const missing = permissions.map((permission) => [
      namespaceWithout(permission),
      without(electionRules, permission),
    ]);
    const rules = { [system]: lockRules, complete: electionRules, ...Object.fromEntries(missing) };
    const replica = await start(await account('writer', rules), '--namespace', namespaces.join());
    await untilActive(replica);
    await Promise.all(
      Object.entries(writes).map(async ([permission, provoke]) => {
        const namespace = namespaceWithout(permission);
        await provoke(namespace);
        const { level, lease } = await untilRefused(replica, permission, namespace, 'Write failed');
        expect({ level, lease }).toEqual({ level: 'error', lease: `${namespace}/web` });
      }),
    );
    await Promise.all(
      Object.entries(tells).map(async ([permission, provoke]) => {
        const namespace = namespaceWithout(permission);
        await provoke(namespace);
        const { level } = await untilRefused(replica, permission, namespace, 'Writing an Event failed');
        expect(level).toBe('warn');
        expect((await readLease(plane, { namespace, name: 'web' }))?.spec.holderIdentity).toBe('fresh');
      }),
    );
    await createCandidate(plane, { namespace: 'complete', lease: 'web', name: 'candidate' });
    const lease = await eventually(
      () => readLease(plane, { namespace: 'complete', name: 'web' }),
      'an election where nothing is missing',
    );
    expect(lease.spec.holderIdentity).toBe('candidate');
    expect((await replica.get('/readyz')).status).toBe(200);
    expect(await replica.stop()).toBe(0);
  });
});

describe('the permissions that the chart adds for leader labels', () => {
  const needed: Readonly<Record<Permission, string>> = {
    'list pods': 'Listing Pods for leader labels failed: no label is written until it succeeds',
    'patch pods': 'Writing a leader label failed',
  };
  let podRules: readonly Rule[];

  beforeAll(async () => {
    const helm = await startHelm();
    const objects = (await helm.render({ config: { leaderLabel: true } })) as readonly (ChartObject &
      Manifest)[];
    podRules = objects.find(({ metadata }) => metadata.name.endsWith('-pods'))?.rules ?? [];
    await helm.remove();
  });

  /** A Pod whose candidate leads and has renewed its Lease. */
  async function makeLeader(namespace: string): Promise<() => Promise<Record<string, string>>> {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const { metadata } = await plane.request<{ metadata: { uid: string } }>('POST', pods, {
      metadata: { name: 'web-0' },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    });
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: metadata.uid };
    const candidate = { apiVersion, namespace, lease: 'web', name: 'web-0' };
    await createCandidate(plane, candidate);
    await plane.request('PATCH', candidatePath(candidate), { metadata: { ownerReferences: [owner] } });
    const times = { acquireTime: microTime(60_000), renewTime: microTime() };
    const spec = { holderIdentity: 'web-0', leaseDurationSeconds: 3600, ...times };
    await createLease(plane, { namespace, name: 'web' }, spec);
    return async () => {
      const pod = await plane.request<{ metadata: { labels?: Record<string, string> } }>(
        'GET',
        `${pods}/web-0`,
      );
      return pod.metadata.labels ?? {};
    };
  }

  test('are these', () => {
    expect(permissionsIn(podRules).sort()).toEqual(Object.keys(needed).sort());
  });

  test.each(Object.entries(needed))(
    'without %s, an error names it, and elections go on; granting it is enough',
    async (permission, msg) => {
      const namespace = namespaceWithout(permission);
      await createNamespaces(plane, namespace);
      const name = `labels-${namespace}`;
      const rules = [...electionRules, ...without(podRules, permission)];
      const kubeconfig = await account(name, { [system]: lockRules, [namespace]: rules });
      const labels = await makeLeader(namespace);
      const replica = await start(kubeconfig, '--leader-label', '--namespace', namespace);
      await untilRefused(replica, permission, namespace, msg);
      await createCandidate(plane, { apiVersion, namespace, lease: 'other', name: 'other-1' });
      const other = { namespace, name: 'other' };
      await eventually(() => readLease(plane, other), 'an election without labels');
      expect(await labels()).toEqual({});
      await grant(name, namespace, podRules);
      const isLabelled = async () => (await labels())[`${GROUP}/web`] === 'leader' || undefined;
      await eventually(isLabelled, 'the leader is labelled', 90_000);
      expect(await replica.stop()).toBe(0);
    },
  );
});

describe('deploy/rbac.yaml grants only', () => {
  let coordinator: ApiAccess;
  let nobody: ApiAccess;
  beforeAll(async () => {
    coordinator = await accessBy(plane, await installRole(plane));
    nobody = await accessBy(plane, await account('nobody', {}));
  });

  /** All permissions of a user in a namespace, beyond those of all users. */
  async function permissions(access: ApiAccess, namespace: string): Promise<Set<Permission>> {
    const listed = await review<{ readonly resourceRules: readonly Rule[] }>(
      access,
      'SelfSubjectRulesReview',
      {
        namespace,
      },
    );
    return new Set(permissionsIn(listed.resourceRules));
  }

  test.for([
    { namespace: system, wantRules: [...electionRules, ...lockRules] },
    { namespace: 'default', wantRules: electionRules },
  ])('its documented permissions, in $namespace', async ({ namespace, wantRules }) => {
    const [ours, everybodys] = await Promise.all(
      [coordinator, nobody].map((access) => permissions(access, namespace)),
    );
    const own = [...(ours ?? [])].filter((permission) => !everybodys?.has(permission));
    expect(own.sort()).toEqual([...new Set(permissionsIn(wantRules))].sort());
  });

  const lease = { group: 'coordination.k8s.io', resource: 'leases' };

  test.for([
    { name: 'update the lock', attributes: { ...lease, verb: 'update', ...coordinatorLease }, want: true },
    {
      name: "replace anybody else's Lease",
      attributes: { ...lease, verb: 'update', namespace: system, name: 'kube-scheduler' },
      want: false,
    },
    {
      name: 'replace a Lease of the same name elsewhere',
      attributes: { ...lease, verb: 'update', namespace: 'default', name: coordinatorLease.name },
      want: false,
    },
    {
      name: 'delete Leases',
      attributes: { ...lease, verb: 'delete', namespace: system, name: coordinatorLease.name },
      want: false,
    },
    {
      name: 'create LeaseCandidates',
      attributes: { ...lease, resource: 'leasecandidates', verb: 'create', namespace: 'default' },
      want: false,
    },
    {
      name: 'read Secrets',
      attributes: { group: '', resource: 'secrets', verb: 'get', namespace: system },
      want: false,
    },
    { name: 'list Pods', attributes: { group: '', resource: 'pods', verb: 'list' }, want: false },
  ])('so much that it may or may not $name', async ({ attributes: resourceAttributes, want }) => {
    const { allowed } = await review<{ readonly allowed: boolean }>(coordinator, 'SelfSubjectAccessReview', {
      resourceAttributes,
    });
    expect(allowed).toBe(want);
  });
});
