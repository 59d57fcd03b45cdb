import type { IncomingMessage } from 'node:http';
import { isAllowedHost, type ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import { type Answer, type HttpServer, isReading, pathOf, serveAnswers } from '../http-answers.ts';
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
export function startLeaderEndpoints(
  listen: ListenAddress,
  parts: LeaderEndpointsParts,
): Promise<HttpServer> {
  const streams = new LeadershipStreams(parts);
  return serveAnswers(listen, {
    clock: parts.clock,
    takes(request, response) {
      if (pathOf(request) !== '/watch' || refusalOf(request) !== undefined || request.method !== 'GET')
        return false;
      streams.join(response);
      return true;
    },
    answer: (request) =>
      answerTo(request, parts).catch((error: unknown) => ({ status: 500, body: `${String(error)}\n` })),
    onClose: () => streams.close(),
  });
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
    return isReading(request) ? undefined : { status: 405, body: 'only GET and HEAD\n' };
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

function json(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}
