import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type ListenAddress, listenOn } from '../support/address.ts';
import type { Clock } from '../support/clock.ts';

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
export interface AnswersParts {
  readonly clock: Clock;
  /** Returns whether it has taken a request upon itself, as one whose answer goes on. */
  readonly takes: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Must not reject. */
  readonly answer: (request: IncomingMessage) => Promise<Answer>;
  /** Ends answers that would go on for ever. */
  readonly onClose: () => void;
}

/** The methods of {@link isReading}, for an Allow header. */
export const READING = 'GET, HEAD';

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
