import type { Readable } from 'node:stream';

/** What is read of an error answer, in bytes: far more than an API server explains, and little enough to hold many of. */
const MOST_BYTES = 1024 * 1024;

/** The beginning of an error answer. One that goes on and on is cut off, and its connection with it. */
export async function errorText(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Cutting it off makes it fail: nobody is to be told of that.
  body.on('error', () => {});
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}
