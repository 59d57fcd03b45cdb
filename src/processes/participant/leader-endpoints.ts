import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAllowedHost, type ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import { listenOnSocket } from '../../support/unix-socket.ts';
import {
  type Answer,
  type HttpServer,
  isReading,
  type Listen,
  listenAt,
  pathOf,
  serveAnswers,
} from '../http-server.ts';
import type { LeadConnections } from './lead-connections.ts';
import { type Leadership, LeadershipStreams } from './leadership.ts';

interface LeaderEndpointsParts {
  readonly clock: Clock;
  readonly leadership: Leadership;
  /** Undefined if programs do not use connections to lead (rule 18). */
  readonly connections?: LeadConnections | undefined;
  /** Gives up leadership. Resolves when the Lease is released. */
  readonly resign: () => Promise<void>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

interface Endpoint {
  /** HEAD is handled like GET, except for requests with an effect. */
  readonly method: 'GET' | 'POST';
  /** Whether a request affects which candidate leads. Only programs of the same pod may send it. */
  readonly hasEffect: boolean;
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/': { method: 'GET', hasEffect: false },
  '/leader': { method: 'GET', hasEffect: false },
  '/watch': { method: 'GET', hasEffect: false },
  '/lead': { method: 'GET', hasEffect: true },
  '/resign': { method: 'POST', hasEffect: true },
  '/healthz': { method: 'GET', hasEffect: false },
  '/metrics': { method: 'GET', hasEffect: false },
};

/**
 * Serves the leader to programs of the same pod.
 *
 * @throws {Error} with the address and advice, if the server cannot listen on it.
 */
export function startLeaderEndpoints(
  listen: ListenAddress,
  parts: LeaderEndpointsParts,
): Promise<HttpServer> {
  const isLocal = ({ socket }: IncomingMessage) =>
    /^(?:::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
  return serveEndpoints(listenAt(listen), isLocal, parts);
}

/**
 * Serves the same answers on a Unix socket.
 * @throws {Error} with the path and advice, if the server cannot listen there.
 */
export function startSocketEndpoints(path: string, parts: LeaderEndpointsParts): Promise<HttpServer<void>> {
  return serveEndpoints(
    (server) => listenOnSocket(server, path),
    () => true,
    parts,
  );
}

function serveEndpoints<Address>(
  listen: Listen<Address>,
  isLocal: (request: IncomingMessage) => boolean,
  parts: LeaderEndpointsParts,
): Promise<HttpServer<Address>> {
  const { connections } = parts;
  const streams = new LeadershipStreams(parts);
  const refuse = (request: IncomingMessage) =>
    refusalOf(request, isLocal) ?? refusalOfLead(request, connections);
  const joins: Readonly<Record<string, (response: ServerResponse) => void>> = {
    '/watch': (response) => streams.join(response),
    '/lead': (response) => connections?.join(response),
  };
  return serveAnswers(listen, {
    clock: parts.clock,
    takes(request, response) {
      const join = joins[pathOf(request)];
      if (!join || request.method !== 'GET' || refuse(request)) return false;
      join(response);
      return true;
    },
    answer: async (request) => {
      try {
        return refuse(request) ?? (await answerTo(request, parts));
      } catch (error) {
        return { status: 500, body: `${String(error)}\n` };
      }
    },
    onClose() {
      streams.close();
      connections?.close();
    },
  });
}

async function answerTo(request: IncomingMessage, parts: LeaderEndpointsParts): Promise<Answer> {
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

/** Returns the answer that refuses a request; undefined if the request is allowed. */
function refusalOf(
  request: IncomingMessage,
  isLocal: (request: IncomingMessage) => boolean,
): Answer | undefined {
  const { headers, method = '' } = request;
  const endpoint = ENDPOINTS[pathOf(request)];
  if (endpoint === undefined) {
    return { status: 404, body: `not found; there are ${Object.keys(ENDPOINTS).join(', ')}\n` };
  }
  if (!isAllowedHost(headers.host)) {
    return { status: 403, body: 'the Host header names a website; ask by the address or by localhost\n' };
  }
  if (!endpoint.hasEffect) {
    return isReading(request) ? undefined : { status: 405, body: 'only GET and HEAD\n' };
  }
  if (method !== endpoint.method) return { status: 405, body: `only ${endpoint.method}\n` };
  // Every browser sends one of these headers. Other programs do not send them.
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return { status: 403, body: 'not for browsers\n' };
  }
  if (!isLocal(request)) {
    return { status: 403, body: 'only for programs of the same pod: ask at 127.0.0.1\n' };
  }
  return undefined;
}

/** Headers that proxies add to a request. */
const PROXY_HEADERS = ['via', 'forwarded', 'x-forwarded-for'];

/** Returns the answer that refuses a request for leadership; undefined if the request is allowed. */
function refusalOfLead(
  request: IncomingMessage,
  connections: LeadConnections | undefined,
): Answer | undefined {
  if (pathOf(request) !== '/lead') return undefined;
  if (!connections) {
    return { status: 404, body: 'this sidecar has no /lead: start it with --lead-by-connection\n' };
  }
  // The end of a proxy's connection does not show that the program behind the proxy has ended.
  if (PROXY_HEADERS.some((name) => request.headers[name] !== undefined)) {
    return { status: 403, body: 'not through a proxy: connect to the sidecar directly\n' };
  }
  return undefined;
}

function json(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}
