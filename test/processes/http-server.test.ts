import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type HealthCheck,
  type HttpServer,
  type HttpServerParts,
  startHttpServer,
} from '../../src/processes/http-server.ts';
import { keepIdleConnections } from '../support/idle-connections.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const anyPort = { host: '127.0.0.1', port: 0 };

const started: HttpServer[] = [];

/** Its default clock stands still: no timeout fires. */
async function start(parts: Partial<HttpServerParts> = {}): Promise<HttpServer> {
  const server = await startHttpServer(anyPort, {
    clock: new VirtualClock(),
    readinessChecks: () => [],
    metrics: { contentType: 'text/plain; version=0.0.4', metrics: async () => 'up 1\n' },
    ...parts,
  });
  started.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

function ask(
  server: HttpServer,
  path: string,
  { method = 'GET', agent }: { method?: string; agent?: Agent } = {},
) {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const asked = request({ ...server.address, path, method, ...(agent && { agent }) }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      });
      asked.on('error', reject);
      asked.end();
    },
  );
}

describe('the HTTP server', () => {
  test('serves the metrics with their content type', async () => {
    const answer = await ask(await start(), '/metrics?x=1');
    expect(answer).toMatchObject({
      status: 200,
      body: 'up 1\n',
      headers: { 'content-type': 'text/plain; version=0.0.4' },
    });
  });

  test('answers 500 if the metrics cannot be collected, and continues', async () => {
    const server = await start({
      metrics: { contentType: 'text/plain', metrics: async () => Promise.reject(new Error('broken')) },
    });
    expect(await ask(server, '/metrics')).toMatchObject({
      status: 500,
      body: 'cannot answer: Error: broken\n',
    });
    expect(await ask(server, '/livez')).toMatchObject({ status: 200 });
  });

  test.each<{ name: string; checks: HealthCheck[]; wantStatus: number; wantBody: string }>([
    { name: 'no checks at all', checks: [], wantStatus: 200, wantBody: 'readyz check passed\n' },
    {
      name: 'all checks ok',
      checks: [
        { name: 'leases-synced', ok: true },
        { name: 'lock', ok: true, message: 'held' },
      ],
      wantStatus: 200,
      wantBody: '[+]leases-synced ok\n[+]lock ok: held\nreadyz check passed\n',
    },
    {
      name: 'one check failed',
      checks: [
        { name: 'leases-synced', ok: true },
        { name: 'candidates-synced', ok: false, message: 'the API is not served' },
      ],
      wantStatus: 503,
      wantBody:
        '[+]leases-synced ok\n[-]candidates-synced failed: the API is not served\nreadyz check failed\n',
    },
    {
      name: 'a check that only informs not ok',
      checks: [{ name: 'lock', ok: false, informational: true, message: 'held by another' }],
      wantStatus: 200,
      wantBody: '[+]lock not ok, not required: held by another\nreadyz check passed\n',
    },
  ])('answers /readyz with $wantStatus if there are $name', async ({ checks, wantStatus, wantBody }) => {
    const server = await start({ readinessChecks: () => checks });
    expect(await ask(server, '/readyz')).toMatchObject({ status: wantStatus, body: wantBody });
  });

  test('runs the checks for every request', async () => {
    let ok = false;
    const server = await start({ readinessChecks: () => [{ name: 'synced', ok }] });
    expect(await ask(server, '/readyz')).toMatchObject({ status: 503 });
    ok = true;
    expect(await ask(server, '/readyz')).toMatchObject({ status: 200 });
  });

  test('answers /livez although a readiness check fails', async () => {
    const server = await start({ readinessChecks: () => [{ name: 'synced', ok: false }] });
    expect(await ask(server, '/livez')).toMatchObject({ status: 200, body: 'livez check passed\n' });
  });

  test('answers HEAD like GET but without a body', async () => {
    const server = await start();
    const { headers, ...answer } = await ask(server, '/metrics', { method: 'HEAD' });
    expect(answer).toEqual({ status: 200, body: '' });
    expect(headers).toMatchObject({ 'content-length': '5' });
  });

  test('refuses other methods and other paths', async () => {
    const server = await start();
    expect(await ask(server, '/livez', { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
    expect(await ask(server, '/')).toMatchObject({ status: 404 });
    expect(await ask(server, '/livez/')).toMatchObject({ status: 404 });
  });

  test('closes at once although a client keeps its idle connection alive', async () => {
    keepIdleConnections();
    const clock = new VirtualClock();
    const server = await start({ clock });
    const agent = new Agent({ keepAlive: true });
    await ask(server, '/livez', { agent });
    await server.close();
    expect(clock.pendingTimers).toBe(0);
    agent.destroy();
  });

  test('completes an answer in progress before it closes, and waits no longer', async () => {
    keepIdleConnections();
    const { promise: metrics, resolve: release } = Promise.withResolvers<string>();
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
    const server = await start({
      metrics: {
        contentType: 'text/plain',
        metrics: () => {
          onAsked();
          return metrics;
        },
      },
    });
    const agent = new Agent({ keepAlive: true });
    const answer = ask(server, '/metrics', { agent });
    await asked;
    const closed = server.close();
    release('late 1\n');
    expect(await answer).toMatchObject({ status: 200, body: 'late 1\n', headers: { connection: 'close' } });
    await closed;
    agent.destroy();
  });

  test.each([
    { name: 'has sent nothing yet', sent: '' },
    { name: 'stopped in the middle of its request', sent: 'GET /livez HTTP/1.1\r\nHost: localhost\r\n' },
  ])('waits no longer than a second for a client that $name', async ({ sent }) => {
    const clock = new VirtualClock();
    const server = await start({ clock });
    const client = connect(server.address);
    await once(client, 'connect');
    client.on('error', () => {});
    client.write(sent);
    // The server has accepted its connection before this one.
    await ask(server, '/livez');
    let isClosed = false;
    const closed = server.close().then(() => {
      isClosed = true;
    });
    await clock.advance(999);
    expect(isClosed).toBe(false);
    await clock.advance(1);
    await closed;
    client.destroy();
  });

  test('accepts no connections after it is closed', async () => {
    const server = await start();
    await server.close();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    connect(server.address).on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    expect(await promise).toBe('ECONNREFUSED');
  });

  test('names the flag to change when its address is in use', async () => {
    const { address } = await start();
    const second = startHttpServer(address, {
      clock: new VirtualClock(),
      readinessChecks: () => [],
      metrics: { contentType: 'text/plain', metrics: async () => '' },
    });
    await expect(second).rejects.toThrow(
      `cannot listen on 127.0.0.1:${address.port}: address already in use; stop the program that listens there or choose another port`,
    );
  });
});
