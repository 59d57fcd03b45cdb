import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { expect } from 'vitest';
import { startApiServer } from '../../src/apiserver/api-server.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { largeRequest } from './large-requests.ts';
import { type Request, wildRequest } from './wild-requests.ts';

/** The embedded server over HTTP: it answers every request, without an internal error. */
export const serverTarget = requestTarget(
  'apiserver',
  400,
  fc.array(wildRequest, { minLength: 1, maxLength: 4 }),
);

/** The same for requests of the maximum size. */
export const largeRequestTarget = requestTarget(
  'apiserver large',
  15,
  largeRequest.map((each) => [each]),
);

function requestTarget(name: string, runs: number, requests: fc.Arbitrary<readonly Request[]>): FuzzTarget {
  return {
    name,
    runs,
    async start() {
      const server = await startServer();
      return {
        property: fc.asyncProperty(requests, async (each) => {
          for (const request of each) checkAnswer(await server.ask(request));
          server.check();
        }),
        stop: server.stop,
      };
    },
  };
}

/** Its connections: after any input on one connection, it serves the next connection. */
export const connectionTarget: FuzzTarget = {
  name: 'apiserver connections',
  runs: 60,
  async start() {
    const server = await startServer();
    const line = fc.oneof(
      fc.constantFrom(
        'GET / HTTP/1.1\r\n',
        'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n',
        'Host: a\r\n',
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
        '\r\n',
        'PRI * HTTP/2.0\r\n\r\n',
        `X: ${'x'.repeat(100_000)}\r\n`,
      ),
      fc.string({ unit: 'binary', maxLength: 50 }),
    );
    return {
      property: fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
        await server.send(lines.join(''));
        const answer = await server.ask({ method: 'GET', path: '/livez', query: [], headers: {}, body: '' });
        expect(answer.code).toBe(200);
        server.check();
      }),
      stop: server.stop,
    };
  },
};

interface Answer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
}

function checkAnswer({ code, type, text }: Answer): void {
  expect(code).toBeGreaterThanOrEqual(200);
  expect(text).not.toContain('Internal error occurred');
  if (type === 'application/json' && text !== '') JSON.parse(text);
  if (code >= 400 && type === 'application/json' && text !== '')
    expect(JSON.parse(text)).toMatchObject({ kind: 'Status', code });
}

async function startServer() {
  const errors: unknown[] = [];
  const server = await startApiServer({
    clock: systemClock,
    listen: { host: '127.0.0.1', port: 0 },
    tokens: [{ token: 'fuzz', user: { name: 'fuzz', groups: [] }, rules: 'admin' }],
    onError: (error) => errors.push(error),
  });
  const { port } = server.address;
  const agent = new Agent({ keepAlive: true });
  return {
    ask: (asked: Request) => ask(asked, port, agent),
    send: (text: string) =>
      new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.end(text));
        socket.resume();
        socket.on('error', () => {});
        socket.once('close', () => resolve());
      }),
    check() {
      expect(errors).toEqual([]);
    },
    async stop() {
      agent.destroy();
      await server.close();
    },
  };
}

function ask(
  { method, path, query, headers, body: sent }: Request,
  port: number,
  agent: Agent,
): Promise<Answer> {
  const search = query
    .map((pair) => pair.map((each) => encodeURIComponent(each.toWellFormed())).join('='))
    .join('&');
  const given = Object.entries(headers).filter(([, each]) => /^[\x20-\x7e\x80-\xff]+$/.test(each));
  const all = {
    ...Object.fromEntries(given),
    authorization: 'Bearer fuzz',
    'content-length': Buffer.byteLength(sent),
  };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, agent, method, path: `${path}?${search}`, headers: all },
      (incoming) => {
        textOf(incoming).then(
          (text) =>
            resolve({ code: incoming.statusCode ?? 0, type: incoming.headers['content-type'] ?? '', text }),
          reject,
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end(sent);
  });
}

/** A complete answer; of an endless stream, the data that arrives at once. */
async function textOf(incoming: IncomingMessage): Promise<string> {
  if (incoming.headers['content-length'] === undefined && incoming.statusCode === 200) {
    incoming.destroy();
    return '';
  }
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
