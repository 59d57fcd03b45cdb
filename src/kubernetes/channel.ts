import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

/** One complete HTTP request. */
export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborts the request, or the body of its answer. */
  readonly signal: AbortSignal;
}

/** The head of an answer. The caller has to read the body to its end, or destroy it. */
export interface IncomingAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** One complete HTTP answer. Of an error answer, at most {@link MAX_ERROR_BYTES} are read. */
export interface WholeAnswer extends Pick<IncomingAnswer, 'statusCode' | 'headers'> {
  readonly text: string;
}

/** Connections of one kind to one server. */
export interface Channel {
  /** Like {@link Channel.send}, but settles when the whole answer has arrived. */
  exchange(url: string, request: OutgoingRequest): Promise<WholeAnswer>;
  /** Rejects with the error of the HTTP library. Redirects are not followed. */
  send(url: string, request: OutgoingRequest): Promise<IncomingAnswer>;
  /** Closes each connection when its last call has ended. No more requests may be sent. */
  retire(): void;
  /** Closes all connections at once, even during calls. No more requests may be sent. */
  cut(): void;
}

/** How long an idle connection is kept, in milliseconds: shorter than in usual load balancers and API servers. */
export const KEEP_ALIVE_MS = 55_000;

/**
 * Idle time before TCP keep-alive probes a connection, in milliseconds, as in client-node: load balancers forget idle
 * connections.
 */
export const KEEP_ALIVE_DELAY_MS = 30_000;

/** Maximum bytes that are read of an error answer: far more than an API server's explanation, but small enough to hold many. */
export const MAX_ERROR_BYTES = 1024 * 1024;

/** Returns true for 2xx. Redirects are not followed: they could send credentials to another server. */
export function isSuccess(statusCode: number): boolean {
  return statusCode < 300;
}

/** Bytes of one decompressed chunk: some dozens of list items. */
const PIECE_BYTES = 64 * 1024;

/** Returns the answer with a decompressed body. The body fails with the same errors as the original body. */
export function uncompressed<T extends IncomingAnswer>(answer: T): T {
  if (answer.headers['content-encoding'] !== 'gzip') return answer;
  const body = createGunzip({ chunkSize: PIECE_BYTES });
  // The reader of the body gets its errors.
  pipeline(answer.body, body, () => {});
  return { ...answer, body };
}

/** Reads an answer to its end. */
export async function readWhole({ statusCode, headers, body }: IncomingAnswer): Promise<WholeAnswer> {
  return { statusCode, headers, text: await (isSuccess(statusCode) ? text(body) : errorText(body)) };
}

/** Returns the beginning of an error answer. Cuts a longer answer off, and closes its connection. */
async function errorText(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Breaking out of the loop makes the body emit an error: ignore it.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}
