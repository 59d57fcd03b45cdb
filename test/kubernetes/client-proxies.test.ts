import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { makeAuthority, makeIdentity } from './certificates.ts';
import { makeClient, makeKubeConfig } from './make-client.ts';
import { ScriptedServer, sendJson } from './scripted-server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function join(socket: Socket, port: number, onConnected: () => void): void {
  const upstream = connect(port, '127.0.0.1', () => {
    onConnected();
    upstream.pipe(socket).pipe(upstream);
  });
  upstream.on('error', () => socket.destroy());
  socket.on('error', () => upstream.destroy());
}

/** A proxy that forwards all connections to one port, and records their targets. */
type StartProxy = (port: number, asked: string[]) => Promise<number>;

const startHttpProxy: StartProxy = (port, asked) =>
  listen(
    createHttpServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(request.url ?? '');
      join(socket, port, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    }),
  );

/** The needed part of RFC 1928: no authentication, CONNECT, host by name. */
const startSocksProxy: StartProxy = (port, asked) =>
  listen(
    createServer((socket) => {
      socket.once('data', () => {
        socket.write(Uint8Array.of(5, 0));
        socket.once('data', (request) => {
          const length = request[4] ?? 0;
          asked.push(`${request.toString('ascii', 5, 5 + length)}:${request.readUInt16BE(5 + length)}`);
          join(socket, port, () => socket.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0)));
        });
      });
    }),
  );

describe('a cluster’s proxy', () => {
  test.each([
    { name: 'an HTTP proxy', scheme: 'http', startProxy: startHttpProxy },
    { name: 'a SOCKS5 proxy', scheme: 'socks5', startProxy: startSocksProxy },
    { name: 'a SOCKS5 proxy that resolves names', scheme: 'socks5h', startProxy: startSocksProxy },
  ])('may be $name, with TLS from end to end', async ({ scheme, startProxy }) => {
    const authority = makeAuthority();
    const server = await ScriptedServer.start(makeIdentity(authority, 'api.internal'));
    cleanups.push(() => server.stop());
    server.answer = (_, response) => sendJson(response, { through: 'proxy' });
    const asked: string[] = [];
    const kubeConfig = makeKubeConfig({
      server: 'https://api.internal:6443',
      caData: Buffer.from(authority.cert).toString('base64'),
      proxyUrl: `${scheme}://127.0.0.1:${await startProxy(server.port, asked)}`,
    });
    const client = makeClient({ kubeConfig });
    cleanups.push(() => client.close());
    for (let i = 0; i < 5; i++) {
      await expect(client.request({ method: 'GET', path: '/version' })).resolves.toEqual({
        through: 'proxy',
      });
    }
    expect(asked.length).toBeLessThanOrEqual(2);
    expect(asked[0]).toBe('api.internal:6443');
  });

  test('rejects a request if the client certificate does not match its key, as without a proxy', async () => {
    const authority = makeAuthority();
    const server = await ScriptedServer.start(makeIdentity(authority, 'api.internal'));
    cleanups.push(() => server.stop());
    const sockets: Socket[] = [];
    const proxy = createHttpServer().on('connect', (_, socket: Socket) => {
      sockets.push(socket);
      join(socket, server.port, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    });
    const kubeConfig = makeKubeConfig(
      { server: 'https://api.internal:6443', proxyUrl: `http://127.0.0.1:${await listen(proxy)}` },
      {
        certData: Buffer.from(makeIdentity(authority, 'tester').cert).toString('base64'),
        keyData: Buffer.from(makeIdentity(authority, 'tester').key).toString('base64'),
      },
    );
    const client = makeClient({ kubeConfig });
    cleanups.push(() => client.close());
    await expect(client.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH',
    });
    // The connection to the proxy is closed, too.
    await expect.poll(() => sockets.map((socket) => socket.destroyed), { timeout: 20_000 }).toEqual([true]);
  });

  test('with an unsupported type is refused, and the error says so', async () => {
    const kubeConfig = makeKubeConfig({ proxyUrl: 'socks4://127.0.0.1:1080' });
    await expect(makeClient({ kubeConfig }).request({ method: 'GET', path: '/version' })).rejects.toThrow(
      'proxy-url socks4:// is not supported',
    );
  });
});
