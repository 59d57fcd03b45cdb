import type { RequestBody } from '../coordination/lease-patch.ts';
import { type PriorityChange, priorityPatch, priorityRemoval } from '../coordination/priority-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { ListedCandidate } from '../inspection/elections.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';

/** The field manager of these writes (metadata.managedFields). */
const FIELD_MANAGER = 'kubectl-cle';

/** Sets the priority of a candidate. Resolves to false if the candidate no longer exists. */
export function setPriority(
  client: KubernetesClient,
  candidate: ListedCandidate,
  change: PriorityChange,
): Promise<boolean> {
  return patch(client, candidate, priorityPatch(candidate.raw, change));
}

/** Removes the priority that `drain` or `transfer` has set. Resolves to whether there was one. */
export async function unsetPriority(client: KubernetesClient, candidate: ListedCandidate): Promise<boolean> {
  const body = priorityRemoval(candidate.raw);
  return body !== undefined && (await patch(client, candidate, body));
}

async function patch(
  client: KubernetesClient,
  { apiVersion, candidate: { namespace, name } }: ListedCandidate,
  body: RequestBody,
): Promise<boolean> {
  try {
    await client.request({
      method: 'PATCH',
      path: resourcePaths.candidate(apiVersion, namespace, name),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body,
    });
    return true;
  } catch (error) {
    // The candidate is gone, or another candidate with the same name has replaced it.
    if (error instanceof ApiError && [404, 409].includes(error.status)) return false;
    if (error instanceof ApiError && error.status === 403) {
      const [group = ''] = apiVersion.split('/');
      throw new Error(`${error.message}. Ask for the right to patch leasecandidates in ${group}`, {
        cause: error,
      });
    }
    throw error;
  }
}
