import { createServer as createTcpServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeClient, makeKubeConfig, makeLocalClient } from './make-client.ts';
import { ScriptedServer, sendJson } from './scripted-server.ts';

const get = { method: 'GET', path: '/version' } as const;
const watch = { ...get, query: { watch: true } };
/** One call more than there are connections, to test waiting calls. */
const CALLS = 200;

async function startServer(): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server.stop());
  return server;
}

/** Accepts connections and never answers. */
async function startMuteServer() {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket.on('error', () => {}).on('close', () => open.delete(socket)));
    // Otherwise it would not notice the end of the connection.
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { port: typeof address === 'object' ? address?.port : undefined, open };
}

/** The result of each call: the code of its error, or `answered`. */
function outcomes(calls: readonly Promise<unknown>[]): Promise<readonly string[]> {
  return Promise.all(
    calls.map((call) =>
      call.then(
        () => 'answered',
        (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
      ),
    ),
  );
}

/** Closes a client while the clock advances by the grace period of running requests. */
async function close(client: KubernetesClient, clock: VirtualClock): Promise<void> {
  const closed = client.close();
  await clock.advance(1000);
  await closed;
}

describe('a closed client', () => {
  test.each<{ name: string; answer: ScriptedServer['answer'] }>([
    { name: 'never answers', answer: () => {} },
    {
      name: 'sends the head of an answer and no body',
      answer: (_, response) => response.writeHead(200).flushHeaders(),
    },
    { name: 'sends half an answer', answer: (_, response) => response.writeHead(200).write('{"half":') },
  ])('aborts after a second if a server $name, with any waiting calls', async ({ answer }) => {
    const server = await startServer();
    server.answer = answer;
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: 4 });
    const calls = outcomes(Array.from({ length: CALLS }, () => client.request(get)));
    const stream = outcomes([client.stream(watch)]);
    await waitFor(() => server.requests.length === 5);
    await close(client, clock);
    expect(new Set(await calls)).toEqual(new Set(['ABORTED']));
    await stream;
    await waitFor(() => server.openConnections === 0);
    expect(server.requests).toHaveLength(5);
    expect(clock.pendingTimers).toBe(0);
  });

  test('aborts after a second if a server never completes the TLS handshake', async () => {
    const { port, open } = await startMuteServer();
    const clock = new VirtualClock();
    const kubeConfig = makeKubeConfig({ server: `https://127.0.0.1:${port}`, skipTLSVerify: true });
    const client = makeClient({ kubeConfig, clock, connections: 4 });
    const calls = outcomes([
      ...Array.from({ length: CALLS }, () => client.request(get)),
      client.stream(watch),
    ]);
    await waitFor(() => open.size === 5);
    await close(client, clock);
    expect(new Set(await calls)).toEqual(new Set(['ABORTED']));
    await waitFor(() => open.size === 0);
  });

  test.each([
    { name: 'HTTP', proxyUrl: 'http' },
    { name: 'SOCKS', proxyUrl: 'socks5' },
  ])('aborts after a second on a silent $name proxy', async ({ proxyUrl }) => {
    const { port, open } = await startMuteServer();
    const clock = new VirtualClock();
    const kubeConfig = makeKubeConfig({ skipTLSVerify: true, proxyUrl: `${proxyUrl}://127.0.0.1:${port}` });
    const client = makeClient({ kubeConfig, clock, connections: 4 });
    const calls = outcomes(Array.from({ length: CALLS }, () => client.request(get)));
    await waitFor(() => open.size > 0);
    await close(client, clock);
    expect(new Set(await calls)).toEqual(new Set(['ABORTED']));
    await waitFor(() => open.size === 0);
  });

  test('aborts calls whose deadline passed before', async () => {
    const server = await startServer();
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: 4 });
    const calls = outcomes(Array.from({ length: CALLS }, () => client.request({ ...get, deadlineMs: 500 })));
    await waitFor(() => server.requests.length === 4);
    await clock.advance(500);
    expect(new Set(await calls)).toEqual(new Set(['DEADLINE_EXCEEDED']));
    // No request is pending: this takes no time.
    await client.close();
    await waitFor(() => server.openConnections === 0);
  });

  test('waits for the answers within that second, and no longer', async () => {
    const server = await startServer();
    const answers: (() => void)[] = [];
    server.answer = (_, response) => answers.push(() => sendJson(response, {}));
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: 4 });
    const calls = outcomes([client.request(get), client.request(get)]);
    await waitFor(() => answers.length === 2);
    const closed = client.close();
    await clock.advance(999);
    for (const answer of answers) answer();
    await closed;
    expect(await calls).toEqual(['answered', 'answered']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('sends none of the waiting calls', async () => {
    const server = await startServer();
    const answers: (() => void)[] = [];
    server.answer = (_, response) => answers.push(() => sendJson(response, {}));
    const client = makeLocalClient(server.port, { connections: 1 });
    const calls = outcomes(Array.from({ length: 5 }, () => client.request(get)));
    await waitFor(() => answers.length === 1);
    const closed = client.close();
    answers[0]?.();
    await closed;
    expect(await calls).toEqual(['answered', ...Array.from({ length: 4 }, () => 'CLIENT_CLOSED')]);
    expect(server.requests).toHaveLength(1);
  });

  test('can be closed again', async () => {
    const client = makeLocalClient(1);
    await Promise.all([client.close(), client.close()]);
    await client.close();
  });
});

describe('a call that is aborted before its turn', () => {
  test('costs no connection: later calls find the existing ones', async () => {
    const server = await startServer();
    const answers: (() => void)[] = [];
    server.answer = (_, response) => answers.push(() => sendJson(response, {}));
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: 1 });
    onTestFinished(() => client.close());
    const first = client.request(get);
    await waitFor(() => answers.length === 1);
    const impatient = outcomes(
      Array.from({ length: CALLS }, () => client.request({ ...get, deadlineMs: 500 })),
    );
    await clock.advance(500);
    expect(new Set(await impatient)).toEqual(new Set(['DEADLINE_EXCEEDED']));
    answers[0]?.();
    await first;
    const last = client.request(get);
    await waitFor(() => answers.length === 2);
    answers[1]?.();
    await last;
    expect(server.requests).toHaveLength(2);
    expect(server.connections).toBeLessThanOrEqual(2);
  });
});
