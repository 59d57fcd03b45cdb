import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeAuthority, makeIdentity } from './certificates.ts';
import { makeClient, makeKubeConfig, makeLocalClient } from './make-client.ts';
import { ScriptedServer, sendJson } from './scripted-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startServer(...tls: Parameters<typeof ScriptedServer.start>): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(...tls);
  cleanups.push(() => server.stop());
  return server;
}

function closing(client: KubernetesClient): KubernetesClient {
  cleanups.push(() => client.close());
  return client;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

const get = { method: 'GET', path: '/version' } as const;

test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
  'a %s reaches the server with its body',
  async (method) => {
    const server = await startServer();
    server.answer = async (request, response) => sendJson(response, { received: await text(request) });
    const client = closing(makeLocalClient(server.port));
    const body = { preconditions: { uid: 'é' } };
    const answer = await client.request({ method, path: '/apis/leases/a', body });
    expect(answer).toEqual({ received: JSON.stringify(body) });
  },
);

describe('connections', () => {
  test('are reused: twenty requests in a row take one or two', async () => {
    const server = await startServer();
    server.answer = (_, response) => sendJson(response, {});
    const client = closing(makeLocalClient(server.port));
    for (let i = 0; i < 20; i++) await client.request(get);
    // The next request may start just before the connection is marked free again.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  test('are bounded: more requests wait for their turn', async () => {
    const server = await startServer();
    const waiting: (() => void)[] = [];
    server.answer = (_, response) => waiting.push(() => sendJson(response, {}));
    const client = closing(makeLocalClient(server.port, { connections: 3 }));
    const answers = Array.from({ length: 10 }, () => client.request(get));
    for (let answered = 0; answered < 10; answered++) {
      await waitFor(() => waiting.length > 0);
      waiting.shift()?.();
    }
    await Promise.all(answers);
    expect(server.connections).toBe(3);
  });

  test('of watches do not starve requests', async () => {
    const server = await startServer();
    server.answer = (request, response) =>
      request.url?.includes('watch') ? response.writeHead(200).flushHeaders() : sendJson(response, {});
    const client = closing(makeLocalClient(server.port, { connections: 1 }));
    for (let i = 0; i < 5; i++) await client.stream({ ...get, query: { watch: true } });
    await expect(client.request(get)).resolves.toEqual({});
  });

  test('of lists that do not end do not starve requests', async () => {
    const server = await startServer();
    server.answer = (request, response) => {
      if (request.url !== '/apis/leases') sendJson(response, {});
    };
    const client = closing(makeLocalClient(server.port, { connections: 1 }));
    const stopping = new AbortController();
    const { signal } = stopping;
    const list = { method: 'GET', path: '/apis/leases', takeItems: () => {}, signal } as const;
    const lists = Promise.allSettled(Array.from({ length: 5 }, () => client.request(list)));
    await waitFor(() => server.requests.length === 5);
    await expect(client.request(get)).resolves.toEqual({});
    stopping.abort();
    await lists;
  });

  test('of background requests are given to other requests at once', async () => {
    const server = await startServer();
    server.answer = (request, response) => {
      if (request.url !== '/slow') sendJson(response, {});
    };
    const client = closing(makeLocalClient(server.port, { connections: 2 }));
    const slow = { method: 'GET', path: '/slow', isBackground: true } as const;
    const background = Promise.allSettled([client.request(slow), client.request(slow)]);
    await waitFor(() => server.requests.length === 2);
    await expect(Promise.all([client.request(get), client.request(get)])).resolves.toEqual([{}, {}]);
    const aborted = { status: 'rejected', reason: expect.objectContaining({ code: 'ABORTED' }) };
    expect(await background).toEqual([aborted, aborted]);
  });

  test('are used by background requests only while they are idle, and unsent requests are not observed', async () => {
    const server = await startServer();
    const answers: (() => void)[] = [];
    server.answer = (_, response) => answers.push(() => sendJson(response, {}));
    const observe = vi.fn();
    const client = closing(makeLocalClient(server.port, { connections: 2, observe }));
    const requests = [client.request(get), client.request(get)];
    await expect(client.request({ ...get, isBackground: true })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(observe).not.toHaveBeenCalled();
    await waitFor(() => server.requests.length === 2);
    for (const answer of answers.splice(0)) answer();
    await Promise.all(requests);
    const late = client.request({ ...get, isBackground: true });
    await waitFor(() => answers.length === 1);
    answers[0]?.();
    await expect(late).resolves.toEqual({});
    expect(observe).toHaveBeenCalledTimes(3);
  });

  test('end with the client, including watches', async () => {
    const server = await startServer();
    server.answer = (_, response) => response.writeHead(200).flushHeaders();
    const client = makeLocalClient(server.port);
    const chunks = await client.stream(get);
    await client.close();
    await expect(collect(chunks)).rejects.toMatchObject({ name: 'ConnectionError' });
    await waitFor(() => server.openConnections === 0);
  });

  test.each([
    { name: 'that the server has closed', isServed: true },
    { name: 'that were refused', isServed: false },
  ])('$name are not kept in memory, for any lifetime of the client', async ({ isServed }) => {
    const server = await startServer();
    server.answer = (_, response) => sendJson(response.setHeader('connection', 'close'), {});
    // The virtual clock keeps references of cancelled timers.
    const client = closing(makeLocalClient(server.port, { clock: systemClock }));
    if (!isServed) await server.stop();
    const before = queryObjects(Socket, { format: 'count' });
    for (let i = 0; i < 50; i++) await client.request(get).catch(() => {});
    // They hold the server's ends of the connections.
    server.requests.length = 0;
    // The last one may not have ended yet.
    await waitFor(() => queryObjects(Socket, { format: 'count' }) < before + 10);
  });
});

describe('TLS', () => {
  const authority = makeAuthority();

  test('trusts the cluster’s CA, checks tls-server-name and shows the client certificate', async () => {
    const server = await startServer({
      ...makeIdentity(authority, 'kubernetes.default.svc'),
      requestCert: true,
      ca: authority.cert,
    });
    server.answer = (request, response) =>
      sendJson(response, { client: (request.socket as TLSSocket).getPeerCertificate().subject.CN });
    const user = makeIdentity(authority, 'tester');
    const client = closing(
      makeClient({
        kubeConfig: makeKubeConfig(
          {
            server: `https://127.0.0.1:${server.port}`,
            caData: Buffer.from(authority.cert).toString('base64'),
            tlsServerName: 'kubernetes.default.svc',
          },
          {
            certData: Buffer.from(user.cert).toString('base64'),
            keyData: Buffer.from(user.key).toString('base64'),
          },
        ),
      }),
    );
    for (let i = 0; i < 20; i++) await expect(client.request(get)).resolves.toEqual({ client: 'tester' });
    // The next request may start just before the connection is marked free again.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  test.each([
    {
      name: 'whose CA is not the cluster’s',
      host: 'localhost',
      ca: makeAuthority('another authority'),
      wantCode: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      name: 'under another name',
      host: 'elsewhere',
      ca: authority,
      wantCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
  ])('does not send to a server $name', async ({ host, ca, wantCode }) => {
    const server = await startServer(makeIdentity(authority, host));
    const caData = Buffer.from(ca.cert).toString('base64');
    const kubeConfig = makeKubeConfig({ server: `https://localhost:${server.port}`, caData });
    const client = closing(makeClient({ kubeConfig }));
    await expect(client.request(get)).rejects.toMatchObject({ name: 'ConnectionError', code: wantCode });
  });

  test('resumes its session over later connections, which spares both sides most of the handshake', async () => {
    const server = await startServer(makeIdentity(authority, 'localhost'));
    server.answer = (request, response) =>
      sendJson(response.setHeader('connection', 'close'), {
        isResumed: (request.socket as TLSSocket).isSessionReused(),
      });
    const caData = Buffer.from(authority.cert).toString('base64');
    const client = closing(
      makeClient({ kubeConfig: makeKubeConfig({ server: `https://localhost:${server.port}`, caData }) }),
    );
    await expect(client.request(get)).resolves.toEqual({ isResumed: false });
    await expect(client.request(get)).resolves.toEqual({ isResumed: true });
  });

  test('uses a rotated CA and token, and closes the old connections when they are idle', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'rotation-'));
    cleanups.push(() => rmSync(directory, { recursive: true }));
    const caFile = join(directory, 'ca.crt');
    const credentialFile = join(directory, 'credential.json');
    const writeToken = (token: string) => {
      const status = { token, expirationTimestamp: '2020-01-01T00:00:00Z' };
      writeFileSync(credentialFile, JSON.stringify({ status }));
    };
    writeFileSync(caFile, authority.cert);
    writeToken('first');
    const server = await startServer(makeIdentity(authority, 'localhost'));
    server.answer = (request, response) =>
      request.url?.includes('watch')
        ? response.writeHead(200).flushHeaders()
        : sendJson(response, { authorization: request.headers.authorization });
    const clock = new VirtualClock();
    const kubeConfig = makeKubeConfig(
      { server: `https://localhost:${server.port}`, caFile },
      { exec: { command: 'cat', args: [credentialFile] } },
    );
    const client = closing(makeClient({ kubeConfig, clock }));
    await client.stream({ ...get, query: { watch: true } });
    await expect(client.request(get)).resolves.toEqual({ authorization: 'Bearer first' });
    expect(server.openConnections).toBe(2);

    writeToken('second');
    writeFileSync(caFile, `${authority.cert}${makeAuthority('next authority').cert}`);
    await expect(client.request(get)).resolves.toEqual({ authorization: 'Bearer first' });
    await clock.advance(1_000);
    await expect(client.request(get)).resolves.toEqual({ authorization: 'Bearer second' });
    expect(server.connections).toBe(3);
    // The old connection for requests closes. The watch continues until it ends by itself.
    await waitFor(() => server.openConnections === 2);
  });
});

