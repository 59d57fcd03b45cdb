import { resourcePaths } from '../coordination/resource-paths.ts';
import { KEEP_ALIVE_MS } from '../kubernetes/channel.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { type Clock, sleep } from '../support/clock.ts';

/** Soon enough for answers to come before the first of the connections is closed, in milliseconds. */
const EVERY_MS = KEEP_ALIVE_MS - 10_000;
const DEADLINE_MS = 5000;

/**
 * Keeps connections open by a small request on each idle one every {@link EVERY_MS}, until `signal` aborts. To open them when
 * many Leases lose their leaders at once would cost both sides more than all the writes: a TLS handshake takes several times as
 * long. A write never waits for these requests: it ends one of them, where they hold all connections.
 */
export async function keepConnectionsOpen(
  client: Pick<KubernetesClient, 'request'>,
  {
    clock,
    connections,
    signal,
  }: { readonly clock: Clock; readonly connections: number; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    // All at once: a connection that is free would be used again.
    const uses = Array.from({ length: connections }, () =>
      client.request({
        method: 'GET',
        path: resourcePaths.leaseApi,
        deadlineMs: DEADLINE_MS,
        signal,
        isBackground: true,
      }),
    );
    // The requests that need an answer report that the server gives none.
    await Promise.allSettled(uses);
    await sleep(clock, EVERY_MS, signal);
  }
}
