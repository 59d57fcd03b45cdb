import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../support/text.ts';
import { ApiError, badRequest } from '../errors/api-error.ts';
import type { Verb } from '../operations/request.ts';
import type { StructSchema } from '../schema/schema.ts';
import { acceptedTypes, PROTOBUF } from './negotiation.ts';
import { objectFromProtobuf } from './protobuf.ts';

/** Maximum size of a request body. The limit for YAML is lower, because YAML takes far longer to parse. */
export const MAX_BODY_BYTES = 32 * 1024;
export const MAX_YAML_BYTES = 4 * 1024;

const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  STRATEGIC_MERGE_PATCH,
  'application/apply-patch+yaml',
];
/** Custom resources have no merge keys. */
const customPatchTypes = patchTypes.filter((type) => type !== STRATEGIC_MERGE_PATCH);
/** Custom resources have no protobuf. */
const customTypes = acceptedTypes.filter((type) => type !== PROTOBUF);

export function hasBody(verb: Verb): boolean {
  return verb !== 'get' && verb !== 'list' && verb !== 'watch';
}

/**
 * Reads the complete body. Returns undefined if the client closed the connection first.
 * @throws {ApiError} 413 for a body that is too large; the rest of the body is not read
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
    // Has no effect after the end of the body.
    request.once('close', () => resolve(undefined));
  });
}

/** Returns the media type of a body without parameters; '' for an absent header. @throws {ApiError} 415 */
export function contentTypeOf(header: string, verb: Verb, isCustom = false): string {
  // As in kube-apiserver, the types of patches are case-sensitive.
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

/** Returns undefined if the header is not a media type. */
function mediaTypeOf(header: string): string | undefined {
  const [type = '', ...parameters] = header.split(';').map((each) => each.trim());
  const isWhole = parameters.every((each) => each === '' || each.includes('='));
  return isWhole ? type.toLowerCase() : undefined;
}

function tooLarge(limit: number): ApiError {
  const what = limit === MAX_YAML_BYTES ? 'a body in YAML' : 'the body of a request';
  return new ApiError(413, 'RequestEntityTooLarge', `${what} may have at most ${limit} bytes`);
}

export interface ReadableBody {
  readonly body: Buffer;
  readonly contentType: string;
}

/** Translates a body in protobuf into JSON. @throws {ApiError} 400 */
export function readableBody({ body, contentType }: ReadableBody, schema: StructSchema): ReadableBody {
  if (contentType !== PROTOBUF) return { body, contentType };
  try {
    const object = objectFromProtobuf(body, schema);
    return { body: Buffer.from(JSON.stringify(object)), contentType: 'application/json' };
  } catch (error) {
    throw badRequest(`the body is not a ${schema.name} in protobuf: ${messageOf(error)}`);
  }
}
