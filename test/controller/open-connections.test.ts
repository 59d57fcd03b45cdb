import { describe, expect, test } from 'vitest';
import { createActionWriter } from '../../src/controller/action-writer.ts';
import { CONNECTIONS } from '../../src/controller/coordinator.ts';
import { keepConnectionsOpen } from '../../src/controller/open-connections.ts';
import { WriteQueue } from '../../src/controller/queue/write-queue.ts';
import type { Action } from '../../src/election/decision.ts';
import { KEEP_ALIVE_MS } from '../../src/kubernetes/channel.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ConnectionError } from '../../src/kubernetes/errors.ts';
import { makeLocalClient } from '../kubernetes/make-client.ts';
import { ScriptedServer, sendJson } from '../kubernetes/scripted-server.ts';
import { OLDEST } from '../support/election-builders.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';

const WRITE: Action = {
  kind: 'UpdateLease',
  uid: 'u',
  resourceVersion: '7',
  change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
};

function keepOpen(answer: () => Promise<object>) {
  const clock = new VirtualClock();
  const requests: ApiRequest[] = [];
  const stopping = new AbortController();
  const client = {
    request: async (request: ApiRequest) => {
      requests.push(request);
      return (await answer()) as Record<string, unknown>;
    },
  };
  const done = keepConnectionsOpen(client, { clock, connections: 4, signal: stopping.signal });
  return { clock, requests, stopping, done };
}

describe('connections', () => {
  test('are free for writes at once, however slow the answers to what keeps them open are', async ({
    onTestFinished,
  }) => {
    const server = await ScriptedServer.start();
    onTestFinished(() => server.stop());
    server.answer = (request, response) => {
      if (request.method === 'PATCH') sendJson(response, {});
      else setTimeout(() => sendJson(response, {}), 30_000).unref();
    };
    const clock = new VirtualClock();
    const client = makeLocalClient(server.port, { clock, connections: CONNECTIONS });
    onTestFinished(() => client.close());
    const stopping = new AbortController();
    const done = keepConnectionsOpen(client, { clock, connections: CONNECTIONS, signal: stopping.signal });
    await waitFor(() => server.requests.length === CONNECTIONS);

    const queue = new WriteQueue({ clock, most: CONNECTIONS, serve: () => {} });
    const writer = createActionWriter(client, () => undefined);
    const writes = Array.from({ length: CONNECTIONS }, async (_, index) => {
      const end = queue.begin(`default/${index}`);
      await writer.write('default', `${index}`, WRITE).then(
        () => end(true),
        () => end(false),
      );
    });
    await waitFor(() => server.requests.length === 2 * CONNECTIONS, 'all writes to be sent');
    await Promise.all(writes);
    // On a clock that stands still: none has waited for a deadline.
    expect(server.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(CONNECTIONS);
    expect(queue.limit).toBe(CONNECTIONS);
    stopping.abort();
    await done;
  });

  test('are all in use at one moment, and again before the first of them would be closed', async () => {
    const { clock, requests } = keepOpen(async () => ({}));
    await clock.advance(0);
    expect(requests).toHaveLength(4);
    expect(requests[0]).toMatchObject({ method: 'GET', path: '/apis/coordination.k8s.io/v1' });
    await clock.advance(KEEP_ALIVE_MS - 5000);
    expect(requests).toHaveLength(8);
  });

  test('are tried again after the server was not there', async () => {
    const { clock, requests } = keepOpen(async () => {
      throw new ConnectionError('refused', { code: 'ECONNREFUSED' });
    });
    await clock.advance(KEEP_ALIVE_MS);
    expect(requests).toHaveLength(8);
  });

  test('are left alone once the coordinator stops', async () => {
    const { clock, requests, stopping, done } = keepOpen(async () => ({}));
    await clock.advance(0);
    stopping.abort();
    await done;
    await clock.advance(10 * KEEP_ALIVE_MS);
    expect(requests).toHaveLength(4);
    expect(clock.pendingTimers).toBe(0);
  });
});
