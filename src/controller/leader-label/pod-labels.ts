import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { type LeaseKey, leaseKey } from '../../coordination/lease-key.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { PodReference } from '../../election/model.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { listAllPages } from '../../kubernetes/list-watch.ts';
import { isKubernetesObject } from '../../kubernetes/objects.ts';
import { isJsonObject } from '../../support/json.ts';
import { LONGEST_WRITE_MS } from '../lock/lock-settings.ts';
import type { LabelWrite } from './decide-labels.ts';
import { LEADER, leasesLedBy } from './label-key.ts';

/** Whole Pods are large. */
const PAGE_SIZE = 200;
const PAGE_DEADLINE_MS = 30_000;

/** All Pods of a namespace ('' being all) that have leader labels, by the Lease that a label is for. Rejects as the client does. */
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
      return (pods) => {
        for (const pod of pods) take(pod, found);
      };
    },
  });
  return found;
}

function take(pod: unknown, found: Map<LeaseKey, PodReference[]>): void {
  if (!isKubernetesObject(pod)) return;
  const { name, namespace = '', uid = '', labels } = pod.metadata;
  for (const lease of leasesLedBy(isJsonObject(labels) ? labels : {})) {
    const key = leaseKey(namespace, lease);
    found.set(key, [...(found.get(key) ?? []), { name, uid }]);
  }
}

/** Writes one label. Resolves to whether the Pod is there; another one that has its name by now is left alone. */
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
    if (isGone(error, uid)) return false;
    throw error;
  }
}

/** A uid that does not match is a conflict whose message names the uid that was asked for. */
function isGone(error: unknown, uid: string): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 404 || (error.status === 409 && error.message.includes(uid));
}
