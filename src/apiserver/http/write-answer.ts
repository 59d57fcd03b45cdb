import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Clock } from '../../support/clock.ts';
import type { StreamSink } from '../watch/served-watch.ts';
import type { Answer, ExchangeResult } from './answer.ts';

/** Answers above this size are compressed if the client accepts gzip. */
const MIN_GZIP_BYTES = 128 * 1024;
const COMPRESSED = ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding'];
/** How long the connection stays open after a refused body, so that the client can read the answer. */
const LINGER_MS = 500;

/** The facts that set the Connection and Date headers. */
export interface HeadFacts {
  /** Whether the connection closes after this answer. */
  readonly isLast: boolean;
  readonly wallTime: bigint;
}

export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  facts: HeadFacts,
): void {
  const { code, contentType, body } = answer;
  if (contentType === '') {
    response.writeHead(code, headOf(request, answer, facts)).end();
    return;
  }
  const plain = () => response.writeHead(code, headWithBody(request, answer, facts)).end(body);
  if (Buffer.byteLength(body) <= MIN_GZIP_BYTES || !acceptsGzip(request)) {
    plain();
    return;
  }
  gzip(body, { level: constants.Z_BEST_SPEED }, (error, compressed) => {
    if (error !== null) {
      plain();
      return;
    }
    const head = [...headOf(request, answer, facts), 'Content-Type', contentType, ...COMPRESSED];
    response.writeHead(code, [...head, 'Content-Length', String(compressed.length)]).end(compressed);
  });
}

/**
 * Answers a request without reading its whole body, and closes the connection after a short delay. Without the delay, a
 * client that is still sending would see a reset instead of the answer.
 */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  { wallTime }: HeadFacts,
  clock: Clock,
): void {
  const head = headWithBody(request, answer, { isLast: true, wallTime });
  response.writeHead(answer.code, head).write(answer.body);
  response.once(
    'close',
    clock.setTimer(() => response.end(), LINGER_MS),
  );
}

/** Writes a long answer chunk by chunk, at the speed of the client. */
export function writeChunks(
  request: IncomingMessage,
  response: ServerResponse,
  { contentType, chunks, headers = [] }: Extract<ExchangeResult, { readonly kind: 'chunks' }>,
  facts: HeadFacts,
  onError: (error: unknown) => void,
): void {
  const isCompressed = acceptsGzip(request);
  const more = isCompressed ? COMPRESSED : [];
  response.writeHead(200, [...headOf(request, { headers }, facts), 'Content-Type', contentType, ...more]);
  const source = Readable.from(chunks, { highWaterMark: 1 });
  const done = (error?: NodeJS.ErrnoException | null) => {
    // A connection that the client closed is not an error.
    if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') onError(error);
  };
  if (isCompressed) pipeline(source, createGzip({ level: constants.Z_BEST_SPEED }), response, done);
  else pipeline(source, response, done);
}

/** Sends the headers of a stream at once, because the first line may be sent much later. */
export function writeStreamHead(
  request: IncomingMessage,
  response: ServerResponse,
  headers: readonly string[],
  facts: HeadFacts,
): void {
  response.writeHead(200, [...headOf(request, { headers }, facts), 'Content-Type', 'application/json']);
  response.flushHeaders();
}

/** Returns a sink that writes the body of a stream. Its headers have been sent. */
export function streamSink(response: ServerResponse): StreamSink {
  return {
    // When the server closes, it ends the response before the watch notices. Do not write to an ended response.
    write: (chunk) => !response.writableEnded && response.write(chunk),
    end: () => {
      response.end();
    },
    destroy: () => {
      response.destroy();
    },
    onDrain: (callback) => {
      response.on('drain', callback);
    },
    onClose: (callback) => {
      if (response.closed) callback();
      else response.once('close', callback);
    },
  };
}

const MAX_WARNING_CHARACTERS = 4096;
const MAX_CHARACTERS_EACH = 256;

/**
 * Returns Warning headers as alternating names and values, without duplicates. If the texts are too long together,
 * shortens each text and drops the texts beyond the limit.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  // A header cannot contain control characters.
  const told = [...new Set(texts)].filter((text) => text !== '' && !/\p{Cc}/u.test(text));
  const total = told.reduce((sum, text) => sum + [...text].length, 0);
  if (total <= MAX_WARNING_CHARACTERS) return told.flatMap(warningHeader);
  const headers: string[] = [];
  let written = 0;
  for (const text of told) {
    if (written >= MAX_WARNING_CHARACTERS) break;
    const characters = [...text].slice(0, MAX_CHARACTERS_EACH);
    written += characters.length;
    headers.push(...warningHeader(characters.join('')));
  }
  return headers;
}

function warningHeader(text: string): string[] {
  const quoted = `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  // Node writes headers as Latin-1. After this conversion, the written bytes are UTF-8.
  return ['Warning', Buffer.from(`299 - ${quoted}`, 'utf8').toString('latin1')];
}

function headWithBody(request: IncomingMessage, answer: Answer, facts: HeadFacts): string[] {
  const length = String(Buffer.byteLength(answer.body));
  return [...headOf(request, answer, facts), 'Content-Type', answer.contentType, 'Content-Length', length];
}

function headOf(
  { headers: { 'audit-id': auditId } }: IncomingMessage,
  { cacheControl = 'no-cache, private', headers = [] }: Pick<Answer, 'cacheControl' | 'headers'>,
  { isLast, wallTime }: HeadFacts,
): string[] {
  return [
    'Audit-Id',
    typeof auditId === 'string' && auditId !== '' ? auditId : randomUUID(),
    'Cache-Control',
    cacheControl,
    'Date',
    new Date(Number(wallTime / 1000n)).toUTCString(),
    ...(isLast ? ['Connection', 'close'] : []),
    ...headers,
  ];
}

function acceptsGzip({ headers: { 'accept-encoding': accepted } }: IncomingMessage): boolean {
  return typeof accepted === 'string' && accepted.split(',').some((each) => each.trim() === 'gzip');
}
