import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Knows what is going on on each connection, so that what is no HTTP does not get in the way of an answer. */
export interface Connections {
  /** Notes a request that came in. */
  note(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a connection on which something comes in that is no HTTP, and closes it. */
  answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void;
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

export function createConnections(): Connections {
  const latest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  return {
    note: (request, response) => {
      latest.set(request.socket, { request, response });
    },
    answerMalformed(error, socket) {
      const { request, response } = latest.get(socket) ?? {};
      if (request?.complete && response && !response.writableFinished) {
        // It follows a request that was in order, and is answered first.
        response.once('close', () => socket.destroy());
      } else if (!socket.writable || error.code === 'ECONNRESET' || isBegun(request, response)) {
        socket.destroy();
      } else {
        const status = statuses[error.code ?? ''] ?? '400 Bad Request';
        const type = 'Content-Type: text/plain; charset=utf-8';
        socket.end(`HTTP/1.1 ${status}\r\n${type}\r\nConnection: close\r\n\r\n${status}`);
      }
    },
  };
}

/** Whether a request that is not complete has an answer already. */
function isBegun(request: IncomingMessage | undefined, response: ServerResponse | undefined): boolean {
  return request?.complete === false && response?.headersSent === true;
}
