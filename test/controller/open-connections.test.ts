import { describe, expect, test } from 'vitest';
import { keepConnectionsOpen } from '../../src/controller/open-connections.ts';
import { KEEP_ALIVE_MS } from '../../src/kubernetes/channel.ts';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ConnectionError } from '../../src/kubernetes/errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

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