describe('credentials', () => {
  test('are loaded again after the server has refused them', async () => {
    const script = `const expirationTimestamp = '2020-01-01T00:00:00Z';
      console.log(JSON.stringify({ status: { token: String(process.pid), expirationTimestamp } }))`;
    const server = await startServer();
    server.answer = (_, response) => sendJson(response, {}, server.requests.length === 2 ? 401 : 200);
    const kubeConfig = makeKubeConfig(
      { server: `http://127.0.0.1:${server.port}`, skipTLSVerify: true },
      { exec: { command: process.execPath, args: ['-e', script] } },
    );
    const client = closing(makeClient({ kubeConfig }));
    await client.request(get);
    await expect(client.request(get)).rejects.toMatchObject({ status: 401 });
    await client.request(get);
    const [first, second, third] = server.requests.map(({ headers }) => headers.authorization);
    expect(first).toMatch(/^Bearer \d+$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });
});

describe('deadlines', () => {
  test('end a call without an answer, and leave no timer', async () => {
    const server = await startServer();
    const clock = new VirtualClock();
    const client = closing(makeLocalClient(server.port, { clock }));
    const answer = client.request({ ...get, deadlineMs: 500 });
    const rejection = expect(answer).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('500 ms'),
    });
    await waitFor(() => server.requests.length === 1);
    await clock.advance(500);
    await rejection;
    expect(clock.pendingTimers).toBe(0);
    await waitFor(() => server.openConnections === 0);
  });

  test('cover the body', async () => {
    const server = await startServer();
    const clock = new VirtualClock();
    server.answer = (_, response) => response.writeHead(200).write('{"half":');
    const client = closing(makeLocalClient(server.port, { clock }));
    const rejection = expect(client.request(get)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await waitFor(() => server.requests.length === 1);
    await clock.advance(10_000);
    await rejection;
  });

  test('cover the wait for a connection', async () => {
    const server = await startServer();
    const clock = new VirtualClock();
    const client = closing(makeLocalClient(server.port, { clock, connections: 1 }));
    const first = expect(client.request({ ...get, deadlineMs: 9_000 })).rejects.toThrow('9000 ms');
    await waitFor(() => server.requests.length === 1);
    const second = expect(client.request({ ...get, deadlineMs: 1_000 })).rejects.toThrow('1000 ms');
    await clock.advance(1_000);
    await second;
    await clock.advance(8_000);
    await first;
    expect(server.requests.length).toBe(1);
  });

  test('cover credentials that do not arrive', async () => {
    const clock = new VirtualClock();
    const exec = { command: 'sleep', args: ['1'] };
    const client = closing(makeClient({ clock, kubeConfig: makeKubeConfig({}, { exec }) }));
    const rejection = expect(client.request(get)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await clock.advance(10_000);
    await rejection;
  });

  test('of a stream cover only its beginning', async () => {
    const server = await startServer();
    const clock = new VirtualClock();
    const late: (() => void)[] = [];
    server.answer = (_, response) => {
      response.writeHead(200).flushHeaders();
      late.push(() => response.end('late'));
    };
    const client = closing(makeLocalClient(server.port, { clock }));
    const chunks = await client.stream(get);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(3_600_000);
    late[0]?.();
    expect(await collect(chunks)).toBe('late');
  });
});

describe('broken and aborted calls', () => {
  test('report that no server listens', async () => {
    const server = await ScriptedServer.start();
    const { port } = server;
    await server.stop();
    await expect(closing(makeLocalClient(port)).request(get)).rejects.toMatchObject({
      ...{ code: 'ECONNREFUSED', cause: { syscall: 'connect' } },
    });
  });

  test.each([
    { name: 'before the answer', begin: false },
    { name: 'in the middle of the answer', begin: true },
  ])('report that the connection broke $name', async ({ begin }) => {
    const server = await startServer();
    server.answer = (request, response) => {
      if (begin) response.writeHead(200).write('{"half":', () => request.socket.destroy());
      else request.socket.destroy();
    };
    await expect(closing(makeLocalClient(server.port)).request(get)).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'ECONNRESET',
    });
  });

  test('are aborted by the caller’s signal at once, before and during the call', async () => {
    const server = await startServer();
    const client = closing(makeLocalClient(server.port));
    await expect(client.request({ ...get, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    const abort = new AbortController();
    const rejection = expect(client.request({ ...get, signal: abort.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await waitFor(() => server.requests.length === 1);
    abort.abort();
    await rejection;
  });

  test('end a stream by the caller’s signal, iterated or not', async () => {
    const server = await startServer();
    server.answer = (_, response) => response.writeHead(200).write('some');
    const client = closing(makeLocalClient(server.port));
    const abort = new AbortController();
    const iterated = await client.stream({ ...get, signal: abort.signal });
    await client.stream({ ...get, signal: abort.signal });
    const rejection = expect(collect(iterated)).rejects.toMatchObject({ code: 'ABORTED' });
    abort.abort();
    await rejection;
    await waitFor(() => server.openConnections === 0);
  });

  test('close the connection of a stream that its reader leaves', async () => {
    const server = await startServer();
    server.answer = (_, response) => response.writeHead(200).write('some');
    const client = closing(makeLocalClient(server.port));
    for await (const chunk of await client.stream(get)) {
      expect(Buffer.from(chunk).toString()).toBe('some');
      break;
    }
    await waitFor(() => server.openConnections === 0);
  });

  test('truncate an endless error answer', async () => {
    const server = await startServer();
    server.answer = (_, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      const more = () => {
        while (!response.destroyed && response.write('no'.repeat(50_000)));
      };
      response.on('drain', more);
      more();
    };
    const client = closing(makeLocalClient(server.port));
    await expect(client.request(get)).rejects.toMatchObject({
      name: 'ApiError',
      status: 500,
      message: expect.stringContaining('nonono'),
    });
    await expect(client.stream(get)).rejects.toMatchObject({ status: 500 });
    await waitFor(() => server.openConnections === 0);
  });
});
