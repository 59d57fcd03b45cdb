import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Clock } from '../../support/clock.ts';
import type { Answer } from './answer.ts';
import type { ExchangeResult } from './exchange.ts';

/** Answers that are longer are compressed, if the client can read that. */
const MIN_GZIP_BYTES = 128 * 1024;
/** As long as a client needs to read a refusal. */
const LINGER_MS = 500;
/** No client names more; a header may have a million. */
const MOST_ENCODINGS = 100;
const COMPRESSED = ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding'];

/** What the head of every answer tells. */
export interface HeadFacts {
  /** The connection is not used again. */
  readonly isLast: boolean;
  readonly wallTime: bigint;
}

/** Writes an answer. */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { code, contentType, body, headers = [], cacheControl }: Answer,
  facts: HeadFacts,
): void {
  const all = [...commonHeaders(request, facts, cacheControl), ...headers];
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
    response
      .writeHead(code, [...all, ...COMPRESSED, 'Content-Length', String(compressed.length)])
      .end(compressed);
  });
}

/**
 * Answers a request whose body is not read to its end, and ends the connection. It stays open for a moment: a client that
 * is still sending would otherwise see a reset instead of the answer.
 */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  { code, contentType, body, headers = [] }: Answer,
  { wallTime }: HeadFacts,
  clock: Clock,
): void {
  const facts = { isLast: true, wallTime };
  const length = ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(body))];
  response.writeHead(code, [...commonHeaders(request, facts), ...headers, ...length]).write(body);
  const cancel = clock.setTimer(() => response.end(), LINGER_MS);
  response.once('close', cancel);
}

/** Writes a long answer, chunk by chunk, each once the client has taken those before it. */
export function writeChunks(
  request: IncomingMessage,
  response: ServerResponse,
  { contentType, chunks, headers = [] }: Extract<ExchangeResult, { readonly kind: 'chunks' }>,
  facts: HeadFacts,
  onError: (error: unknown) => void,
): void {
  const isCompressed = acceptsGzip(request);
  const more = isCompressed ? COMPRESSED : [];
  response.writeHead(200, [
    ...commonHeaders(request, facts),
    ...headers,
    'Content-Type',
    contentType,
    ...more,
  ]);
  const source = Readable.from(chunks, { highWaterMark: 1 });
  const done = (error?: NodeJS.ErrnoException | null) => {
    // Whoever leaves early has a reason.
    if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') onError(error);
  };
  if (isCompressed) pipeline(source, createGzip({ level: constants.Z_BEST_SPEED }), response, done);
  else pipeline(source, response, done);
}

/** Sends the head of a stream right away: its first line may be long in coming. */
export function writeStreamHead(
  request: IncomingMessage,
  response: ServerResponse,
  headers: readonly string[],
  facts: HeadFacts,
): void {
  const type = ['Content-Type', 'application/json'];
  response.writeHead(200, [...commonHeaders(request, facts), ...type, ...headers]);
  response.flushHeaders();
}

function commonHeaders(
  { headers }: IncomingMessage,
  { isLast, wallTime }: HeadFacts,
  cacheControl = 'no-cache, private',
): string[] {
  const auditId = headers['audit-id'];
  return [
    'Audit-Id',
    typeof auditId === 'string' && auditId !== '' ? auditId : randomUUID(),
    'Cache-Control',
    cacheControl,
    'Date',
    new Date(Number(wallTime / 1000n)).toUTCString(),
    ...(isLast ? ['Connection', 'close'] : []),
  ];
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const accepted = headers['accept-encoding'];
  return (
    typeof accepted === 'string' && accepted.split(',', MOST_ENCODINGS).some((each) => each.trim() === 'gzip')
  );
}
