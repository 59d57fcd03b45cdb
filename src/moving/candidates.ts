import type { RequestBody } from '../coordination/lease-patch.ts';
import { type PriorityChange, priorityPatch } from '../coordination/priority-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { LeaseCandidate } from '../election/model.ts';
import {
  type ListedCandidate,
  listCandidates,
  listObjects,
  servedCandidateApis,
} from '../inspection/elections.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { hasStatus, isReplaced } from '../kubernetes/errors.ts';

export type Selection =
  | { readonly kind: 'labels'; readonly selector: string }
  /** Selects the candidates with an ownerReference to a Pod on this node. */
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'candidate'; readonly name: string }
  | { readonly kind: 'all' };

/**
 * Returns the selected candidates of all API groups that the server serves and the user may list.
 * @param namespace empty for all namespaces.
 * @throws the errors of the client.
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
  return candidates.filter(({ candidate }) => isSelected(candidate));
}

/** Sets the priority of a candidate. Resolves to false if the candidate no longer exists. */
export function setPriority(
  client: KubernetesClient,
  candidate: ListedCandidate,
  change: PriorityChange,
): Promise<boolean> {
  return patch(client, candidate, priorityPatch(candidate.raw, change));
}

/** Sends a patch that undoes a priority. Resolves to false if there is nothing to undo, or no candidate any more. */
export async function undoPriority(client: KubernetesClient, candidate: ListedCandidate, body?: RequestBody) {
  return body !== undefined && (await patch(client, candidate, body));
}

async function testFor(
  client: KubernetesClient,
  namespace: string,
  selection: Selection,
): Promise<(candidate: LeaseCandidate) => boolean> {
  if (selection.kind === 'candidate') return ({ name }) => name === selection.name;
  if (selection.kind !== 'node') return () => true;
  const { objects } = await listObjects(client, {
    path: resourcePaths.pods(namespace),
    query: { fieldSelector: `spec.nodeName=${selection.node}` },
    decode: ({ metadata }) => metadata.uid,
  });
  const uids = new Set(objects);
  return ({ pod }) => pod !== undefined && uids.has(pod.uid);
}

/** The name in `metadata.managedFields` for the fields that `drain`, `transfer` and `undrain` have written. */
const FIELD_MANAGER = 'kubectl-cle';

async function patch(
  client: KubernetesClient,
  { apiVersion, candidate: { namespace, name, uid } }: ListedCandidate,
  body: RequestBody,
): Promise<boolean> {
  try {
    await client.request({
      method: 'PATCH',
      path: resourcePaths.candidate(apiVersion, namespace, name),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body,
      // The deadline includes the wait for a connection, and there may be thousands of candidates.
      deadlineMs: 60_000,
    });
    return true;
  } catch (error) {
    if (hasStatus(error, 404) || isReplaced(error, uid)) return false;
    if (hasStatus(error, 403)) {
      const [group = ''] = apiVersion.split('/');
      throw new Error(`${error.message}. Ask for the right to patch leasecandidates in ${group}`, {
        cause: error,
      });
    }
    throw error;
  }
}
