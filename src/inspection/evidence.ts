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

/** The result of creating a Lease as a dry run. */
type TrialLease =
  | { readonly kind: 'created'; readonly keepsStrategy: boolean }
  | { readonly kind: 'refused'; readonly message: string };

const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/**
 * Examines a cluster without changing it. Creates a Lease in `namespace` as a dry run. Reads only the elections of
 * `namespace` if the user may not read all. Rejects with the errors of the client if the server cannot be reached.
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
  // A coordinator that is limited to namespaces does not read Namespaces.
  const neededHere = missingHere.filter(({ resource }) => resource !== 'namespaces');
  return {
    // `serverVersion` and `user` are empty if they are unknown.
    serverVersion: textField(version ?? {}, 'gitVersion') ?? '',
    user,
    // Undefined if these credentials may not read Leases or LeaseCandidates.
    elections,
    // The namespace to which the user's or the coordinator's permissions are limited; undefined for no limit.
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
  /** Empty for the core group. */
  readonly group: 'coordination.k8s.io' | typeof GROUP | '';
  readonly resource: 'leases' | 'leasecandidates' | 'events' | 'pods' | 'namespaces';
  readonly verb: string;
  /** Set if elections do not need the permission. */
  readonly purpose?: 'labels' | 'crashEvidence';
  /** Undefined for all namespaces. */
  readonly namespace?: string;
  /** Undefined for any name. */
  readonly name?: string;
}

const NATIVE = 'coordination.k8s.io';

/** Returns the permissions of deploy/rbac.yaml, for a coordinator with its lock in `lockNamespace`. */
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

/** Describes a permission. Adds the API group only if it is this project's own. */
export function describeRight({ group, resource, verb, namespace, name }: Right): string {
  return `${verb} ${resource}${group === GROUP ? `.${group}` : ''}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

/** The holder of the coordinator's lock. It decides the elections of the cluster. */
export type LockHolder =
  | { readonly kind: 'ours' | 'builtIn'; readonly holder: string; readonly renewedSecondsAgo: number }
  /** There is no holder, or it has expired. */
  | { readonly kind: 'none'; readonly formerHolder: string }
  | { readonly kind: 'unknown' };

/** Reads the lock in `namespace`. Rejects with the errors of the client, except a refusal. */
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

/** Drops candidate permissions for APIs that are not served. Keeps all if the served APIs are unknown. */
function neededFor(
  candidateApis: readonly CandidateApiVersion[] | undefined,
  missing: readonly Right[],
): readonly Right[] {
  const isServed = (group: string) => candidateApis?.some((api) => api.startsWith(`${group}/`)) ?? true;
  return missing.filter(({ group, resource }) => resource !== 'leasecandidates' || isServed(group));
}

/** Returns the user's name; empty if the server lacks this review (before 1.28) or forbids it. */
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
  // A user without the permission to create reviews is anonymous and has no permissions.
  const review = await unlessStatus(client.request({ method: 'POST', path: ACCESS_REVIEWS, body }), 403);
  const status = review?.['status'];
  return isJsonObject(status) && status['allowed'] === true;
}

/** Returns the valid locks in other namespaces; none if these credentials may not list Leases. */
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

/** Returns the lock's holder, by its renewTime and our clock: a command that reads once sees no renewals. */
function lockHolderOf(lease: KubernetesObject, wallTime: bigint): LockHolder {
  const { holder, leaseDurationMs = 0 } = readLockRecord(lease);
  const { renewTime } = decodeLease(lease);
  const agoMs = renewTime === undefined ? Number.POSITIVE_INFINITY : Number(wallTime - renewTime) / 1000;
  if (holder === '' || agoMs > leaseDurationMs) return { kind: 'none', formerHolder: holder };
  return { kind: isForeign(holder) ? 'builtIn' : 'ours', holder, renewedSecondsAgo: agoMs / 1000 };
}
