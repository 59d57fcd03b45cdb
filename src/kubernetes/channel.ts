import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

/** One HTTP request, whole. */
export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborts it, or the body of its answer. */
  readonly signal: AbortSignal;
}

/** The head of an answer. Its body has to be read to its end, or destroyed. */
export interface IncomingAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** One HTTP answer, whole; of that to a request that failed, as much as is read of one. */
export interface WholeAnswer extends Pick<IncomingAnswer, 'statusCode' | 'headers'> {
  readonly text: string;
}

/** Connections of one kind to one server. */
export interface Channel {
  /** As {@link Channel.send}, but settles when the answer is there to its end. */
  exchange(url: string, request: OutgoingRequest): Promise<WholeAnswer>;
  /** Rejects as whatever it sends with does. Redirects are not followed. */
  send(url: string, request: OutgoingRequest): Promise<IncomingAnswer>;
  /** Ends each connection once what runs on it has ended; nothing more may be sent. */
  retire(): void;
  /** Ends all connections at once, whatever runs on them; nothing more may be sent. */
  cut(): void;
}

/** How long an idle connection is kept, in milliseconds: less than any usual load balancer or API server keeps it. */
export const KEEP_ALIVE_MS = 55_000;

/** How soon TCP asks whether an idle connection is still there, in milliseconds, as client-node has it: load balancers forget those. */
export const KEEP_ALIVE_DELAY_MS = 30_000;

/** What is read of the answer to a request that failed, in bytes: far more than an API server explains, and little enough to hold many of. */
export const MAX_ERROR_BYTES = 1024 * 1024;

/** Redirects are not followed, as they could take credentials elsewhere. */
export function isSuccess(statusCode: number): boolean {
  return statusCode < 300;
}

/** What comes out of a compressed answer at a time, in bytes: items of a list by the dozen. */
const PIECE_BYTES = 64 * 1024;

/** An answer as it was before it was compressed for the way; its body fails with whatever that of the given one fails with. */
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

/** The beginning of an error answer. One that goes on and on is cut off, and its connection with it. */
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
