import { type HttpServer, startHttpServer } from '../../src/processes/http-server.ts';
import { createStatusPage } from '../../src/status-page/status-page.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { SimLeases } from './make-leases.ts';

/** The server of a coordinator that holds the lock and knows the given Leases; by default with the page. */
export async function servePage({
  isOn = true,
  clock = systemClock,
  unwatchedSince = () => undefined,
}: {
  isOn?: boolean;
  clock?: Clock;
  unwatchedSince?: () => Instant | undefined;
} = {}): Promise<{ leases: SimLeases; server: HttpServer }> {
  const leases = new SimLeases(clock);
  const page = createStatusPage({
    clock,
    version: 'test',
    namespaces: [],
    notServedAdvice: 'turn it on',
    onError: (error) => {
      throw error;
    },
  });
  leases.onSeen = (key, isRenewalOnly) => page.observe({ type: 'seen', key, isRenewalOnly });
  page.watch({
    controller: Object.assign(leases, { hasSynced: () => true, unwatchedSince }),
    lock: { state: { kind: 'active', holder: 'us' } },
  });
  const server = await startHttpServer(
    { host: '127.0.0.1', port: 0 },
    {
      clock,
      readinessChecks: () => [],
      metrics: { contentType: 'text/plain', metrics: async () => '' },
      statusPage: isOn ? page : undefined,
    },
  );
  return { leases, server };
}
