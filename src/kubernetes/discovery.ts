import { isJsonObject, type JsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError } from './errors.ts';

/** A resource to look for. */
export interface WantedResource<V extends string> {
  /** The plural name, as in paths. */
  readonly resource: string;
  /** Acceptable groups and versions, such as `coordination.k8s.io/v1`, best first. */
  readonly apiVersions: readonly V[];
}

/**
 * Returns the first of the apiVersions in which the server has the resource; undefined if there is none. Rejects like the
 * client: a discovery error is not NotFound. Sends one request per version: just after the start of an upgraded server,
 * the group's list of versions may be outdated.
 */
export async function discoverServed<V extends string>(
  client: KubernetesClient,
  { resource, apiVersions }: WantedResource<V>,
  signal?: AbortSignal,
): Promise<V | undefined> {
  for (const apiVersion of apiVersions) {
    const list = await getUnlessNotFound(client, `/apis/${apiVersion}`, signal);
    // The server may serve the version only for other resources.
    if (namesOf(list?.['resources']).includes(resource)) return apiVersion;
  }
  return undefined;
}

async function getUnlessNotFound(
  client: KubernetesClient,
  path: string,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> {
  try {
    return await client.request({ method: 'GET', path, ...(signal && { signal }) });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Returns the names of the objects in a list. Skips names that are not strings. */
function namesOf(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) =>
    isJsonObject(item) && typeof item['name'] === 'string' ? [item['name']] : [],
  );
}
