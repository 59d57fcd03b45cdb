import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HttpServer } from '../../../src/processes/http-server.ts';
import { startLeaderEndpoints } from '../../../src/processes/participant/leader-endpoints.ts';
import { Leadership } from '../../../src/processes/participant/leadership.ts';
import { keepLeaderFile } from '../../../src/processes/participant/sidecar.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeTerm } from './fake-term.ts';

const started: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.close()));
});

async function start() {
  const clock = new VirtualClock();
  const leadership = new Leadership({ clock, lease: 'default/web', identity: () => 'web-1' });
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
    const { server, leadership, lead } = await start();
    leadership.observe({ holder: 'web-2', role: 'following', isStanding: true });
    expect(await ask(server, '/')).toMatchObject({ status: 200, body: '{"name":"web-2"}\n' });
    void lead();
    expect(await ask(server, '/')).toMatchObject({
      body: '{"name":"web-1"}\n',
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
  });

  test('answer 200 only while this candidate leads, with what is left at that moment', async () => {
    const { server, clock, term, lead } = await start();
    const before = await ask(server, '/leader');
    expect(before.status).toBe(503);
    expect(JSON.parse(before.body)).toMatchObject({ leading: false, holder: '', validForMs: 0 });
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
    // What it was told holds for 5 s, but it has said that it relies on it no more.
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
    {
      what: 'such a name, to watch',
      path: '/watch',
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

  test('tell whoever watches of each change, and between changes that it is still so', async () => {
    const { server, clock, leadership, term, lead } = await start();
    const stream = await open(server, '/watch');
    let text = '';
    stream.on('data', (chunk: string) => {
      text += chunk;
    });
    const events = () =>
      [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, data = '']) => {
        const { holder, leading, validForMs } = JSON.parse(data) as Record<string, unknown>;
        return [event, holder, leading, validForMs];
      });
    const heard = async (count: number) => {
      while (events().length < count) await once(stream, 'data');
    };
    await heard(1);
    leadership.observe({ holder: 'web-2', role: 'following', isStanding: true });
    await heard(2);
    const leading = lead();
    await heard(3);
    await clock.advance(2000);
    await heard(4);
    term.end('yielded');
    await heard(5);
    expect(events()).toEqual([
      ['change', '', false, 0],
      ['change', 'web-2', false, 0],
      ['change', 'web-1', true, 5000],
      ['heartbeat', 'web-1', true, 5000],
      ['change', 'web-2', false, 0],
    ]);
    await clock.advance(5000);
    await leading;
    const ended = once(stream, 'end');
    await server.close();
    await ended;
    expect(clock.pendingTimers).toBe(0);
    started.splice(0);
  });

  test('answer /healthz and /metrics, to HEAD as well', async () => {
    const { server } = await start();
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await ask(server, '/metrics?x')).toMatchObject({ status: 200, body: 'leading 1\n' });
    expect(await ask(server, '/healthz', 'HEAD')).toMatchObject({ status: 200, body: '' });
  });
});

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leader-file-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function makeFile(file = join(folder, 'leader.json')) {
  const clock = new VirtualClock();
  const leadership = new Leadership({ clock, lease: 'default/web', identity: () => 'web-1' });
  const failures: unknown[] = [];
  const end = keepLeaderFile({ file, leadership, clock, onFailure: (error) => failures.push(error) });
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  return { clock, leadership, failures, end, read, file };
}

describe('the file that tells who leads', () => {
  test('says from the start that this candidate does not, whatever an earlier process has left', () => {
    const { read, clock, end } = makeFile();
    expect(read()).toEqual({
      lease: 'default/web',
      identity: 'web-1',
      holder: '',
      leading: false,
      validForMs: 0,
      validUntil: '2026-01-01T00:00:00.000Z',
    });
    end();
    expect(clock.pendingTimers).toBe(0);
  });

  test('says until when that holds, and says so again before it has run out', async () => {
    const { clock, leadership, read, end } = makeFile();
    const term = new FakeTerm(15_000, clock);
    void leadership.lead(term);
    expect(read()).toMatchObject({ leading: true, fencingToken: 7, validUntil: '2026-01-01T00:00:05.000Z' });
    await clock.advance(3000);
    expect(read()).toMatchObject({ validUntil: '2026-01-01T00:00:08.000Z' });
    await clock.advance(11_000);
    // Its last second.
    expect(read()).toMatchObject({ validForMs: 1000, validUntil: '2026-01-01T00:00:15.000Z' });
    term.end('lost', 0);
    await clock.advance(0);
    expect(read()).toMatchObject({ leading: false, validUntil: '2026-01-01T00:00:14.000Z' });
    end();
    await clock.advance(1000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is readable for everybody, replaced whole, and leaves nothing beside it', () => {
    const { file, leadership } = makeFile();
    const { ino } = statSync(file);
    leadership.observe({ holder: 'web-2', role: 'following', isStanding: true });
    expect(statSync(file).ino).not.toBe(ino);
    expect(statSync(file).mode & 0o444).toBe(0o444);
    expect(readdirSync(folder)).toEqual(['leader.json']);
  });

  test('is refused where it cannot be written', () => {
    expect(() => makeFile(join(folder, 'none', 'leader.json'))).toThrow('ENOENT');
  });

  test('is tried again when it could not be written, which is told once', async () => {
    const { clock, leadership, failures, read } = makeFile();
    const term = new FakeTerm(15_000, clock);
    rmSync(folder, { recursive: true });
    void leadership.lead(term);
    await clock.advance(3000);
    expect(failures).toHaveLength(1);
    mkdirSync(folder);
    await clock.advance(1000);
    expect(read()).toMatchObject({ leading: true });
  });
});
