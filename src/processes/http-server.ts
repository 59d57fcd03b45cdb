import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { StatusPage } from '../status-page/status-page.ts';
import { type ListenAddress, listenOn } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** The reason of a failure, or a useful detail of the state. */
  readonly message?: string;
  /** True if the report shows this check, but its failure does not make the whole report fail. */
  readonly informational?: boolean;
}

export interface HttpServerParts {
  readonly clock: Clock;
  /**
   * Returns the checks of `/readyz`. Called for each GET or HEAD request to `/readyz`. A failed check means that the
   * process cannot do its work at the moment, unless the check is informational.
   */
  readinessChecks(): readonly HealthCheck[];
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  /** Undefined if the status page is turned off. Absent if the command has no status page. */
  readonly statusPage?: Pick<StatusPage, 'has' | 'answer' | 'close'> | undefined;
}

/**
 * Serves `/metrics`, `/livez`, `/readyz` and an optional status page on one port.
 * @throws {Error} with the address, and with advice for common causes, if the server cannot listen on the address.
 */
export function startHttpServer(listen: ListenAddress, parts: HttpServerParts): Promise<HttpServer> {
  const { clock, statusPage } = parts;
  return serveAnswers((server) => listenOn(server, listen), {
    clock,
    async answer(request, response) {
      const path = pathOf(request);
      const page = pages[path];
      if (!page && !statusPage?.has(path)) return notFound(path, parts);
      if (!isReading(request)) return { status: 405, body: 'only GET and HEAD\n', allow: 'GET, HEAD' };
      if (page) return await page(parts);
      statusPage?.answer(request, response);
      return undefined;
    },
    onClose: () => statusPage?.close(),
  });
}

export interface HttpServer<Address = ListenAddress> {
  /** The address, with the port that the system selected for port 0. Undefined for a Unix socket. */
  readonly address: Address;
  /** Closes idle connections. Waits up to a second for answers in flight, then closes all remaining connections. */
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Default: plain text. */
  readonly contentType?: string;
  /** The methods that the path allows, for the Allow header of an answer with status 405. */
  readonly allow?: string;
}

interface AnswersParts {
  readonly clock: Clock;
  /**
   * Returns the answer to a request, or undefined if this function writes the response itself. If this function
   * rejects, the server answers 500.
   */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<Answer | undefined>;
  /** Called when the server begins to close. Streams that stay open are cut off after a second. */
  readonly onClose: () => void;
}

/** Grace period for answers in flight, in milliseconds. Short, because it delays the termination of a pod. */
const CLOSE_WITHIN_MS = 1000;

/** Lets `server` listen. Resolves to the address on which `server` listens; to undefined for a Unix socket. */
export type Listen<Address> = (server: Server) => Promise<Address>;

/** Starts an HTTP server that sends the answers of `parts.answer`. Rejects if the server cannot listen. */
export async function serveAnswers<Address>(
  listen: Listen<Address>,
  parts: AnswersParts,
): Promise<HttpServer<Address>> {
  const server = createServer(async (request, response) => {
    const answer = await parts
      .answer(request, response)
      .catch((error: unknown) => ({ status: 500, body: `cannot answer: ${String(error)}\n` }));
    if (answer) send(response, answer, !server.listening);
  });
  const address = await listen(server);
  return {
    address,
    close: () =>
      new Promise((resolve) => {
        // Browsers open connections in advance, without a request. Node counts such connections as active, so close
        // them after the grace period.
        const cancel = parts.clock.setTimer(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          cancel();
          resolve();
        });
        parts.onClose();
      }),
  };
}

export function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

export function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

export async function answerMetrics({ metrics }: Pick<HttpServerParts, 'metrics'>): Promise<Answer> {
  return { status: 200, contentType: metrics.contentType, body: await metrics.metrics() };
}

function notFound(path: string, parts: HttpServerParts): Answer {
  if (parts.statusPage)
    return { status: 404, body: 'not found; there are /, /metrics, /livez and /readyz\n' };
  const isPageOff = path === '/' && 'statusPage' in parts;
  const what = isPageOff ? 'the status page is off, --status-page turns it on' : 'not found';
  return { status: 404, body: `${what}; there are /metrics, /livez and /readyz\n` };
}

const pages: Readonly<Record<string, (parts: HttpServerParts) => Promise<Answer>>> = {
  // The answer itself is the check: if the event loop hangs, the kubelet gets no answer, and restarts the container.
  '/livez': async () => ({ status: 200, body: 'livez check passed\n' }),
  '/readyz': async (parts) => healthReport(parts.readinessChecks()),
  '/metrics': answerMetrics,
};

/** Formats a report in the verbose format of Kubernetes' own health endpoints. */
function healthReport(checks: readonly HealthCheck[]): Answer {
  const isHealthy = checks.every(({ ok, informational }) => ok || informational);
  const lines = checks.map(({ name, ok, informational, message }) => {
    const mark = ok || informational ? '[+]' : '[-]';
    const verdict = ok ? 'ok' : informational ? 'not ok, not required' : 'failed';
    return `${mark}${name} ${verdict}${message === undefined ? '' : `: ${message}`}\n`;
  });
  return {
    status: isHealthy ? 200 : 503,
    body: `${lines.join('')}readyz check ${isHealthy ? 'passed' : 'failed'}\n`,
  };
}

function send(response: ServerResponse, answer: Answer, isLast: boolean): void {
  const { status, body, contentType = 'text/plain; charset=utf-8', allow } = answer;
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // When the server closes, a keep-alive connection would delay close() until the grace period ends.
    ...(isLast && { Connection: 'close' }),
    ...(allow !== undefined && { Allow: allow }),
  });
  // Node omits the body of an answer to HEAD.
  response.end(body);
}
