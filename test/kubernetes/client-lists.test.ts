import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { ApiCallObservation, ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { VirtualClock, waitFor } from '../support/virtual-clock.ts';
import { makeLocalClient } from './make-client.ts';
import { makeList, makeObject } from './scripted-client.ts';
import { ScriptedServer, sendJson } from './scripted-server.ts';

const leases = '/apis/coordination.k8s.io/v1/leases';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Served {
  readonly server: ScriptedServer;
  readonly client: KubernetesClient;
  readonly clock: VirtualClock;
  readonly observations: ApiCallObservation[];
}

/** A client of a server that answers each request by `answer`. */
async function serve(answer: (response: ServerResponse) => void): Promise<Served> {
  const server = await ScriptedServer.start();
  cleanups.push(() => server.stop());
  server.answer = (_, response) => answer(response);
  const clock = new VirtualClock();
  const observations: ApiCallObservation[] = [];
  const observe = (call: ApiCallObservation) => void observations.push(call);
  const client = makeLocalClient(server.port, { clock, observe });
  cleanups.push(() => close(client, clock));
  return { server, client, clock, observations };
}

/** Closes a client with its pending requests. */
async function close(client: KubernetesClient, clock: VirtualClock): Promise<void> {
  const closed = client.close();
  await clock.advance(1000);
  await closed;
}

/** A request for a list whose items are stored in `taken`. */
function listInto(taken: unknown[]): ApiRequest {
  return { method: 'GET', path: leases, takeItems: (items) => void taken.push(...items) };
}

const manyItems = Array.from({ length: 3000 }, (_, index) => makeObject(`é-${index}`, String(index)));
const text = JSON.stringify(makeList(manyItems, '7', 'more'));
const rest = makeList([], '7', 'more');

describe.each([
  { how: 'plain', encode: (bytes: Buffer) => bytes, headers: {} },
  { how: 'compressed', encode: gzipSync, headers: { 'content-encoding': 'gzip' } },
])('the items of a list that comes $how', ({ encode, headers }) => {
  const body = encode(Buffer.from(text));

  test('are passed on in order, and are not in the answer', async () => {
    const { client, observations, server } = await serve((response) =>
      response.writeHead(200, headers).end(body),
    );
    const taken: unknown[] = [];
    await expect(client.request(listInto(taken))).resolves.toEqual(rest);
    expect(taken).toEqual(manyItems);
    expect(observations).toMatchObject([{ verb: 'list', status: 200 }]);
    for (let i = 0; i < 10; i++) await client.request(listInto([]));
    // The next request may start just before the connection is marked free again.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  test('are passed on before the list has ended', async () => {
    const { client } = await serve((response) => {
      response.writeHead(200, headers).write(body.subarray(0, -30));
    });
    const taken: unknown[] = [];
    const answer = client.request(listInto(taken));
    answer.catch(() => {});
    await waitFor(() => taken.length > 1000);
    expect(taken).toEqual(manyItems.slice(0, taken.length));
  });

  test('are read at the speed of their consumer', async () => {
    const long = encode(Buffer.from(JSON.stringify(makeList(Array(200).fill(manyItems).flat(), '7'))));
    const { client, server } = await serve((response) => response.writeHead(200, headers).end(long));
    const taking = Promise.withResolvers<void>();
    let times = 0;
    const answer = client.request({
      ...listInto([]),
      takeItems: () => {
        times++;
        return taking.promise;
      },
    });
    await waitFor(() => times === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(times).toBe(1);
    taking.resolve();
    await expect(answer).resolves.toEqual(makeList([], '7'));
    expect(times).toBeGreaterThan(100);
    expect(server.connections).toBe(1);
  });

  test.each([
    { what: 'are cut off', broken: body.subarray(0, -30), isCut: true, code: expect.any(String) },
    {
      what: 'are no JSON',
      broken: encode(Buffer.from(text.replace('"é-2500"', 'nonsense'))),
      code: 'MALFORMED_ANSWER',
    },
    {
      what: 'end with the list’s middle',
      broken: encode(Buffer.from(text.slice(0, -30))),
      code: 'MALFORMED_ANSWER',
    },
    { what: 'belong to no object', broken: encode(Buffer.from('[{"items":[1]}]')), code: 'MALFORMED_ANSWER' },
  ])('end with an error if they $what', async ({ broken, isCut = false, code }) => {
    const { client, observations } = await serve((response) => {
      response.writeHead(200, headers);
      if (isCut) response.write(broken, () => response.destroy());
      else response.end(broken);
    });
    await expect(client.request(listInto([]))).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringMatching(/^GET \/apis\/[^ ]*\/leases: /),
      code,
    });
    expect(observations).toMatchObject([{ status: 'error' }]);
  });

  test('end with the deadline, which holds for the whole list', async () => {
    const { client, clock, server } = await serve((response) => {
      response.writeHead(200, headers).write(body.subarray(0, -30));
    });
    const taken: unknown[] = [];
    const answer = client.request({ ...listInto(taken), deadlineMs: 5000 });
    answer.catch(() => {});
    await waitFor(() => taken.length > 0);
    await clock.advance(5000);
    await expect(answer).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await waitFor(() => server.openConnections === 0);
  });

  test('end with the caller’s signal, and with the client', async () => {
    const { client, clock, server } = await serve((response) => {
      response.writeHead(200, headers).write(body.subarray(0, -30));
    });
    const caller = new AbortController();
    const taken: unknown[] = [];
    const aborted = client.request({ ...listInto(taken), signal: caller.signal });
    aborted.catch(() => {});
    await waitFor(() => taken.length > 0);
    caller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    await waitFor(() => server.openConnections === 0);
    const takenAgain: unknown[] = [];
    const closed = client.request(listInto(takenAgain));
    closed.catch(() => {});
    await waitFor(() => takenAgain.length > 0);
    await close(client, clock);
    await expect(closed).rejects.toMatchObject({ code: 'ABORTED' });
    await waitFor(() => server.openConnections === 0);
  });

  test('do not exist in a refusal, which is reported as for any request', async () => {
    const status = { kind: 'Status', reason: 'Expired', message: 'too old', code: 410 };
    const { client } = await serve((response) =>
      response.writeHead(410, headers).end(encode(Buffer.from(JSON.stringify(status)))),
    );
    const taken: unknown[] = [];
    await expect(client.request(listInto(taken))).rejects.toMatchObject({
      name: 'ApiError',
      status: 410,
      reason: 'Expired',
    });
    expect(taken).toEqual([]);
  });
});

describe('a list', () => {
  test('is requested compressed, and other answers are not', async () => {
    const { client, server } = await serve((response) => sendJson(response, makeList([], '7')));
    await client.request(listInto([]));
    await client.request({ method: 'GET', path: '/version' });
    const asked = server.requests.map(({ headers }) => headers['accept-encoding']);
    expect(asked[0]).toBe('gzip');
    expect(asked[1]).toBeUndefined();
  });

  test('with another encoding is refused', async () => {
    const { client } = await serve((response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end(Buffer.from([1, 2, 3])),
    );
    await expect(client.request(listInto([]))).rejects.toMatchObject({ code: 'MALFORMED_ANSWER' });
  });

  test.each([null, []])('whose items are %j has none to take', async (items) => {
    const list = { kind: 'List', metadata: { resourceVersion: '7' }, items };
    const { client } = await serve((response) => sendJson(response, list));
    const taken: unknown[] = [];
    await expect(client.request(listInto(taken))).resolves.toEqual(list);
    expect(taken).toEqual([]);
  });
});
