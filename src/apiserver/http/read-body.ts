import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.ts';
import type { Verb } from '../operations/resource-request.ts';
import { acceptedTypes, PROTOBUF } from './negotiation.ts';

/** How large the body of a request may be. YAML takes far longer to read than JSON. */
export const MAX_BODY_BYTES = 32 * 1024;
export const MAX_YAML_BYTES = 8 * 1024;

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
 * Reads the complete body. Undefined: the client closed the connection first.
 * @throws {ApiError} 413; the rest of the body is not read
 */
export function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const { 'content-type': type = '', 'content-length': length = 0 } = request.headers;
  const limit = /yaml/i.test(type) ? MAX_YAML_BYTES : MAX_BODY_BYTES;
  return new Promise((resolve, reject) => {
    if (Number(length) > limit) return reject(tooLarge(limit));
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limit) chunks.push(chunk);
      else {
        request.pause();
        reject(tooLarge(limit));
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

function tooLarge(limit: number): ApiError {
  const what = limit === MAX_YAML_BYTES ? 'a body in YAML' : 'the body of a request';
  return new ApiError(413, 'RequestEntityTooLarge', `${what} may have at most ${limit} bytes`);
}
