import type { KubernetesClient } from './client.ts';
import { ApiError } from './errors.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** The versions of LeaseCandidate there have been, the newest first. */
export const leaseCandidateVersions = ['v1beta1', 'v1alpha2', 'v1alpha1'] as const;

/** A version of LeaseCandidate. */
export type LeaseCandidateVersion = (typeof leaseCandidateVersions)[number];

/** What to look for. */
export interface ServedVersionQuery<V extends string> {
  readonly group: string;
  /** The plural name, as in paths. */
  readonly resource: string;
  /** The versions that would do, the best first. */
  readonly preference: readonly V[];
  readonly signal?: AbortSignal;
}

/**
 * The first version of the preference in which the server has the resource; undefined when there is none. Rejects as
 * the client does: a server that cannot tell is not one that does not serve.
 */
export async function discoverServedVersion<V extends string>(
  client: KubernetesClient,
  query: ServedVersionQuery<V>,
): Promise<V | undefined> {
  const group = await getUnlessNotFound(client, `/apis/${query.group}`, query.signal);
  const served = new Set(textsOf(group?.['versions'], 'version'));
  for (const version of query.preference) {
    if (!served.has(version)) continue;
    // A version may be served for the sake of other resources.
    const resources = await getUnlessNotFound(client, `/apis/${query.group}/${version}`, query.signal);
    if (textsOf(resources?.['resources'], 'name').includes(query.resource)) return version;
  }
  return undefined;
}

/** The newest version in which LeaseCandidates are served; undefined when the server has them in none. */
export function discoverLeaseCandidateVersion(
  client: KubernetesClient,
  signal?: AbortSignal,
): Promise<LeaseCandidateVersion | undefined> {
  return discoverServedVersion(client, {
    group: 'coordination.k8s.io',
    resource: 'leasecandidates',
    preference: leaseCandidateVersions,
    ...(signal && { signal }),
  });
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

/** One field of each object in a list, where it is text. */
function textsOf(list: unknown, field: string): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) => {
    const text = isJsonObject(item) ? item[field] : undefined;
    return typeof text === 'string' ? [text] : [];
  });
}
