import { messageOf } from '../../support/text.ts';
import { unrecognizedBody } from '../errors/unrecognized-body.ts';
import type { StructSchema } from '../schema/schema.ts';
import { PROTOBUF } from './negotiation.ts';
import { objectFromProtobuf } from './protobuf.ts';

/** A body as operations take it. */
export interface ReadableBody {
  readonly body: Buffer;
  readonly contentType: string;
}

/**
 * Makes JSON of a body in protobuf, which only this side of the server knows; any other is left as it is.
 * @throws {ApiError} 400
 */
export function readableBody({ body, contentType }: ReadableBody, schema: StructSchema): ReadableBody {
  if (contentType !== PROTOBUF) return { body, contentType };
  try {
    const object = objectFromProtobuf(body, schema);
    return { body: Buffer.from(JSON.stringify(object)), contentType: 'application/json' };
  } catch (error) {
    throw unrecognizedBody(schema.name, messageOf(error), body);
  }
}
