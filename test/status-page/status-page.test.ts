import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createGunzip } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpServer } from '../../src/processes/http-server.ts';
import { MAX_READERS } from '../../src/status-page/broadcast.ts';
import { keepIdleConnections } from '../support/idle-connections.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { servePage } from './serve-page.ts';

const servers: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** By a clock that stands still: messages come when the test lets time pass. */
async function start(options?: Omit<Parameters<typeof servePage>[0], 'clock'>) {
  const clock = new VirtualClock();
  const served = await servePage({ ...options, clock });
  servers.push(served.server);
  return { ...served, clock };
}

function wallMs(clock: VirtualClock): number {
  return Number(clock.wallTime() / 1000n);
}

/** The head of a response. The caller reads or destroys the rest. */
function ask(
  server: HttpServer,
  path: string,
  {
    method = 'GET',
    headers = {},
    agent = false,
  }: { method?: string; headers?: Record<string, string>; agent?: Agent | false } = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({ ...server.address, path, method, headers, agent }, resolve)
      .on('error', reject)
      .end();
  });
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Reads until `text` has arrived. */
async function readUntil(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  let read = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    read += String(chunk);
    if (read.includes(text)) return read;
  }
  throw new Error(`the stream ended without ${text}: ${read}`);
}

describe('the page', () => {
  test('is missing unless it is requested, and the answer says how to turn it on', async () => {
    const { server } = await start({ isOn: false });
    const answer = await ask(server, '/');
    expect(answer.statusCode).toBe(404);
    expect((await bodyOf(answer)).toString()).toBe(
      'the status page is off, --status-page turns it on; there are /metrics, /livez and /readyz\n',
    );
    expect((await ask(server, '/status/events')).statusCode).toBe(404);
  });

  test('allows only its own files and its own stream', async () => {
    const { server } = await start();
    const answer = await ask(server, '/?q=1');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('refers only to files that it serves, below its own path', async () => {
    const { server } = await start();
    const html = (await bodyOf(await ask(server, '/'))).toString();
    const references = [...html.matchAll(/(?:href|src)="([^"#][^"]*)"/g)].map(([, path]) => path ?? '');
    expect(references.length).toBeGreaterThan(5);
    for (const path of references) {
      expect(path).toMatch(/^status\/[\w-]+\.(css|js|svg)$/);
      expect((await ask(server, `/${path}`)).statusCode).toBe(200);
    }
    expect(html).not.toMatch(/<style|<script(?![^>]*src=)|\son\w+=|style="/);
  });

  test.each([
    { path: '/', method: 'HEAD', want: 200 },
    { path: '/status/events', method: 'HEAD', want: 200 },
    { path: '/', method: 'POST', want: 405 },
    { path: '/status/events', method: 'DELETE', want: 405 },
    { path: '/status/', method: 'GET', want: 404 },
    { path: '/status/../page.html', method: 'GET', want: 404 },
    { path: '/status/tsconfig.json', method: 'GET', want: 404 },
  ])('answers $method $path with $want', async ({ path, method, want }) => {
    const { server } = await start();
    const answer = await ask(server, path, { method });
    expect(answer.statusCode).toBe(want);
    if (method === 'HEAD') expect(await bodyOf(answer)).toHaveLength(0);
  });

  test.each(['/', '/status/main.js', '/status/events'])(
    'does not answer %s by a public name',
    async (path) => {
      const { server } = await start();
      const answer = await ask(server, path, { headers: { host: 'rebound.example.com' } });
      expect(answer.statusCode).toBe(421);
      expect((await bodyOf(answer)).toString()).toMatch(
        /by an address, or by a name that is not public, as through kubectl port-forward/,
      );
    },
  );

  test('does not change the other paths, which mention it', async () => {
    const { server } = await start();
    expect((await ask(server, '/livez')).statusCode).toBe(200);
    expect((await bodyOf(await ask(server, '/nothing'))).toString()).toBe(
      'not found; there are /, /metrics, /livez and /readyz\n',
    );
  });
});

describe('the stream', () => {
  test('sends everything, and then the changes', async () => {
    const { server, leases, clock } = await start();
    leases.seeLed('one');
    const answer = await ask(server, '/status/events');
    expect(answer.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
    const change = readUntil(answer, '"key":"kube-system/two"');
    await clock.advance(0);
    leases.seeLed('two');
    await clock.advance(250);
    expect(await change).toMatch(
      /^event: hello\ndata: \{"version":"test".*event: state\ndata: \{"replica":"active".*"key":"kube-system\/one".*event: complete\ndata: \{"leases":1\}.*"key":"kube-system\/two"/s,
    );
  });

  test('reports since when changes are missing, unchanged each time, and no more when they are seen', async () => {
    let since: number | undefined = -60_000;
    const { server, clock } = await start({ unwatchedSince: () => since });
    const cutAt = wallMs(clock) - 60_000;
    const answer = await ask(server, '/status/events');
    await clock.advance(0);
    // The two clocks drift apart.
    clock.jumpWallClock(7);
    await clock.advance(1000);
    // A watch that has just ended most likely starts again at once.
    since = clock.now();
    await clock.advance(2750);
    since = undefined;
    await clock.advance(250);
    since = clock.now() - 2750;
    const cutAgainAt = wallMs(clock) - 2750;
    await clock.advance(250);
    const read = await readUntil(answer, `"blindSince":${cutAgainAt}}`);
    const states = read.match(/(?<=event: state\ndata: ).*/g) ?? [];
    const told = states.map((state): { blindSince?: number } => JSON.parse(state));
    expect(told.map(({ blindSince }) => blindSince)).toEqual([cutAt, undefined, cutAgainAt]);
  });

  test('is compressed if the client supports it', async () => {
    const { server, leases, clock } = await start();
    leases.seeLed('one');
    const answer = await ask(server, '/status/events', { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers['content-encoding']).toBe('gzip');
    await clock.advance(0);
    expect(await readUntil(answer.pipe(createGunzip()), 'event: complete')).toContain('kube-system/one');
    answer.destroy();
  });

  test('is refused to one reader too many, with the reason, and not to the next after another has left', async () => {
    const { server } = await start();
    const answers = await Promise.all(
      Array.from({ length: MAX_READERS }, () => ask(server, '/status/events')),
    );
    const refused = await ask(server, '/status/events');
    expect((await bodyOf(refused)).toString()).toBe(
      'retry: 10000\nevent: refused\ndata: {"why":"16 pages are open already"}\n\n',
    );
    answers[0]?.destroy();
    // The server notices it only after a while.
    const inGoodTime = { timeout: 20_000 };
    await expect
      .poll(async () => {
        const again = await ask(server, '/status/events');
        const [first] = await once(again, 'data');
        again.destroy();
        return String(first);
      }, inGoodTime)
      .toMatch(/^event: hello/);
    for (const each of answers) each.destroy();
  });

  test('ends when the server closes, without waiting for readers', async () => {
    keepIdleConnections();
    const { server, leases } = await start();
    const agent = new Agent({ keepAlive: true });
    const answer = await ask(server, '/status/events', { agent });
    const rest = bodyOf(answer);
    // The clock stands still: no timeout fires.
    await server.close();
    expect((await rest).toString()).toContain('event: hello');
    leases.looks = 0;
    leases.seeLed('late');
    expect(leases.looks).toBe(0);
    agent.destroy();
  });
});
