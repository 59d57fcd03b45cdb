import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { LeaseCandidate } from '../election/model.ts';
import { listObjects, servedCandidateApis } from '../inspection/elections.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';

export type Selection =
  | { readonly kind: 'labels'; readonly selector: string }
  /** Candidates whose ownerReference is a Pod on this node. */
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'candidate'; readonly name: string }
  | { readonly kind: 'all' };

/** A LeaseCandidate, and its API version. */
export interface SelectedCandidate {
  readonly apiVersion: CandidateApiVersion;
  readonly raw: KubernetesObject;
  readonly candidate: LeaseCandidate;
}

/**
 * Returns the selected candidates of both sources.
 *
 * @param namespace empty for all namespaces.
 * @throws like the client. A source that the user may not list is skipped, unless the user may list none.
 */
export async function selectCandidates(
  client: KubernetesClient,
  namespace: string,
  selection: Selection,
): Promise<readonly SelectedCandidate[]> {
  const apiVersions = await servedCandidateApis(client);
  const isSelected = await testFor(client, namespace, selection);
  const labelSelector = selection.kind === 'labels' ? selection.selector : undefined;
  const lists = await Promise.all(
    apiVersions.map(async (apiVersion) => {
      try {
        const path = resourcePaths.candidates(apiVersion, namespace);
        const objects = await listObjects(client, path, { labelSelector });
        return objects
          .filter(isSelected)
          .map((raw) => ({ apiVersion, raw, candidate: decode(raw, apiVersion) }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 403) return error;
        throw error;
      }
    }),
  );
  const refusals = lists.filter((list) => list instanceof ApiError);
  if (refusals[0] && refusals.length === lists.length) throw refusals[0];
  return lists.flatMap((list) => (list instanceof ApiError ? [] : list));
}

/** Decodes an item of a list. Items may lack their apiVersion, which identifies the source. */
function decode(raw: KubernetesObject, apiVersion: CandidateApiVersion): LeaseCandidate {
  return decodeLeaseCandidate({ ...raw, apiVersion });
}

async function testFor(
  client: KubernetesClient,
  namespace: string,
  selection: Selection,
): Promise<(object: KubernetesObject) => boolean> {
  if (selection.kind === 'candidate') return ({ metadata }) => metadata.name === selection.name;
  if (selection.kind !== 'node') return () => true;
  const path = namespace === '' ? '/api/v1/pods' : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const fieldSelector = `spec.nodeName=${selection.node}`;
  const pods = await listObjects(client, path, { fieldSelector });
  const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
  return (object) => podOwners(object).some((uid) => uids.has(uid));
}

/** Returns the uids of the Pods that own an object. */
function podOwners({ metadata }: KubernetesObject): readonly string[] {
  const { ownerReferences } = metadata as { ownerReferences?: unknown };
  if (!Array.isArray(ownerReferences)) return [];
  return ownerReferences.flatMap((owner: unknown) => {
    if (!isJsonObject(owner) || owner['kind'] !== 'Pod') return [];
    return typeof owner['uid'] === 'string' ? [owner['uid']] : [];
  });
}
