import { badRequest } from '../api-error.ts';
import type { StructSchema } from '../schema/schema.ts';
import { PROTOBUF } from './negotiation.ts';
import { objectFromProtobuf } from './protobuf.ts';

/** A body as operations take it. */
export interface ReadableBody {
  readonly body: Buffer;
  readonly contentType: string;
}

const SUMMARY_BYTES = 30;

/**
 * Makes JSON of a body in protobuf, which only this side of the server knows; any other is left as it is.
 * @throws {ApiError} 400
 */
export function readableBody(body: Buffer, contentType: string, schema: StructSchema): ReadableBody {
  if (contentType !== PROTOBUF) return { body, contentType };
  try {
    const object = objectFromProtobuf(body, schema);
    return { body: Buffer.from(JSON.stringify(object)), contentType: 'application/json' };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${schema.name}): ${problem} (${summary(body)})`,
    );
  }
}

function summary(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const shown = body.subarray(0, SUMMARY_BYTES);
  const text = shown.toString(shown[0] === 0x7b ? 'utf8' : 'hex');
  return shown.length < body.length ? `${text} ...` : text;
}
