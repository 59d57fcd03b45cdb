import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type ListenAddress, listenOn } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';

/** One line of a health report. */
export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why it is not ok, or a state worth showing though it is. */
  readonly message?: string;
  /** Shown only: does not decide over the whole. */
  readonly informational?: boolean;
}

/** What the server serves. The functions are called anew for every request. */
export interface HttpServerParts {
  readonly clock: Clock;
  /** Fail these and the process should be restarted. That an answer comes at all shows that the event loop turns. */
  livenessChecks(): readonly HealthCheck[];
  /** Fail these and the process cannot do its work yet, or at present. */
  readinessChecks(): readonly HealthCheck[];
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  /** Undefined: it was not asked for. Absent: there is none to ask for. */
  readonly statusPage?: ServedPage | undefined;
}

/** A page that answers for paths of its own. */
interface ServedPage {
  /** Whether a path, without its query, is one of its. */
  has(path: string): boolean;
  /** Answers a GET or HEAD of such a path. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Ends answers that would go on for ever. */
  close(): void;
}

/**
 * Serves `/metrics`, `/livez` and `/readyz` on one port, and the status page where there is one.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export function startHttpServer(listen: ListenAddress, parts: HttpServerParts): Promise<HttpServer> {
  const { clock, statusPage } = parts;
  return serveAnswers(listen, {
    clock,
    takes(request, response) {
      if (!statusPage?.has(pathOf(request)) || !isReading(request)) return false;
      statusPage.answer(request, response);
      return true;
    },
    answer: (request) =>
      answerTo(request, parts).catch((error: unknown) => ({
        status: 500,
        body: `cannot collect: ${String(error)}\n`,
      })),
    onClose: () => statusPage?.close(),
  });
}

/** A server that accepts requests until it is closed. */
export interface HttpServer {
  /** Where it listens, with the port that was taken if any free one was asked for. */
  readonly address: ListenAddress;
  /** Ends idle connections at once, waits for answers under way, and cuts what has not ended after a second. */
  close(): Promise<void>;
}

/** What a request is answered, whole. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Default: plain text. */
  readonly contentType?: string;
  /** The Allow header, of a refused method. */
  readonly allow?: string;
}

/** What a server answers. */
interface AnswersParts {
  readonly clock: Clock;
  /** Returns whether it has taken a request upon itself, as one whose answer goes on. */
  readonly takes: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Must not reject. */
  readonly answer: (request: IncomingMessage) => Promise<Answer>;
  /** Ends answers that would go on for ever. */
  readonly onClose: () => void;
}

/** The methods of {@link isReading}, for an Allow header. */
const READING = 'GET, HEAD';

/** Nothing that is asked for here is worth keeping a pod that is to end. */
const CLOSE_WITHIN_MS = 1000;

/**
 * Listens, and answers.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export async function serveAnswers(listen: ListenAddress, parts: AnswersParts): Promise<HttpServer> {
  const server = createServer((request, response) => {
    if (parts.takes(request, response)) return;
    void parts.answer(request).then((answer) => send(response, answer, { isLast: !server.listening }));
  });
  const port = await listenOn(server, listen);
  return {
    address: { host: listen.host, port },
    close: () =>
      new Promise((resolve) => {
        // Node counts a connection over which nothing was ever sent, as browsers open in advance, among those in use.
        const cancel = parts.clock.setTimer(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          cancel();
          resolve();
        });
        parts.onClose();
      }),
  };
}

/** The path of a request, without its query. */
export function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

export function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

async function answerTo(request: IncomingMessage, parts: HttpServerParts): Promise<Answer> {
  const path = pathOf(request);
  const page = pages[path];
  if (page === undefined && !parts.statusPage?.has(path)) return notFound(path, parts);
  if (page === undefined || !isReading(request))
    return { status: 405, body: 'only GET and HEAD\n', allow: READING };
  return page(parts);
}

function notFound(path: string, parts: HttpServerParts): Answer {
  if (parts.statusPage)
    return { status: 404, body: 'not found; there are /, /metrics, /livez and /readyz\n' };
  const isPageOff = path === '/' && 'statusPage' in parts;
  const what = isPageOff ? 'the status page is off, --status-page turns it on' : 'not found';
  return { status: 404, body: `${what}; there are /metrics, /livez and /readyz\n` };
}

const pages: Readonly<Record<string, (parts: HttpServerParts) => Promise<Answer>>> = {
  '/livez': async (parts) => healthReport('livez', parts.livenessChecks()),
  '/readyz': async (parts) => healthReport('readyz', parts.readinessChecks()),
  '/metrics': async ({ metrics }) => ({
    status: 200,
    contentType: metrics.contentType,
    body: await metrics.metrics(),
  }),
};

/** Laid out like the verbose report of Kubernetes' own health endpoints, which operators can read at a glance. */
function healthReport(name: string, checks: readonly HealthCheck[]): Answer {
  const isHealthy = checks.every((check) => check.ok || check.informational);
  const lines = checks.map(({ name: check, ok, informational, message }) => {
    const mark = ok || informational ? '[+]' : '[-]';
    const verdict = ok ? 'ok' : informational ? 'not ok, not required' : 'failed';
    return `${mark}${check} ${verdict}${message === undefined ? '' : `: ${message}`}\n`;
  });
  return {
    status: isHealthy ? 200 : 503,
    body: `${lines.join('')}${name} check ${isHealthy ? 'passed' : 'failed'}\n`,
  };
}

function send(
  response: ServerResponse,
  { status, body, contentType, allow }: Answer,
  { isLast }: { isLast: boolean },
): void {
  response.statusCode = status;
  response.setHeader('Content-Type', contentType ?? 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // A client that keeps its connection alive would hold up close() for seconds.
  if (isLast) response.setHeader('Connection', 'close');
  if (allow !== undefined) response.setHeader('Allow', allow);
  // Node leaves the body out of the answer to a HEAD request by itself.
  response.end(body);
}
