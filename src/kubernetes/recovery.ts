import type { KubernetesClient } from './client.ts';
import { ApiError, ConnectionError, connectionError } from './errors.ts';
import type { WatchRequest } from './list-watch.ts';
import { isOlderVersion, metadataText } from './objects.ts';

/**
 * How a reflector continues after a failed watch. (After a failed list, the reflector always lists again.)
 * - `resume`: it watches again from its newest resourceVersion, which is still valid. But after a long time without a
 *   watch, it lists again.
 * - `refused`: the server answered with 401, 403 or 5xx. The reflector continues as with `resume`, but also lists again
 *   after several refusals.
 * - `relist`: it lists again, because the watch cannot continue from its resourceVersion, or may have missed an event.
 * - `forgotten`: it lists again, usually without delay, because the server no longer has the resourceVersion, for example
 *   after a restart or a restore from a backup.
 */
export type Recovery = 'resume' | 'refused' | 'relist' | 'forgotten';

/** Error code: the server's storage was set back to an older state. */
const SET_BACK = 'SET_BACK';

export function decideRecovery(error: unknown): Recovery {
  if (error instanceof ApiError) {
    const { status, reason } = error;
    if (status === 410 || reason === 'Expired' || reason === 'Gone') return 'forgotten';
    if (status === 429) return 'resume';
    return status === 401 || status === 403 || status >= 500 ? 'refused' : 'relist';
  }
  if (!(error instanceof ConnectionError)) return 'relist';
  if (error.code === SET_BACK) return 'forgotten';
  // An invalid answer may hide an event. Before ETIMEDOUT, the connection was silent for long, so missed events are old.
  return error.code === 'MALFORMED_ANSWER' || error.code === 'ETIMEDOUT' ? 'relist' : 'resume';
}

/**
 * Rejects with a {@link ConnectionError} (`SET_BACK`) if the server's resourceVersion is older than `resourceVersion`:
 * etcd was restored from a backup. The server would accept a watch from `resourceVersion`, but would send no events
 * until the server reaches `resourceVersion`. Also rejects if the request fails.
 */
export async function assertNotRestored(
  client: KubernetesClient,
  { path, query, resourceVersion, signal }: Omit<WatchRequest, 'stallMs' | 'onEvent'>,
): Promise<void> {
  // Send no resourceVersion: the server then answers with its latest state, not from an older cache. `takeItems`: like
  // each list, it does not wait in the queue, where a list for each namespace would delay the writes.
  const one = { ...query, limit: 1 };
  const answer = await client.request({ method: 'GET', path, query: one, signal, takeItems() {} });
  const now = metadataText(answer, 'resourceVersion');
  if (!isOlderVersion(now, resourceVersion)) return;
  const problem = `the server is at ${now}, which is before ${resourceVersion}: its storage was restored from a backup`;
  throw connectionError({ method: 'GET', path }, SET_BACK, problem);
}
