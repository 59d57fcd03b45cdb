import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.ts';
import type { Verb } from '../operations/resource-request.ts';
import { acceptedTypes, PROTOBUF } from './negotiation.ts';

/** How large a request's body may be. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  STRATEGIC_MERGE_PATCH,
  'application/apply-patch+yaml',
];
/** Nobody has said how lists of custom resources are merged. */
const customPatchTypes = patchTypes.filter((type) => type !== STRATEGIC_MERGE_PATCH);
/** Custom resources have no fields by number. */
const customTypes = acceptedTypes.filter((type) => type !== PROTOBUF);

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
export function contentTypeOf(header: string, verb: Verb, isCustom = false): string {
  // Patches are compared letter by letter.
  if (verb === 'patch') return patchTypeOf(header, isCustom);
  const type = mediaTypeOf(header);
  const types = isCustom ? customTypes : acceptedTypes;
  if (type !== undefined && (type === '' || types.includes(type))) return type;
  throw unknownFormat(acceptedTypes);
}

function patchTypeOf(header: string, isCustom: boolean): string {
  const type = (header.split(';', 1)[0] ?? '').trim();
  if ((isCustom ? customPatchTypes : patchTypes).includes(type)) return type;
  if (isCustom) throw unknownFormat(customPatchTypes);
  throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

function unknownFormat(types: readonly string[]): ApiError {
  return new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${types.join(', ')}`,
  );
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
