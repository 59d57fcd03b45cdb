import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, gzip } from 'node:zlib';
import type { Answer } from './answer.ts';

/** Answers that are longer are compressed, if the client can read that. */
const MIN_GZIP_BYTES = 128 * 1024;

/** Writes an answer. `isLast`: the connection is not used again. */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { code, contentType, body, headers = [], cacheControl }: Answer,
  isLast: boolean,
): void {
  const all = [...commonHeaders(request, isLast, cacheControl), ...headers];
  if (contentType === '') {
    response.writeHead(code, all).end();
    return;
  }
  all.push('Content-Type', contentType);
  const bytes = Buffer.byteLength(body);
  if (bytes <= MIN_GZIP_BYTES || !acceptsGzip(request)) {
    response.writeHead(code, [...all, 'Content-Length', String(bytes)]).end(body);
    return;
  }
  gzip(body, { level: constants.Z_BEST_SPEED }, (error, compressed) => {
    if (error !== null) {
      response.writeHead(code, [...all, 'Content-Length', String(bytes)]).end(body);
      return;
    }
    const more = ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding'];
    response.writeHead(code, [...all, ...more, 'Content-Length', String(compressed.length)]).end(compressed);
  });
}

/** Sends the head of a stream right away: its first line may be long in coming. */
export function writeStreamHead(
  request: IncomingMessage,
  response: ServerResponse,
  headers: readonly string[],
  isLast: boolean,
): void {
  const type = ['Content-Type', 'application/json'];
  response.writeHead(200, [...commonHeaders(request, isLast), ...type, ...headers]);
  response.flushHeaders();
}

function commonHeaders(
  { headers }: IncomingMessage,
  isLast: boolean,
  cacheControl = 'no-cache, private',
): string[] {
  const auditId = headers['audit-id'];
  return [
    'Audit-Id',
    typeof auditId === 'string' && auditId !== '' ? auditId : randomUUID(),
    'Cache-Control',
    cacheControl,
    ...(isLast ? ['Connection', 'close'] : []),
  ];
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const accepted = headers['accept-encoding'];
  return typeof accepted === 'string' && accepted.split(',').some((each) => each.trim() === 'gzip');
}
