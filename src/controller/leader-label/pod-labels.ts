import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { type LeaseKey, leaseKey } from '../../coordination/lease-key.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import { GROUP, type Instant, type PodReference } from '../../election/model.ts';
import { type ElectionInput, surveyTenure } from '../../election/view.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { listAllPages } from '../../kubernetes/list-watch.ts';
import { isKubernetesObject } from '../../kubernetes/objects.ts';
import { isJsonObject } from '../../support/json.ts';
import { LONGEST_WRITE_MS } from '../lock/lock-settings.ts';

/** Who leads by a Lease, as far as it has shown. */
export interface Leadership {
  readonly holder: string;
  /** The Pod of the holder's candidate; undefined: it has none, or is out of sight. */
  readonly pod: PodReference | undefined;
  readonly until: Instant;
}

/** What this process knows of the labels for one Lease. */
export interface KnownLabels {
  /** The Pods that have one. */
  readonly carriers: readonly PodReference[];
  /** Those that may have one: nobody knows what became of the write. */
  readonly doubtful: readonly PodReference[];
  /** For whose sake the last one was put there; undefined: it was found. */
  readonly holder: string | undefined;
}

/** One label to be written. */
export interface LabelWrite {
  readonly kind: 'add' | 'remove';
  readonly pod: PodReference;
}

/** Nobody has taken the Lease up, or has it any more: undefined. */
export function leadershipOf(input: ElectionInput, at: Instant): Leadership | undefined {
  const tenure = surveyTenure(input, at);
  if (tenure.kind !== 'held' || tenure.isProvisional) return undefined;
  const { acquireTime, renewTime } = tenure.lease;
  // As whoever granted it has left it; a grant of our own is provisional besides, but not after a restart.
  if (acquireTime !== undefined && acquireTime === renewTime) return undefined;
  const candidate = input.candidates.find(({ candidate: { name } }) => name === tenure.holder);
  return { holder: tenure.holder, pod: candidate?.candidate.pod, until: tenure.expiresAt };
}

/** The writes that leave the label with the leader's Pod alone, in this order: nobody gets it before others have lost it. */
export function decideLabels(known: KnownLabels, leadership: Leadership | undefined): readonly LabelWrite[] {
  const isOutOfSight = leadership?.pod === undefined && leadership?.holder === known.holder;
  if (leadership !== undefined && isOutOfSight) return [];
  const pod = leadership?.pod;
  const others = [...known.carriers, ...known.doubtful].filter(({ uid }) => uid !== pod?.uid);
  const removals = others.map((other): LabelWrite => ({ kind: 'remove', pod: other }));
  const isThere = pod === undefined || known.carriers.some(({ uid }) => uid === pod.uid);
  return isThere ? removals : [...removals, { kind: 'add', pod }];
}

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

/** The value of every leader label. */
export const LEADER = 'leader';

const PREFIX = `${GROUP}/`;
/** What a label's key may have after its slash. A Lease's name fits but for its length, which may be four times as much. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/** The key of the label of a Lease's leader; undefined: no label can be called so. */
export function labelKeyOf(leaseName: string): string | undefined {
  return NAME.test(leaseName) ? `${PREFIX}${leaseName}` : undefined;
}

/** The Leases whose leader an object says to be by its labels. */
export function leasesLedBy(labels: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    value === LEADER && key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : [],
  );
}
