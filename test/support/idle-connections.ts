import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { onTestFinished } from 'vitest';

/**
 * Makes the HTTP servers of this process keep idle connections for the whole test. By default Node closes them after
 * 5 s, so that a server that wrongly waits for their end would only close slowly.
 */
export function keepIdleConnections(): void {
  const onRequest = (message: unknown) => {
    (message as { readonly server: Server }).server.keepAliveTimeout = 0;
  };
  subscribe('http.server.request.start', onRequest);
  onTestFinished(() => {
    unsubscribe('http.server.request.start', onRequest);
  });
}
