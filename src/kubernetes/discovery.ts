import { isJsonObject, type JsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError } from './errors.ts';

/** A resource to look for. */
export interface WantedResource<V extends string> {
  /** The plural name, as in paths. */
  readonly resource: string;
  /** Groups and versions that would do, such as `coordination.k8s.io/v1`, the best first. */
  readonly apiVersions: readonly V[];
}

/**
 * The first of the apiVersions in which the server has the resource; undefined when there is none. Rejects as
 * the client does: a discovery error is not NotFound.
 *
 * Each version is asked for by itself: the group's own list of its versions lags behind for a moment when an upgraded
 * server starts, and still names those of before.
 */
export async function discoverServed<V extends string>(
  client: KubernetesClient,
  { resource, apiVersions }: WantedResource<V>,
  signal?: AbortSignal,
): Promise<V | undefined> {
  for (const apiVersion of apiVersions) {
    const list = await getUnlessNotFound(client, `/apis/${apiVersion}`, signal);
    // A version may be served for the sake of other resources.
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

/** The names of the objects in a list, where they are text. */
function namesOf(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) =>
    isJsonObject(item) && typeof item['name'] === 'string' ? [item['name']] : [],
  );
}
