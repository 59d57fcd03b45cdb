import { isForeign, readLockRecord } from '../controller/lock/lock-record.ts';
import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { decodeLease } from '../coordination/lease.ts';
import { specOf, textField } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { coordinatorLease, GROUP } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, hasStatus, unlessStatus } from '../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import type { DoctorSettings } from '../settings/inspection-settings.ts';
import type { Clock } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import { type ClusterClock, type ClusterScope, listObjects, observeElections } from './elections.ts';

export type Evidence = Awaited<ReturnType<typeof gatherEvidence>>;

type TrialLease =
  | { readonly kind: 'created'; readonly keepsStrategy: boolean }
  | { readonly kind: 'refused'; readonly message: string };

const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/**
 * Examines a cluster without changing it: the creation of a Lease in `namespace` is only a dry run. If the user may not
 * read the elections of all namespaces, reads only those of `namespace`. Rejects with the errors of the client. Does
 * not reject if the user lacks a permission, or if the server refuses the dry run or does not tell the user's name.
 */
export async function gatherEvidence(
  request: ClusterScope & { readonly clock: ClusterClock; readonly settings: DoctorSettings },
) {
  const { client, clock, namespace, settings } = request;
  const { lockNamespace, leaderLabel, isCrashEvidenceUsed } = settings;
  const rights = [
    ...rightsFor(lockNamespace),
    ...(leaderLabel ? labelRights : []),
    ...(isCrashEvidenceUsed ? evidenceRights : []),
  ];
  const version = await unlessStatus(client.request({ method: 'GET', path: '/version' }), 403);
  const [user, everywhere, lock, otherLocks, trial, missingEverywhere] = await Promise.all([
    whoAmI(client),
    unlessStatus(observeElections({ ...request, namespace: '' }), 403),
    readLock(client, clock, lockNamespace),
    readOtherLocks(client, clock, lockNamespace),
    tryLease(request),
    missingAmong(client, rights),
  ]);
  const here = everywhere ? undefined : await unlessStatus(observeElections(request), 403);
  const elections = everywhere ?? here;
  const missingHere = await missingAmong(
    client,
    missingEverywhere.map((right) => ({ namespace, ...right })),
  );
  const hasMoreHere = missingHere.length < missingEverywhere.length;
  // A coordinator that is limited to some namespaces reads no Namespace objects, so it needs no permission for them.
  const neededHere = missingHere.filter(({ resource }) => resource !== 'namespaces');
  return {
    // The version and the user's name are empty if the server refuses to give them.
    serverVersion: textField(version ?? {}, 'gitVersion') ?? '',
    user,
    // The elections that the user may read; undefined if the user may read no Leases, or no LeaseCandidates.
    elections,
    // `elections`: set if the user may read only the elections of `namespace`. `rights`: set if the user has permissions
    // in `namespace` that the user does not have in all namespaces.
    limitedTo: { elections: here && namespace, rights: hasMoreHere ? namespace : undefined },
    lock,
    lockNamespace,
    otherLocks,
    trial,
    missingRights: neededFor(elections?.candidateApis, hasMoreHere ? neededHere : missingEverywhere),
    serverAheadMs: clock.serverAheadMs,
  };
}

export interface Right {
  /** The API group; empty for the core group. */
  readonly group: 'coordination.k8s.io' | typeof GROUP | '';
  readonly resource: 'leases' | 'leasecandidates' | 'events' | 'pods' | 'namespaces';
  readonly verb: string;
  /** The optional feature that needs the permission; undefined if every coordinator should have the permission. */
  readonly purpose?: 'labels' | 'crashEvidence';
  /** The namespace of the objects; undefined for all namespaces. */
  readonly namespace?: string;
  /** The name, if the permission covers a single object; undefined for all objects. */
  readonly name?: string;
}

const NATIVE = 'coordination.k8s.io';

/** Returns the permissions that a coordinator with its lock in `lockNamespace` needs, as in deploy/rbac.yaml. */
export function rightsFor(lockNamespace: string): readonly Right[] {
  const leases = { group: NATIVE, resource: 'leases' } as const;
  const lock = { ...leases, ...coordinatorLease, namespace: lockNamespace };
  return [
    ...rightsOn(leases, 'list', 'watch', 'create', 'patch'),
    ...rightsOn({ group: NATIVE, resource: 'leasecandidates' }, 'list', 'watch', 'patch', 'delete'),
    ...rightsOn({ group: GROUP, resource: 'leasecandidates' }, 'list', 'watch', 'patch', 'delete'),
    ...rightsOn(lock, 'get', 'list', 'watch', 'update'),
    ...rightsOn({ ...leases, namespace: lockNamespace }, 'create'),
    ...rightsOn({ group: '', resource: 'events' }, 'create', 'patch'),
  ];
}

export const labelRights = rightsOn({ group: '', resource: 'pods', purpose: 'labels' }, 'list', 'patch');

/** The permissions to detect that a leader's container has ended (rule 17). */
export const evidenceRights = (['pods', 'namespaces'] as const).flatMap((resource) =>
  rightsOn({ group: '', resource, purpose: 'crashEvidence' }, 'list', 'watch'),
);

function rightsOn(target: Omit<Right, 'verb'>, ...verbs: readonly string[]): readonly Right[] {
  return verbs.map((verb) => ({ ...target, verb }));
}

