import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.ts';
import type { Verb } from '../operations/resource-request.ts';
import { acceptedTypes } from './negotiation.ts';

/** How large a request's body may be. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

/** Whether requests of this kind have a body worth reading. */
export function hasBody(verb: Verb): boolean {
  return verb !== 'get' && verb !== 'list' && verb !== 'watch';
}

/**
 * Reads a body to its end. Undefined: the client went away before that.
 * @throws {ApiError} 413; what is still to come is then thrown away as it comes
 */
export function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(tooLarge());
      }
    });
    request.once('end', () => {
      const [first] = chunks;
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks));
    });
    // After the end this changes nothing.
    request.once('close', () => resolve(undefined));
  });
}

/**
 * The media type of a body, as operations take it; '' when none was said.
 * @throws {ApiError} 415 for what a request of this kind cannot be made in
 */
export function contentTypeOf(header: string, verb: Verb): string {
  // Patches are compared letter by letter.
  if (verb === 'patch') return patchTypeOf(header);
  const type = mediaTypeOf(header);
  if (type !== undefined && (type === '' || acceptedTypes.includes(type))) return type;
  throw new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${acceptedTypes.join(', ')}`,
  );
}

function patchTypeOf(header: string): string {
  const type = (header.split(';', 1)[0] ?? '').trim();
  if (patchTypes.includes(type)) return type;
  throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** Undefined: no media type. */
function mediaTypeOf(header: string): string | undefined {
  const [type = '', ...parameters] = header.split(';').map((each) => each.trim());
  const isWhole = parameters.every((each) => each === '' || each.includes('='));
  return isWhole ? type.toLowerCase() : undefined;
}

function tooLarge(): ApiError {
  return new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
}
