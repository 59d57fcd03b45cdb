import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Term } from '../../participant/term.ts';
import { isAllowedHost, type ListenAddress, listenOn } from '../../support/address.ts';
import { type Clock, type Instant, sleep } from '../../support/clock.ts';
import { untilAborted } from '../../support/host.ts';
import { listenOnSocket } from '../../support/unix-socket.ts';
import {
  type Answer,
  answerMetrics,
  type HttpServer,
  type HttpServerParts,
  isReading,
  type Listen,
  pathOf,
  serveAnswers,
} from '../http-server.ts';
import { type LeadConnections, MAX_PROMISE_MS } from './lead-connections.ts';

interface LeadershipParts {
  readonly clock: Clock;
  readonly lease: string;
  readonly identity: () => string;
  /** Returns the holder as last seen; undefined if the Lease is not read yet, missing, expired or without a holder. */
  readonly holder: () => string | undefined;
  /** The connections by which programs lead (rule 18); undefined if programs lead by answers of `/leader`. */
  readonly connections?: LeadConnections | undefined;
}

/**
 * The leadership that a sidecar passes on to the program in the same pod. Without connections, each answer of `/leader`
 * promises that the program may lead for `validForMs`, and the sidecar releases the Lease only after all promises have
 * expired, or after the program has confirmed that it has stopped.
 */
export class Leadership {
  readonly #parts: LeadershipParts;
  #term: Term | undefined;
  #promisedUntil: Instant;
  #acknowledged = new AbortController();

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    // An earlier process with the same identity may have sent a promise just before it crashed. Do not release the
    // Lease before that promise has expired.
    this.#promisedUntil = parts.clock.now() + MAX_PROMISE_MS;
  }

  /**
   * Lets the program lead for one term. When the term is over, waits until the program has stopped leading. Without
   * connections, stops waiting when all promises have expired.
   */
  readonly lead = async (term: Term): Promise<void> => {
    this.#term = term;
    this.#acknowledged = new AbortController();
    await (this.#parts.connections?.lead(term) ?? this.#leadByPromises(term));
    this.#term = undefined;
  };

  /**
   * Records that the program has stopped leading, or will not start to lead, in this term. After the term, the sidecar
   * then releases the Lease without waiting until its promises have expired. With connections, this record has no
   * effect: the sidecar waits until the program closes its connection.
   */
  acknowledge(): void {
    this.#acknowledged.abort();
  }

  /**
   * Returns the answer to a program in the same pod. `holder` is empty if no holder is known, or if this candidate is
   * the holder but does not lead. If `leading` is true, the program may lead for `validForMs` milliseconds after it
   * sent the request. If programs lead by connections (rule 18), `validForMs` is always 0, because only the connection
   * permits the program to lead.
   */
  account() {
    const { clock, lease, connections } = this.#parts;
    const identity = this.#parts.identity();
    const term = this.#term;
    const mayLeadMs = !term || term.signal.aborted ? 0 : term.remainingMs();
    if (term && mayLeadMs > 0) {
      const validForMs = connections ? 0 : Math.floor(Math.min(mayLeadMs, MAX_PROMISE_MS));
      this.#promisedUntil = Math.max(this.#promisedUntil, clock.now() + validForMs);
      const { fencingToken } = term;
      return { lease, identity, holder: identity, leading: true, fencingToken, validForMs };
    }
    // This candidate does not lead. Do not report it as the holder, even if the watch still shows it.
    const seen = this.#parts.holder() ?? '';
    return { lease, identity, holder: seen === identity ? '' : seen, leading: false, validForMs: 0 };
  }

  async #leadByPromises(term: Term): Promise<void> {
    const { clock } = this.#parts;
    await untilAborted(term.signal);
    // Also wait if the Lease was lost: this candidate may get it again, and must not release it before the last promise ends.
    const waitMs = this.#promisedUntil - clock.now();
    if (waitMs > 0) await sleep(clock, waitMs, this.#acknowledged.signal);
  }
}

interface LeaderEndpointsParts {
  readonly clock: Clock;
  readonly leadership: Leadership;
  /** The connections by which programs lead (rule 18); undefined without `--lead-by-connection`. */
  readonly connections?: LeadConnections | undefined;
  readonly resign: () => Promise<void>;
  readonly metrics: HttpServerParts['metrics'];
}

