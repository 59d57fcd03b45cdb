import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type ApiObject, objectMetaSchema } from '../schema/api-object.ts';
import { decodeObject } from '../schema/decode.ts';
import {
  type ListSchema,
  type MapSchema,
  type ScalarSchema,
  type StructSchema,
  settle,
  type TypeSchema,
} from '../schema/schema.ts';
import { parseTime } from '../schema/time-text.ts';
import { fieldElement, itemElement, pathText } from './field-set.ts';
import { typeBelow } from './typed-objects.ts';

/** The version that an object's field sets describe, and the conversion to other versions. */
export interface Versions {
  /** Returns the schema of an apiVersion (`coordination.k8s.io/v1beta1`); undefined if it is no longer served. */
  schema(apiVersion: string): StructSchema | undefined;
  /** Converts an object. Called only for versions that have a schema. */
  convert(object: ApiObject, apiVersion: string): ApiObject;
  /** Top-level fields that these writes never set and therefore never own: `status`. */
  readonly resetFields?: readonly string[];
}

/** An object cannot be converted to a version in which a manager owns fields. */
export class VersionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'VersionError';
  }
}

/** Returns the schema of a served version. */
export function schemaOf(versions: Versions, apiVersion: string): StructSchema {
  const schema = versions.schema(apiVersion);
  if (schema === undefined) throw new Error(`no schema for ${apiVersion}`);
  return schema;
}

/**
 * Converts an object to a version that has a schema. If the object has that version already, returns it unchanged,
 * including zero values.
 * @throws {VersionError} if the converted object does not fit the schema, for example because of a duplicate item in a
 * list.
 */
export function inVersion(object: JsonObject, apiVersion: string, versions: Versions): JsonObject {
  const given = String(object['apiVersion']);
  if (given === apiVersion) return object;
  const converted = versions.convert(typedObject(schemaOf(versions, given), object), apiVersion);
  const problem = checkConfiguration(schemaOf(versions, apiVersion), converted);
  if (problem !== undefined) throw new VersionError(problem);
  return converted;
}

/** Decodes an object that was merged as plain JSON. @throws {DecodeError} if the object does not fit its schema. */
export function typedObject(schema: StructSchema, object: JsonObject): ApiObject {
  const value = schema.isStructural
    ? settle(schema, {
        ...object,
        metadata: decodeObject(objectMetaSchema, readableMetadata(object['metadata'])).value,
      })
    : decodeObject(schema, object).value;
  return { ...value, metadata: value['metadata'] ?? {} } as unknown as ApiObject;
}

/** Returns the metadata of a custom resource without invalid times, which kube-apiserver drops. */
function readableMetadata(value: unknown): JsonObject {
  const fields = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(fields.filter(([name, each]) => !isInvalidTime(name, each)));
}

function isInvalidTime(name: string, value: unknown): boolean {
  const isTime = objectMetaSchema.fields[name]?.type.kind === 'time';
  return isTime && typeof value === 'string' && parseTime(value, 'time') === undefined;
}

/** Returns an object of a type without any field set. */
export function blankObject(
  schema: StructSchema,
  { apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>,
): ApiObject {
  return { ...typedObject(schema, {}), apiVersion, kind };
}

/**
 * Checks a configuration against its schema: no unknown fields, no duplicate items, no values of another
 * type. Null is allowed everywhere.
 * @returns the first problem, or undefined.
 */
export function checkConfiguration(type: TypeSchema, value: unknown, path = ''): string | undefined {
  if (value === null) return undefined;
  switch (type.kind) {
    case 'struct':
    case 'map':
      return isJsonObject(value) ? checkMembers(type, value, path) : wrongType(path, 'an object');
    case 'list':
      return Array.isArray(value) ? checkItems(type, value, path) : wrongType(path, 'a list');
    case 'opaque':
      return undefined;
    default:
      return checkScalar(type, value, path);
  }
}

function checkScalar({ kind }: ScalarSchema, value: unknown, path: string): string | undefined {
  switch (kind) {
    case 'string':
    case 'boolean':
      return typeof value === kind
        ? undefined
        : wrongType(path, kind === 'string' ? 'a string' : 'true or false');
    case 'time':
    case 'microTime':
      return typeof value === 'object' ? wrongType(path, 'a time') : undefined;
    default:
      return typeof value === 'number' ? undefined : wrongType(path, 'a number');
  }
}

function checkMembers(type: StructSchema | MapSchema, value: JsonObject, path: string): string | undefined {
  for (const [name, each] of Object.entries(value)) {
    const element = fieldElement(name);
    const place = `${path}${pathText([element])}`;
    const below = typeBelow(type, element);
    const problem = below === undefined ? `${place}: unknown field` : checkConfiguration(below, each, place);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkItems(list: ListSchema, items: readonly unknown[], path: string): string | undefined {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    let place = `${path}[${index}]`;
    if (list.listType !== 'atomic') {
      if (!hasIdentity(list, item)) return `${place}: cannot be told from the other items of the list`;
      const element = itemElement(list, item);
      place = `${path}${pathText([element])}`;
      if (seen.has(element)) return `${place}: is in the list twice`;
      seen.add(element);
    }
    const problem = checkConfiguration(list.items, item, place);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Whether an item can be distinguished from the others: it has a key in a list with keys, or is a scalar in a set. */
function hasIdentity(list: ListSchema, item: unknown): boolean {
  return list.listType === 'map'
    ? isJsonObject(item) && itemElement(list, item) !== 'k:{}'
    : typeof item !== 'object';
}

function wrongType(path: string, expected: string): string {
  return `${path === '' ? 'the object' : path}: expected ${expected}`;
}
