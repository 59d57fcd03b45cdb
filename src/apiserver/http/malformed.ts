import type { Duplex } from 'node:stream';

/** Answers a connection on which no HTTP comes in, and closes it. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = statuses[error.code ?? ''] ?? '400 Bad Request';
  const type = 'Content-Type: text/plain; charset=utf-8';
  socket.end(`HTTP/1.1 ${status}\r\n${type}\r\nConnection: close\r\n\r\n${status}`);
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
