import type { JsonObject } from '../../kubernetes/json.ts';
import type { ApiObject } from '../api-object.ts';
import { fromUnstructured } from '../patch/from-unstructured.ts';
import { decodeObject } from '../schema/decode.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Versions } from './ownership.ts';

/** The schema of a version that is known to be served. */
export function schemaOf(versions: Versions, apiVersion: string): StructSchema {
  const schema = versions.schema(apiVersion);
  if (schema === undefined) throw new Error(`no schema for ${apiVersion}`);
  return schema;
}

/** An object in a version that has a schema; one that is already is not touched, as its zero values may say something. */
export function inVersion(object: JsonObject, apiVersion: string, versions: Versions): JsonObject {
  const given = String(object['apiVersion']);
  if (given === apiVersion) return object;
  return versions.convert(typedObject(schemaOf(versions, given), object), apiVersion);
}

/**
 * An object that was put together as plain JSON, as its type has it.
 * @throws {ConversionError | DecodeError} where it does not fit.
 */
export function typedObject(schema: StructSchema, object: JsonObject): ApiObject {
  const { value } = decodeObject(schema, fromUnstructured(schema, object));
  return { ...value, metadata: value['metadata'] ?? {} } as unknown as ApiObject;
}

/** What an object of a type is before anything is set in it. */
export function blankObject(
  schema: StructSchema,
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
): ApiObject {
  return { ...typedObject(schema, {}), apiVersion, kind };
}
