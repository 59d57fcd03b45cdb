import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCoordinator } from '../test/e2e/coordinator.ts';
import { watchUsage } from '../test/e2e/figures/process-usage.ts';

/** The load that a coordinator bears from events without a change. */
export interface EventFigures {
  readonly eventsPerSecond: number;
  /** CPUs that it used; at most one, because there is one event loop. */
  readonly cpus: number;
  readonly microsecondsPerEvent: number;
}

const LEASES = 2000;
const RESOURCES: Readonly<Record<string, unknown>> = {
  '/apis/coordination.k8s.io/v1': { kind: 'APIResourceList', resources: [{ name: 'leases' }] },
  '/apis/coordination.k8s.io/v1beta1': {
    kind: 'APIResourceList',
    resources: [{ name: 'leases' }, { name: 'leasecandidates' }],
  },
};
const WARM_UP_MS = 5000;
const MEASURED_MS = 10_000;

const time = (microseconds: number) => {
  const at = Date.now() * 1000 + microseconds;
  return new Date(at / 1000).toISOString().replace('Z', `${String(at % 1000).padStart(3, '0')}Z`);
};

function metadata(name: string, revision: number, fields: readonly string[]) {
  return {
    name,
    namespace: 'default',
    uid: `3d5e9c23-8938-4b66-bfb2-${name.replace(/\D/g, '').padStart(12, '0')}`,
    resourceVersion: `${revision}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    managedFields: [
      {
        manager: 'component',
        operation: 'Update',
        apiVersion: 'coordination.k8s.io/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
      },
    ],
  };
}

function lease(index: number, revision: number) {
  const spec = {
    holderIdentity: `candidate-${index}`,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: time(revision % 1000),
    leaseTransitions: 3,
    strategy: 'OldestEmulationVersion',
  };
  return { metadata: metadata(`lease-${index}`, revision, Object.keys(spec)), spec };
}

function candidate(index: number, revision: number) {
  const spec = {
    leaseName: `lease-${index}`,
    binaryVersion: '1.36.0',
    emulationVersion: '1.36.0',
    strategy: 'OldestEmulationVersion',
    renewTime: time(revision % 1000),
  };
  return { metadata: metadata(`candidate-${index}`, revision, Object.keys(spec)), spec };
}

/** A server with only settled Leases, which are renewed at a rate per second, or as fast as its client reads. */
class RenewingServer {
  sent = 0;
  readonly #perSecond: number;
  #revision = 1000;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
    const make = pathname.endsWith('/leases') ? lease : candidate;
    response.setHeader('content-type', 'application/json');
    if (RESOURCES[pathname]) response.end(JSON.stringify(RESOURCES[pathname]));
    else if (!/\/(leases|leasecandidates)$/.test(pathname)) {
      response.statusCode = 404;
      response.end(JSON.stringify({ kind: 'Status', code: 404, reason: 'NotFound' }));
    } else if (searchParams.get('watch') === null) {
      const items = Array.from({ length: LEASES }, (_, index) => make(index, 1000));
      response.end(JSON.stringify({ kind: 'List', metadata: { resourceVersion: '1000' }, items }));
    } else if (make === lease) void this.#renew(response);
    else response.flushHeaders();
  }

  async #renew(response: ServerResponse): Promise<void> {
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    const startedAt = performance.now();
    for (let index = 0; !response.destroyed; index = (index + 1) % LEASES) {
      const object = lease(index, ++this.#revision);
      const isRead = response.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
      this.sent++;
      if (!isRead) await once(response, 'drain', closed).catch(() => {});
      const due = () => ((performance.now() - startedAt) / 1000) * this.#perSecond;
      while (this.sent > due() && !response.destroyed) await sleep(1);
    }
  }
}

/**
 * A coordinator with a server that renews Leases: how many renewals it handles, and the cost of each.
 * @param perSecond Infinity: as many as it reads
 */
export async function measureEvents(perSecond: number): Promise<EventFigures> {
  const server = new RenewingServer(perSecond);
  const directory = await mkdtemp(join(tmpdir(), 'bench-scale-'));
  const kubeconfig = join(directory, 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server: await server.listen() } }],
    users: [{ name: 'u', user: { token: 'none' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const coordinator = await startCoordinator(kubeconfig, ['--dry-run', '--log-level', 'info']);
  try {
    await sleep(WARM_UP_MS);
    const usage = await watchUsage(coordinator.pid);
    const [startedAt, before] = [performance.now(), server.sent];
    await sleep(MEASURED_MS);
    const { cpus } = await usage();
    const eventsPerSecond = (server.sent - before) / ((performance.now() - startedAt) / 1000);
    const { body } = await coordinator.get('/metrics');
    // Objects that were listed again, or could not be read, do not count.
    if (!/^cle_reflector_lists_total\{resource="leases"\} 1$/m.test(body))
      throw new Error(`the watch did not last:\n${body}`);
    return { eventsPerSecond, cpus, microsecondsPerEvent: (cpus * 1e6) / eventsPerSecond };
  } finally {
    await coordinator.kill();
    server.close();
    await rm(directory, { recursive: true });
  }
}
