import { pipeline, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { IncomingAnswer, WholeAnswer } from './channel.ts';

/** What is read of the answer to a request that failed, in bytes: far more than an API server explains, and little enough to hold many of. */
export const MOST_ERROR_BYTES = 1024 * 1024;

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
  // Whoever reads it is told of failures by the body itself.
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
  // Cutting it off makes it fail: nobody is to be told of that.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_ERROR_BYTES).toString('utf8');
}
