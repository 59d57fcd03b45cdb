import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { onTestFinished } from 'vitest';

/**
 * Has the HTTP servers of this process keep connections that are idle for as long as the test runs. By default Node ends
 * them after 5 s, so that a server that waits for them to end would only be slow to close.
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
