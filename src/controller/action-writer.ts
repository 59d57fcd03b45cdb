import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { FIELD_MANAGER } from '../coordination/lease.ts';
import { leasePatch, newLease, pingPatch, type RequestBody } from '../coordination/lease-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { Action } from '../election/decision.ts';
import type { CandidateSource } from '../election/model.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import { LONGEST_WRITE_MS } from './lock/lock-settings.ts';

/** Carries out single actions. Every write names the resourceVersion that it was decided on (rule 8). */
export interface ActionWriter {
  /** Resolves to the object as the server has it now. Rejects as the client does. */
  write(namespace: string, leaseName: string, action: Action): Promise<KubernetesObject | undefined>;
}

/** An {@link ActionWriter} for a real API server; `apiVersionOf` tells in which version it has candidates by now. */
export function createActionWriter(
  client: KubernetesClient,
  apiVersionOf: (source: CandidateSource) => CandidateApiVersion | undefined,
): ActionWriter {
  return {
    async write(namespace, leaseName, action) {
      const request = requestFor(namespace, leaseName, action, apiVersionOf);
      const answer = await client.request({ ...request, deadlineMs: LONGEST_WRITE_MS });
      return isKubernetesObject(answer) ? answer : undefined;
    },
  };
}

/** The request that carries out `action`. */
function requestFor(
  namespace: string,
  leaseName: string,
  action: Action,
  apiVersionOf: (source: CandidateSource) => CandidateApiVersion | undefined,
): ApiRequest {
  const candidate = ({ source, name }: { readonly source: CandidateSource; readonly name: string }) => {
    const apiVersion = apiVersionOf(source);
    if (apiVersion === undefined)
      throw new Error(`no version of ${source} LeaseCandidates is served any more`);
    return resourcePaths.candidate(apiVersion, namespace, name);
  };
  switch (action.kind) {
    case 'CreateLease':
      return {
        method: 'POST',
        path: resourcePaths.leases(namespace),
        query: { fieldManager: FIELD_MANAGER },
        body: newLease(namespace, leaseName, action),
      };
    case 'UpdateLease':
      return mergePatch(resourcePaths.lease(namespace, leaseName), leasePatch(action));
    case 'PingCandidate':
      return mergePatch(candidate(action), pingPatch(action));
    case 'DeleteCandidate':
      return {
        method: 'DELETE',
        path: candidate(action),
        body: { preconditions: { uid: action.uid, resourceVersion: action.resourceVersion } },
      };
  }
}

function mergePatch(path: string, body: RequestBody): ApiRequest {
  return {
    method: 'PATCH',
    path,
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/merge-patch+json',
    body,
  };
}
