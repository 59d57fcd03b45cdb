import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { unlessStatus } from './errors.ts';

interface WantedResource<V extends string> {
  /** The plural name of the resource, as in paths. */
  readonly resource: string;
  /** Acceptable groups and versions, such as `coordination.k8s.io/v1`, best first. */
  readonly apiVersions: readonly V[];
}

/**
 * Returns the first of the apiVersions in which the server has the resource; undefined if there is none. A 404 shows
 * that the server does not serve a version. Rejects after any other error. Does not use the server's list of versions:
 * just after an upgrade of the server, this list may be outdated.
 */
export async function discoverServed<V extends string>(
  client: KubernetesClient,
  { resource, apiVersions }: WantedResource<V>,
  signal?: AbortSignal,
): Promise<V | undefined> {
  for (const apiVersion of apiVersions) {
    const path = `/apis/${apiVersion}`;
    const list = await unlessStatus(client.request({ method: 'GET', path, ...(signal && { signal }) }), 404);
    const served = list?.['resources'];
    if (!Array.isArray(served)) continue;
    // The server may serve the version only for other resources.
    if (served.some((one: unknown) => isJsonObject(one) && one['name'] === resource)) return apiVersion;
  }
  return undefined;
}
