import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { fromUnstructured } from '../patch/from-unstructured.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { decodeObject } from '../schema/decode.ts';
import { objectMetaSchema } from '../schema/object-meta.ts';
import type { StructSchema } from '../schema/schema.ts';
import { settle } from '../schema/settle.ts';
import { parseTime } from '../schema/time-text.ts';
import type { Versions } from './ownership.ts';
import { checkConfiguration } from './typed-check.ts';

/** An object cannot be shown in a version that somebody owns fields of. The message is the real server's. */
export class VersionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'VersionError';
  }
}

/** What there is of the group of this version. An object that is shown in two groups is owned in each on its own. */
export function withinGroup(versions: Versions, apiVersion: string): Versions {
  const group = groupOf(apiVersion);
  return { ...versions, schema: (other) => (groupOf(other) === group ? versions.schema(other) : undefined) };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/** The schema of a version that is known to be served. */
export function schemaOf(versions: Versions, apiVersion: string): StructSchema {
  const schema = versions.schema(apiVersion);
  if (schema === undefined) throw new Error(`no schema for ${apiVersion}`);
  return schema;
}

/**
 * An object in a version that has a schema. One that is already is not touched, as its zero values may say something; in
 * any other, the real server does not bear an item that is in a list twice.
 * @throws {VersionError}
 */
export function inVersion(object: JsonObject, apiVersion: string, versions: Versions): JsonObject {
  const given = String(object['apiVersion']);
  if (given === apiVersion) return object;
  const converted = versions.convert(typedObject(schemaOf(versions, given), object), apiVersion);
  const problem = checkConfiguration(schemaOf(versions, apiVersion), converted);
  if (problem !== undefined) throw new VersionError(problem);
  return converted;
}

/**
 * An object that was put together as plain JSON, as its type has it.
 * @throws {ConversionError | DecodeError} where it does not fit.
 */
export function typedObject(schema: StructSchema, object: JsonObject): ApiObject {
  // Of a custom resource, only metadata is of a type: null in its spec is for validation to see.
  const value = schema.isStructural
    ? settle(schema, { ...object, metadata: typed(objectMetaSchema, readableMetadata(object['metadata'])) })
    : typed(schema, object);
  return { ...value, metadata: value['metadata'] ?? {} } as unknown as ApiObject;
}

function typed(schema: StructSchema, object: JsonObject): JsonObject {
  return decodeObject(schema, fromUnstructured(schema, object)).value;
}

/** Metadata of a custom resource without times that are none, which the real server passes over. */
function readableMetadata(value: unknown): JsonObject {
  const fields = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(fields.filter(([name, each]) => !isUnreadableTime(name, each)));
}

function isUnreadableTime(name: string, value: unknown): boolean {
  const isTime = objectMetaSchema.fields[name]?.type.kind === 'time';
  return isTime && typeof value === 'string' && 'problem' in parseTime(value, 'time');
}

/** What an object of a type is before anything is set in it. */
export function blankObject(
  schema: StructSchema,
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
): ApiObject {
  return { ...typedObject(schema, {}), apiVersion, kind };
}
