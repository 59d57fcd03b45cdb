import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ListenAddress } from '../../support/address.ts';
import { isAllowedHost } from '../../support/allowed-host.ts';
import type { Clock } from '../../support/clock.ts';
import { listenOn } from '../../support/listen.ts';
import type { HttpServer } from '../http-endpoints.ts';
import type { Leadership } from './leadership.ts';
import { LeadershipStreams } from './leadership-streams.ts';

/** What the endpoints tell of, and what they can do. */
export interface LeaderEndpointsParts {
  readonly clock: Clock;
  readonly leadership: Leadership;
  /** Gives up the lead; resolves once the Lease is released. */
  readonly resign: () => Promise<void>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** For answers under way when the server closes, in milliseconds. */
const CLOSE_WITHIN_MS = 1000;

/** What there is, with the only methods that it knows; the same for HEAD as for GET. */
const METHODS: Readonly<Record<string, 'GET' | 'POST'>> = {
  '/': 'GET',
  '/leader': 'GET',
  '/watch': 'GET',
  '/resign': 'POST',
  '/healthz': 'GET',
  '/metrics': 'GET',
};

/**
 * Tells programs of the same pod who leads.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export async function startLeaderEndpoints(
  listen: ListenAddress,
  parts: LeaderEndpointsParts,
): Promise<HttpServer> {
  const streams = new LeadershipStreams(parts);
  const server = createServer((request, response) => {
    if (pathOf(request) === '/watch' && refusalOf(request) === undefined && request.method === 'GET') {
      streams.join(response);
      return;
    }
    const reply = (answer: Answer) => send(response, answer, { isLast: !server.listening });
    answerTo(request, parts).then(reply, (error: unknown) =>
      reply({ status: 500, body: `${String(error)}\n` }),
    );
  });
  const port = await listenOn(server, listen);
  return {
    address: { host: listen.host, port },
    close: () =>
      new Promise((resolve) => {
        const cancel = parts.clock.setTimer(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          cancel();
          resolve();
        });
        streams.close();
      }),
  };
}

async function answerTo(request: IncomingMessage, parts: LeaderEndpointsParts): Promise<Answer> {
  const refusal = refusalOf(request);
  if (refusal) return refusal;
  const { leadership, metrics } = parts;
  switch (pathOf(request)) {
    case '/':
      return json(200, { name: leadership.account().holder });
    case '/leader': {
      const account = leadership.account();
      return json(account.leading ? 200 : 503, account);
    }
    case '/resign': {
      const { leading } = leadership.account();
      leadership.acknowledge();
      if (leading) await parts.resign();
      return json(200, { resigned: leading, ...leadership.account() });
    }
    case '/metrics':
      return { status: 200, contentType: metrics.contentType, body: await metrics.metrics() };
    default:
      return { status: 200, body: 'ok\n' };
  }
}

/** Why a request is not answered; undefined where it is. */
function refusalOf(request: IncomingMessage): Answer | undefined {
  const { headers, method = '' } = request;
  const path = pathOf(request);
  const allowed = METHODS[path];
  if (allowed === undefined) {
    return { status: 404, body: `not found; there are ${Object.keys(METHODS).join(', ')}\n` };
  }
  if (!isAllowedHost(headers.host)) {
    return { status: 403, body: 'the Host header names a website; ask by the address or by localhost\n' };
  }
  if (allowed === 'GET') {
    return method === 'GET' || method === 'HEAD' ? undefined : { status: 405, body: 'only GET and HEAD\n' };
  }
  if (method !== allowed) return { status: 405, body: 'only POST\n' };
  // Every browser sends one of these; programs do not.
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return { status: 403, body: 'not for browsers\n' };
  }
  if (!/^(?:::ffff:)?127\.|^::1$/.test(request.socket.remoteAddress ?? '')) {
    return { status: 403, body: 'only for programs of the same pod: ask at 127.0.0.1\n' };
  }
  return undefined;
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

function json(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}

function send(
  response: ServerResponse,
  { status, body, contentType }: Answer,
  { isLast }: { isLast: boolean },
): void {
  response.statusCode = status;
  response.setHeader('Content-Type', contentType ?? 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // A client that keeps its connection alive would hold up close().
  if (isLast) response.setHeader('Connection', 'close');
  response.end(body);
}
