import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import {
  defaultVersion,
  type KubernetesVersion,
  leaseCandidateVersions,
} from '../control-plane/kubernetes-versions.ts';
import { makeRequester, type RunningTarget, type ServedApi } from './target.ts';

/** The API of a real server of this version, with all its versions of LeaseCandidate on. */
export function realApi(version: KubernetesVersion): ServedApi {
  return {
    name: `kube-apiserver ${version}`,
    minor: Number(version.split('.')[1]),
    candidateVersions: leaseCandidateVersions[version],
    // The embedded server follows the latest version. Older versions have other messages for invalid custom
    // resources.
    hasCustomCandidates: version === defaultVersion,
  };
}

/** Starts a real server with no other writers of Leases and LeaseCandidates. */
export async function startRealTarget(version: KubernetesVersion): Promise<RunningTarget> {
  const plane = await startControlPlane({
    version,
    readyWithinMs: 120_000,
    runtimeConfig: leaseCandidateVersions[version].map((each) => `coordination.k8s.io/${each}=true`),
  });
  try {
    await keepCoordinatorAway(plane);
    if (realApi(version).hasCustomCandidates) await installCandidateResource(plane);
    const access = {
      url: plane.url,
      ca: await readFile(plane.caFile, 'utf8'),
      token: plane.adminToken,
    };
    const reader = await makeReader(plane);
    const changer = await makeUser(plane, 'conformance-changer', [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['update', 'patch'] },
    ]);
    let requester = makeRequester(access);
    return {
      target: {
        ...realApi(version),
        reader,
        changer,
        request: (...asked) => requester.request(...asked),
        watch: (...asked) => requester.watch(...asked),
        async compact() {
          await compactEtcd(plane.etcdUrl);
          requester.close();
          // The server does not read from etcd what it has in its own cache.
          await plane.restartApiServer();
          requester = makeRequester(access);
        },
      },
      async stop() {
        requester.close();
        await plane.stop();
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

/**
 * The coordinator built into the server writes to Leases with candidates while it holds this lock. It never takes the
 * lock if another holder has it from the start.
 */
export async function keepCoordinatorAway(plane: ControlPlane): Promise<void> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const now = new Date().toISOString().replace('Z', '000Z');
  const spec = {
    holderIdentity: 'nobody',
    leaseDurationSeconds: 1_000_000,
    acquireTime: now,
    renewTime: now,
  };
  const name = 'leader-election-controller';
  for (let attempt = 1; ; attempt += 1) {
    try {
      await plane.request('PATCH', `${path}/${name}`, { spec });
      break;
    } catch (error) {
      // The lock does not exist yet. If the built-in coordinator creates it first, the next attempt overwrites it.
      await plane.request('POST', path, { metadata: { name }, spec }).catch(() => undefined);
      if (attempt === 20) throw error;
      await sleep(50);
    }
  }
  await plane.restartApiServer();
}

function makeReader(plane: ControlPlane): Promise<{ token: string; user: string }> {
  const verbs = ['get', 'list', 'watch'];
  return makeUser(plane, 'conformance-reader', [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases', 'leasecandidates'], verbs },
    { apiGroups: [''], resources: ['namespaces'], verbs },
  ]);
}

/** Creates a ServiceAccount with a ClusterRole of these rules. */
async function makeUser(
  plane: ControlPlane,
  name: string,
  rules: readonly object[],
): Promise<{ token: string; user: string }> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await plane.request('POST', accounts, { metadata: { name } });
  await plane.request('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
  await plane.request('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  });
  const { status } = await plane.request<{ status: { token: string } }>('POST', `${accounts}/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  });
  return { token: status.token, user: `system:serviceaccount:default:${name}` };
}

async function compactEtcd(url: string): Promise<void> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${url}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const { header } = (await post('range', { key: Buffer.from('none').toString('base64') })) as {
    readonly header: { readonly revision: string };
  };
  await post('compaction', { revision: header.revision, physical: true });
}
