import type { RequestBody } from '../coordination/lease-patch.ts';
import { type PriorityChange, priorityPatch, priorityRemoval } from '../coordination/priority-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { SelectedCandidate } from './selected-candidates.ts';

/** As whom the server's field ownership lists what is written here. */
const FIELD_MANAGER = 'kubectl-cle';

/**
 * Sets the priority of a candidate. Resolves to whether it was there.
 *
 * @throws {Error} that says which right is missing, and as the client does.
 */
export function setPriority(
  client: KubernetesClient,
  candidate: SelectedCandidate,
  change: PriorityChange,
): Promise<boolean> {
  return patch(client, candidate, priorityPatch(candidate.raw, change));
}

/** Takes back what `drain` or `transfer` has set. Resolves to whether there was anything. @throws as {@link setPriority}. */
export async function unsetPriority(
  client: KubernetesClient,
  candidate: SelectedCandidate,
): Promise<boolean> {
  const body = priorityRemoval(candidate.raw);
  return body !== undefined && (await patch(client, candidate, body));
}

async function patch(
  client: KubernetesClient,
  { apiVersion, candidate: { namespace, name } }: SelectedCandidate,
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
    // Gone, or another one of that name by now.
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
