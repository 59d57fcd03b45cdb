import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeLocalClient } from './make-client.ts';
import { makeReflector, type RecordedReflector } from './make-reflector.ts';
import { makeList, makeObject } from './scripted-client.ts';
import { ScriptedServer, sendJson } from './scripted-server.ts';

/**
 * A reflector with the real client and a real server. The server answers lists, and the test provides the events of
 * watches.
 */
let server: ScriptedServer;
let client: KubernetesClient;
let recorded: RecordedReflector;
let watches: { readonly url: URL; readonly response: ServerResponse }[];
let lists: number;

beforeEach(async () => {
  server = await ScriptedServer.start();
  watches = [];
  lists = 0;
  server.answer = (request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (url.searchParams.has('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      watches.push({ url, response });
    } else if (url.searchParams.get('limit') === '1') {
      sendJson(response, makeList([], '3'));
    } else {
      lists++;
      sendJson(response, makeList([makeObject('a', '1')], '1'));
    }
  };
  const clock = new VirtualClock();
  client = makeLocalClient(server.port, { clock });
  recorded = { ...makeReflector(client, { clock }), clock };
});

afterEach(async () => {
  await recorded.reflector.stop();
  await client.close();
  await server.stop();
  expect(recorded.clock.pendingTimers).toBe(0);
});

function line(type: string, name: string, resourceVersion: string): string {
  return `${JSON.stringify({ type, object: makeObject(name, resourceVersion) })}\n`;
}

async function watching(count: number): Promise<{ readonly url: URL; readonly response: ServerResponse }> {
  await waitFor(() => watches.length === count, `watch ${count}`);
  const watch = watches[count - 1];
  if (!watch) throw new Error('there is no such watch');
  return watch;
}

describe('a reflector on a real connection', () => {
  test('follows a watch with partial lines', async () => {
    recorded.reflector.start();
    const { response } = await watching(1);
    const text = line('ADDED', 'b', '2') + line('MODIFIED', 'b', '3');
    for (let at = 0; at < text.length; at += 37) {
      await new Promise((resolve) => response.write(text.slice(at, at + 37), resolve));
    }
    await waitFor(() => recorded.events.length === 3);
    expect(recorded.events).toEqual(['added default/a@1', 'added default/b@2', 'modified default/b@3']);
  });

  test('resumes after a reset within a line, from the last complete one', async () => {
    recorded.reflector.start();
    const first = await watching(1);
    first.response.write(line('ADDED', 'b', '2'));
    first.response.write(line('ADDED', 'c', '3').slice(0, 20));
    await waitFor(() => recorded.events.length === 2);
    first.response.socket?.resetAndDestroy();
    await waitFor(() => recorded.errors.length === 1);
    await recorded.clock.advance(200);
    const second = await watching(2);
    expect(second.url.searchParams.get('resourceVersion')).toBe('2');
    second.response.write(line('ADDED', 'c', '3'));
    await waitFor(() => recorded.events.length === 3);
    expect(recorded.events.at(-1)).toBe('added default/c@3');
    expect(lists).toBe(1);
  });

  test('checks the server before it resumes a watch, without a place in the queue of requests', async () => {
    recorded.reflector.start();
    const first = await watching(1);
    const { answer } = server;
    const over = new AbortController();
    const busy = { method: 'GET', path: '/busy', signal: over.signal } as const;
    server.answer = (request, response) => {
      if (request.url !== busy.path) answer(request, response);
    };
    const requests = Array.from({ length: 16 }, () => client.request(busy).catch(() => {}));
    await waitFor(() => server.requests.filter(({ url }) => url === busy.path).length === 16);
    first.response.socket?.resetAndDestroy();
    await waitFor(() => recorded.errors.length === 1);
    await recorded.clock.advance(200);
    await watching(2);
    over.abort();
    await Promise.all(requests);
  });

  test('leaves a stalled connection, lists, and opens another', async () => {
    recorded.reflector.start();
    const first = await watching(1);
    const closed = new Promise((resolve) => first.response.on('close', resolve));
    await waitFor(() => recorded.clock.pendingTimers === 1);
    await recorded.clock.advance(90_000);
    await closed;
    await watching(2);
    expect(lists).toBe(2);
    expect(recorded.errors).toEqual([]);
  });

  test('aborts a list at its deadline, and retries', async () => {
    const answer = server.answer;
    server.answer = () => {};
    recorded.reflector.start();
    await waitFor(() => server.requests.length === 1);
    server.answer = answer;
    await recorded.clock.advance(60_000);
    await waitFor(() => recorded.errors.length === 1);
    expect(recorded.errors).toMatchObject([
      { error: { code: 'DEADLINE_EXCEEDED' }, context: { during: 'list' } },
    ]);
    await recorded.clock.advance(200);
    await waitFor(() => recorded.reflector.hasSynced());
  });

  test('stops during a slow list and leaves no connection open', async () => {
    server.answer = () => {};
    recorded.reflector.start();
    await waitFor(() => server.requests.length === 1);
    await recorded.reflector.stop();
    await waitFor(() => server.openConnections === 0);
    expect([recorded.events, recorded.errors]).toEqual([[], []]);
  });

  test('stops during a watch, and the server sees it go', async () => {
    recorded.reflector.start();
    const { response } = await watching(1);
    const closed = new Promise((resolve) => response.on('close', resolve));
    response.write(line('ADDED', 'b', '2'));
    await recorded.reflector.stop();
    const { length } = recorded.events;
    await closed;
    expect(recorded.events).toHaveLength(length);
    expect(watches).toHaveLength(1);
  });

  test('stops while no server listens', async () => {
    await server.stop();
    recorded.reflector.start();
    await waitFor(() => recorded.errors.length === 1);
    await recorded.reflector.stop();
    expect(recorded.errors).toMatchObject([{ error: { code: 'ECONNREFUSED' } }]);
    server = await ScriptedServer.start();
  });
});
