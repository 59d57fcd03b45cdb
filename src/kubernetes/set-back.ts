import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient } from './client.ts';
import { ConnectionError } from './errors.ts';
import { isOlderVersion } from './objects.ts';
import type { Query } from './request-subject.ts';

/** The code of the error that tells of it. */
export const SET_BACK = 'SET_BACK';

/** Where a watch is to go on. */
export interface WatchPlace {
  readonly path: string;
  readonly query: Query;
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

/**
 * Looks whether the server is at least where a watch is to go on, and rejects with a {@link ConnectionError} (`SET_BACK`)
 * when it is not, or as the client does. A server whose etcd was restored from a backup accepts such a watch, and sends
 * nothing, bookmarks included, until as much has been written again as was lost; what happens until then is never seen.
 */
export async function assertNotSetBack(
  client: KubernetesClient,
  { path, query, resourceVersion, signal }: WatchPlace,
): Promise<void> {
  // Without a resourceVersion, the answer is never older than what anybody was told before.
  const answer = await client.request({ method: 'GET', path, query: { ...query, limit: 1 }, signal });
  const metadata = isJsonObject(answer['metadata']) ? answer['metadata'] : {};
  const now = metadata['resourceVersion'];
  if (typeof now !== 'string' || !isOlderVersion(now, resourceVersion)) return;
  const message = `GET ${path}: the server is at ${now}, which is before ${resourceVersion}: its storage was restored from a backup`;
  throw new ConnectionError(message, { code: SET_BACK });
}