/** Headers that proxies add to a request. */
const PROXY_HEADERS = ['via', 'forwarded', 'x-forwarded-for'];

interface Endpoint {
  /**
   * The only allowed method, for an endpoint whose requests affect which candidate leads. Only programs of the same pod
   * may send such requests. Absent for other endpoints.
   */
  readonly effect?: 'GET' | 'POST';
  /** Returns the answer; undefined if the endpoint writes the response itself. */
  answer(
    parts: LeaderEndpointsParts,
    request: IncomingMessage,
    response: ServerResponse,
  ): Answer | Promise<Answer> | undefined;
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/': { answer: ({ leadership }) => json(200, { name: leadership.account().holder }) },
  '/leader': {
    answer({ leadership }) {
      const account = leadership.account();
      return json(account.leading ? 200 : 503, account);
    },
  },
  '/lead': {
    effect: 'GET',
    answer({ connections }, { headers }, response) {
      if (!connections)
        return { status: 404, body: 'this sidecar has no /lead: start it with --lead-by-connection\n' };
      // A proxy may close its connection to the sidecar while the program still leads. The sidecar would then release
      // the Lease too early.
      if (PROXY_HEADERS.some((name) => headers[name] !== undefined))
        return { status: 403, body: 'not through a proxy: connect to the sidecar directly\n' };
      connections.join(response);
      return undefined;
    },
  },
  '/resign': {
    effect: 'POST',
    async answer({ leadership, resign }) {
      const { leading } = leadership.account();
      leadership.acknowledge();
      if (leading) await resign();
      return json(200, { resigned: leading, ...leadership.account() });
    },
  },
  '/healthz': { answer: () => ({ status: 200, body: 'ok\n' }) },
  '/metrics': { answer: answerMetrics },
};

/** Serves the endpoints at a TCP address. @throws {Error} with the address, if the server cannot listen. */
export function startLeaderEndpoints(listen: ListenAddress, parts: LeaderEndpointsParts) {
  const isLocal = ({ socket }: IncomingMessage) =>
    /^(?:::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
  return serveEndpoints((server) => listenOn(server, listen), isLocal, parts);
}

/** Serves the endpoints on a Unix socket. @throws {Error} with the path, if the server cannot listen. */
export function startSocketEndpoints(path: string, parts: LeaderEndpointsParts) {
  const isLocal = () => true;
  return serveEndpoints((server) => listenOnSocket(server, path), isLocal, parts);
}

function serveEndpoints<Address>(
  listen: Listen<Address>,
  isLocal: (request: IncomingMessage) => boolean,
  parts: LeaderEndpointsParts,
): Promise<HttpServer<Address>> {
  return serveAnswers(listen, {
    clock: parts.clock,
    async answer(request, response) {
      const endpoint = ENDPOINTS[pathOf(request)];
      if (endpoint === undefined)
        return { status: 404, body: `not found; there are ${Object.keys(ENDPOINTS).join(', ')}\n` };
      const refusal = refusalOf(request, endpoint, isLocal(request));
      return refusal ?? (await endpoint.answer(parts, request, response));
    },
    onClose: () => parts.connections?.close(),
  });
}

/** Returns the answer that refuses a request; undefined if the request is allowed. */
function refusalOf(request: IncomingMessage, { effect }: Endpoint, isLocal: boolean): Answer | undefined {
  const { headers, method } = request;
  if (!isAllowedHost(headers.host))
    return { status: 403, body: 'the Host header names a website; ask by the address or by localhost\n' };
  if (effect === undefined)
    return isReading(request) ? undefined : { status: 405, body: 'only GET and HEAD\n' };
  if (method !== effect) return { status: 405, body: `only ${effect}\n` };
  // Browsers send Origin with POST, and Sec-Fetch-Site with each request to localhost. Other programs usually send neither.
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
    return { status: 403, body: 'not for browsers\n' };
  if (!isLocal) return { status: 403, body: 'only for programs of the same pod: ask at 127.0.0.1\n' };
  return undefined;
}

function json(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}
