import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { type LeaseKey, leaseKey } from '../../coordination/lease-key.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import { GROUP, type Instant, type PodReference } from '../../election/model.ts';
import { type ElectionInput, surveyTenure } from '../../election/view.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { hasStatus, isReplaced } from '../../kubernetes/errors.ts';
import { listAllPages } from '../../kubernetes/list-watch.ts';
import { isKubernetesObject } from '../../kubernetes/objects.ts';
import { isJsonObject } from '../../support/json.ts';
import { LONGEST_WRITE_MS } from '../lock/lock-settings.ts';

export interface Leadership {
  readonly holder: string;
  /** The Pod that the holder's candidate names; undefined if it names none, or if no such candidate is cached. */
  readonly pod: PodReference | undefined;
  readonly until: Instant;
}

export interface KnownLabels {
  readonly carriers: readonly PodReference[];
  /** The Pods that may have the label: adding it has failed, but the server may have applied the write. */
  readonly doubtful: readonly PodReference[];
  /** The leader at the last successful update of the labels; undefined if there was no leader, or no update yet. */
  readonly holder?: string | undefined;
}

export interface LabelWrite {
  readonly kind: 'add' | 'remove';
  readonly pod: PodReference;
}

/** Returns the leader of a Lease; undefined without a valid holder, or if this holder has certainly not renewed the Lease. */
export function leadershipOf(input: ElectionInput, at: Instant): Leadership | undefined {
  const tenure = surveyTenure(input, at);
  if (tenure.kind !== 'held' || tenure.isProvisional) return undefined;
  const { acquireTime, renewTime } = tenure.lease;
  // Equal times: no renewal since the grant, or since a plain elector acquired the Lease. `isProvisional` alone is not
  // enough: it is false while a former holder may still lead, for example after our restart.
  if (acquireTime !== undefined && acquireTime === renewTime) return undefined;
  const candidate = input.candidates.find(({ candidate: { name } }) => name === tenure.holder);
  return { holder: tenure.holder, pod: candidate?.candidate.pod, until: tenure.expiresAt };
}

/** Returns the writes after which only the leader's Pod has the label. */
export function decideLabels(known: KnownLabels, leadership: Leadership | undefined): readonly LabelWrite[] {
  const pod = leadership?.pod;
  // The leader is the same as before, but its LeaseCandidate is gone or names no Pod. The leader's Pod keeps the label.
  const isOutOfSight = leadership && !pod && leadership.holder === known.holder;
  if (isOutOfSight) return [];
  const others = [...known.carriers, ...known.doubtful].filter(({ uid }) => uid !== pod?.uid);
  const removals = others.map((other): LabelWrite => ({ kind: 'remove', pod: other }));
  const isThere = pod === undefined || known.carriers.some(({ uid }) => uid === pod.uid);
  return isThere ? removals : [...removals, { kind: 'add', pod }];
}

/** Number of Pods per page of a list. Small, because Pods are large. */
const PAGE_SIZE = 200;
const PAGE_DEADLINE_MS = 30_000;

/** Returns the Pods in a namespace ('': all namespaces) with leader labels, by Lease. Rejects if the list fails. */
export async function findLabelled(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<LeaseKey, readonly PodReference[]>> {
  const found = new Map<LeaseKey, PodReference[]>();
  await listAllPages(client, {
    path: resourcePaths.pods(namespace),
    query: {},
    pageSize: PAGE_SIZE,
    deadlineMs: PAGE_DEADLINE_MS,
    signal,
    begin() {
      found.clear();
      return (pods) => takeLabelled(pods, found);
    },
  });
  return found;
}

function takeLabelled(pods: readonly unknown[], found: Map<LeaseKey, PodReference[]>): void {
  for (const { metadata } of pods.filter(isKubernetesObject)) {
    const { name, namespace = '', uid = '', labels } = metadata;
    for (const lease of leasesLedBy(isJsonObject(labels) ? labels : {})) {
      const key = leaseKey(namespace, lease);
      found.set(key, [...(found.get(key) ?? []), { name, uid }]);
    }
  }
}

/** Adds or removes one label. Resolves to whether the Pod exists. Does not change a later Pod with the same name. */
export async function writeLabel(
  client: KubernetesClient,
  namespace: string,
  key: string,
  { kind, pod: { name, uid } }: LabelWrite,
): Promise<boolean> {
  try {
    await client.request({
      method: 'PATCH',
      path: resourcePaths.pod(namespace, name),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, labels: { [key]: kind === 'add' ? LEADER : null } } },
      deadlineMs: LONGEST_WRITE_MS,
    });
    return true;
  } catch (error) {
    if (hasStatus(error, 404) || isReplaced(error, uid)) return false;
    throw error;
  }
}

export const LEADER = 'leader';

const PREFIX = `${GROUP}/`;
/** Pattern of the Lease names that fit into a label key: at most 63 characters. The name of a Lease may be longer. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/** Returns the key of a Lease's leader label; undefined if the name of the Lease cannot be part of a label key. */
export function labelKeyOf(leaseName: string): string | undefined {
  return NAME.test(leaseName) ? `${PREFIX}${leaseName}` : undefined;
}

export function leasesLedBy(labels: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    value === LEADER && key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : [],
  );
}
