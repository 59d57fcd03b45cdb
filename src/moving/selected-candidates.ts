import { resourcePaths } from '../coordination/resource-paths.ts';
import {
  type ListedCandidate,
  listCandidates,
  listObjects,
  servedCandidateApis,
} from '../inspection/elections.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';

export type Selection =
  | { readonly kind: 'labels'; readonly selector: string }
  /** Candidates with an ownerReference to a Pod on this node. */
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'candidate'; readonly name: string }
  | { readonly kind: 'all' };

/**
 * Returns the selected candidates of both sources.
 * @param namespace empty for all namespaces.
 * @throws like the client. If the user may list only one source, skips the other.
 */
export async function selectCandidates(
  client: KubernetesClient,
  namespace: string,
  selection: Selection,
): Promise<readonly ListedCandidate[]> {
  const apis = await servedCandidateApis(client);
  const isSelected = await testFor(client, namespace, selection);
  const labelSelector = selection.kind === 'labels' ? selection.selector : undefined;
  const { candidates } = await listCandidates(client, apis, namespace, { labelSelector });
  return candidates.filter(({ raw }) => isSelected(raw));
}

async function testFor(
  client: KubernetesClient,
  namespace: string,
  selection: Selection,
): Promise<(object: KubernetesObject) => boolean> {
  if (selection.kind === 'candidate') return ({ metadata }) => metadata.name === selection.name;
  if (selection.kind !== 'node') return () => true;
  const fieldSelector = `spec.nodeName=${selection.node}`;
  const { objects } = await listObjects(client, {
    path: resourcePaths.pods(namespace),
    query: { fieldSelector },
    decode: ({ metadata }) => metadata.uid,
  });
  const uids = new Set(objects);
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
