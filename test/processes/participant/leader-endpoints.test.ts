import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpServer } from '../../../src/processes/http-server.ts';
import { Leadership, startLeaderEndpoints } from '../../../src/processes/participant/leader-endpoints.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeTerm } from './fake-term.ts';

const started: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start() {
  const clock = new VirtualClock();
  const leadership = new Leadership({
    clock,
    lease: 'default/web',
    identity: () => 'web-1',
    holder: () => 'web-2',
  });
  const term = new FakeTerm(15_000, clock);
  const server = await startLeaderEndpoints(
    { host: '127.0.0.1', port: 0 },
    {
      clock,
      leadership,
      resign: async () => term.end('resigned'),
      metrics: { contentType: 'text/plain; version=0.0.4', metrics: async () => 'leading 1\n' },
    },
  );
  started.push(server);
  return { server, clock, leadership, term, lead: () => leadership.lead(term) };
}

type Headers = Record<string, string>;

async function open(
  server: HttpServer,
  path: string,
  method = 'GET',
  headers: Headers = {},
): Promise<IncomingMessage> {
  const asked = request({ ...server.address, path, method, headers, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response.setEncoding('utf8');
}

async function ask(server: HttpServer, path: string, method?: string, headers?: Headers) {
  const response = await open(server, path, method, headers);
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, headers: response.headers, body };
}

describe('the endpoints of a sidecar', () => {
  test('name the holder as the retired leader-elector did', async () => {
    const { server, lead } = await start();
    expect(await ask(server, '/')).toMatchObject({ status: 200, body: '{"name":"web-2"}\n' });
    void lead();
    expect(await ask(server, '/')).toMatchObject({
      body: '{"name":"web-1"}\n',
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
  });

  test('answer 200 only while this candidate leads, with the remaining time', async () => {
    const { server, clock, term, lead } = await start();
    const before = await ask(server, '/leader');
    expect(before.status).toBe(503);
    expect(JSON.parse(before.body)).toMatchObject({ leading: false, holder: 'web-2', validForMs: 0 });
    void lead();
    await clock.advance(12_000);
    const during = await ask(server, '/leader');
    expect(during.status).toBe(200);
    expect(JSON.parse(during.body)).toMatchObject({
      leading: true,
      holder: 'web-1',
      fencingToken: 7,
      validForMs: 3000,
    });
    term.end('lost', 0);
    expect(await ask(server, '/leader')).toMatchObject({ status: 503 });
  });

  test('let the program give up the lead', async () => {
    const { server, term, lead } = await start();
    const leading = lead();
    await ask(server, '/leader');
    const { status, body } = await ask(server, '/resign', 'POST');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ resigned: true, leading: false });
    expect(term.signal.aborted).toBe(true);
    // Its promise is valid for 5 s, but the program has reported that it has stopped.
    await leading;
    expect(JSON.parse((await ask(server, '/resign', 'POST')).body)).toMatchObject({ resigned: false });
  });

  test.each<{ what: string; path: string; method: string; headers: Headers; want: number }>([
    {
      what: 'a page of a website',
      path: '/resign',
      method: 'POST',
      headers: { origin: 'https://example.com' },
      want: 403,
    },
    {
      what: 'a page without a name',
      path: '/resign',
      method: 'POST',
      headers: { origin: 'null' },
      want: 403,
    },
    {
      what: 'any other browser',
      path: '/resign',
      method: 'POST',
      headers: { 'sec-fetch-site': 'none' },
      want: 403,
    },
    {
      what: 'a name that a website has given to 127.0.0.1',
      path: '/resign',
      method: 'POST',
      headers: { host: 'example.com:4040' },
      want: 403,
    },
    {
      what: 'such a name, to read',
      path: '/leader',
      method: 'GET',
      headers: { host: 'example.com' },
      want: 403,
    },
    { what: 'a link', path: '/resign', method: 'GET', headers: {}, want: 405 },
    { what: 'a write', path: '/leader', method: 'POST', headers: {}, want: 405 },
    { what: 'what there is not', path: '/nothing', method: 'GET', headers: {}, want: 404 },
  ])('refuse $what', async ({ path, method, headers, want }) => {
    const { server, term, lead } = await start();
    void lead();
    expect(await ask(server, path, method, headers)).toMatchObject({ status: want });
    expect(term.signal.aborted).toBe(false);
  });

  test('answer /healthz and /metrics, and HEAD, too', async () => {
    const { server } = await start();
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(server, '/metrics?x')).toMatchObject({ status: 200, body: 'leading 1\n' });
    expect(await ask(server, '/healthz', 'HEAD')).toMatchObject({ status: 200, body: '' });
  });
});