/** Describes a permission. Names the API group only if the group is this project's own. */
export function describeRight({ group, resource, verb, namespace, name }: Right): string {
  return `${verb} ${resource}${group === GROUP ? `.${group}` : ''}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

/** Which coordinator holds the lock. `builtIn`: any foreign holder. `unknown`: the lock is not readable. */
export type LockHolder =
  | { readonly kind: 'ours' | 'builtIn'; readonly holder: string; readonly renewedSecondsAgo: number }
  /** No coordinator holds the lock: it does not exist, has no holder or has expired. */
  | { readonly kind: 'none'; readonly formerHolder: string }
  | { readonly kind: 'unknown' };

/** Returns the holder of the lock in `namespace`; `unknown` if the user may not read the lock. */
export async function readLock(
  client: KubernetesClient,
  clock: Clock,
  namespace: string,
): Promise<LockHolder> {
  const path = resourcePaths.lease(namespace, coordinatorLease.name);
  try {
    const lease = await unlessStatus(client.request({ method: 'GET', path }), 403);
    return isKubernetesObject(lease) ? lockHolderOf(lease, clock.wallTime()) : { kind: 'unknown' };
  } catch (error) {
    if (hasStatus(error, 404)) return { kind: 'none', formerHolder: '' };
    throw error;
  }
}

/** Drops permissions on LeaseCandidates that the server does not serve. Keeps all if the served APIs are unknown. */
function neededFor(
  candidateApis: readonly CandidateApiVersion[] | undefined,
  missing: readonly Right[],
): readonly Right[] {
  const isServed = (group: string) => candidateApis?.some((api) => api.startsWith(`${group}/`)) ?? true;
  return missing.filter(({ group, resource }) => resource !== 'leasecandidates' || isServed(group));
}

/** Returns the user's name; empty if the server refuses SelfSubjectReviews, or lacks them (before Kubernetes 1.28). */
async function whoAmI(client: KubernetesClient): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const { status } = await client.request({ method: 'POST', path: SELF_REVIEWS, body });
    const userInfo = isJsonObject(status) ? status['userInfo'] : undefined;
    return isJsonObject(userInfo) ? (textField(userInfo, 'username') ?? '') : '';
  } catch (error) {
    if (error instanceof ApiError) return '';
    throw error;
  }
}

async function tryLease({ client, namespace }: ClusterScope): Promise<TrialLease> {
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { generateName: 'doctor-', namespace },
    spec: { holderIdentity: '', strategy: 'OldestEmulationVersion' },
  };
  try {
    const lease = await client.request({
      method: 'POST',
      path: resourcePaths.leases(namespace),
      query: { dryRun: 'All' },
      body,
    });
    if (!isKubernetesObject(lease)) return { kind: 'refused', message: 'the answer is no Lease' };
    return { kind: 'created', keepsStrategy: specOf(lease)['strategy'] !== undefined };
  } catch (error) {
    if (error instanceof ApiError) return { kind: 'refused', message: error.message };
    throw error;
  }
}

async function missingAmong(client: KubernetesClient, asked: readonly Right[]): Promise<readonly Right[]> {
  const allowed = await Promise.all(asked.map((right) => isAllowed(client, right)));
  return asked.filter((_, index) => allowed[index] === false);
}

async function isAllowed(client: KubernetesClient, { purpose: _, ...right }: Right): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: right },
  };
  // By default, all authenticated users may create reviews. If the server refuses one, the permission counts as missing.
  const review = await unlessStatus(client.request({ method: 'POST', path: ACCESS_REVIEWS, body }), 403);
  const status = review?.['status'];
  return isJsonObject(status) && status['allowed'] === true;
}

/** Returns the locks in other namespaces that a coordinator holds; empty if the user may not list Leases. */
async function readOtherLocks(
  client: KubernetesClient,
  clock: Clock,
  namespace: string,
): Promise<readonly { readonly namespace: string; readonly holder: string }[]> {
  const list = listObjects(client, {
    path: resourcePaths.leases(''),
    query: { fieldSelector: `metadata.name=${coordinatorLease.name}` },
    decode: (raw) => ({ found: raw.metadata.namespace ?? '', lock: lockHolderOf(raw, clock.wallTime()) }),
  });
  const { objects = [] } = (await unlessStatus(list, 403)) ?? {};
  return objects.flatMap(({ found, lock }) => {
    const isLock = lock.kind === 'ours' || (lock.kind === 'builtIn' && found === coordinatorLease.namespace);
    return isLock && found !== namespace ? [{ namespace: found, holder: lock.holder }] : [];
  });
}

/** Compares renewTime with the wall clock, because a command that reads the lock only once sees no renewals. */
function lockHolderOf(lease: KubernetesObject, wallTime: bigint): LockHolder {
  const { holder, leaseDurationMs = 0 } = readLockRecord(lease);
  const { renewTime } = decodeLease(lease);
  const agoMs = renewTime === undefined ? Number.POSITIVE_INFINITY : Number(wallTime - renewTime) / 1000;
  if (holder === '' || agoMs > leaseDurationMs) return { kind: 'none', formerHolder: holder };
  return { kind: isForeign(holder) ? 'builtIn' : 'ours', holder, renewedSecondsAgo: agoMs / 1000 };
}
