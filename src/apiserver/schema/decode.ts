import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { objectMetaSchema } from './api-object.ts';
import { duplicatesOf } from './read-json.ts';
import {
  type ListSchema,
  type MapSchema,
  type ScalarSchema,
  type StructSchema,
  settle,
  settleField,
  sortedMap,
  type TypeSchema,
  zeroOf,
} from './schema.ts';
import { formatTime, parseTime } from './time-text.ts';

export interface Decoded {
  /** The fields in schema order with sorted map keys, as the API server writes them. */
  readonly value: JsonObject;
  /** The problems in strict validation: `unknown field "spec.foo"`, `duplicate field "spec.bar"` (after readJson). */
  readonly strictProblems: readonly string[];
}

/** A value has another type than its field. */
export class DecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DecodeError';
  }
}

/** Maximum number of strict problems in one report, as in kube-apiserver. */
const MAX_STRICT_PROBLEMS = 100;
const INT32_LIMIT = 2 ** 31;
const INT64_LIMIT = 2 ** 63;

/**
 * Reads a JSON value as an object of an API type. Drops unknown fields. Null counts as absent.
 * @throws {DecodeError} if a field has another type or an invalid time.
 */
export function decodeObject(schema: StructSchema, value: unknown): Decoded {
  if (!isJsonObject(value)) throw mismatch('an object', value, '');
  const unknownFields: string[] = [];
  const decoded = schema.isStructural
    ? decodeStructural(schema, value, unknownFields)
    : decodeStruct(schema, value, '', unknownFields);
  const problems = [
    ...duplicatesOf(value).map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`),
  ];
  return { value: decoded, strictProblems: problems.slice(0, MAX_STRICT_PROBLEMS) };
}

/** Decodes a typed struct. Adds the paths of unknown fields to `unknownFields`. */
function decodeStruct(
  schema: StructSchema,
  value: JsonObject,
  path: string,
  unknownFields: string[],
): JsonObject {
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(schema.fields, name)) unknownFields.push(below(path, name));
  }
  const decoded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const given = Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined;
    const read =
      given === undefined ? undefined : decodeValue(field.type, given, below(path, name), unknownFields);
    const settled = settleField(field, read);
    if (settled !== undefined) decoded[name] = settled;
  }
  return decoded;
}

function decodeValue(type: TypeSchema, value: unknown, path: string, unknownFields: string[]): unknown {
  switch (type.kind) {
    case 'struct':
      if (!isJsonObject(value)) throw mismatch('an object', value, path);
      return decodeStruct(type, value, path, unknownFields);
    case 'map':
      if (!isJsonObject(value)) throw mismatch('an object', value, path);
      return decodeMap(type, value, path, unknownFields);
    case 'list':
      if (!Array.isArray(value)) throw mismatch('a list', value, path);
      return decodeList(type, value, path, unknownFields);
    case 'opaque':
      return value;
    default:
      return decodeScalar(type.kind, value, path);
  }
}

function decodeMap(
  { values }: MapSchema,
  value: JsonObject,
  path: string,
  unknownFields: string[],
): JsonObject {
  return sortedMap(
    Object.entries(value).map(([key, each]) => [
      key.toWellFormed(),
      each === null ? zeroOf(values) : decodeValue(values, each, below(path, key), unknownFields),
    ]),
  );
}

function decodeList(
  { items }: ListSchema,
  value: unknown[],
  path: string,
  unknownFields: string[],
): unknown[] {
  return value.map((item, index) =>
    item === null ? zeroOf(items) : decodeValue(items, item, `${path}[${index}]`, unknownFields),
  );
}

function decodeScalar(kind: ScalarSchema['kind'], value: unknown, path: string): unknown {
  switch (kind) {
    case 'string':
      // JSON can contain unpaired surrogates. UTF-8 cannot.
      if (typeof value === 'string') return value.toWellFormed();
      throw mismatch('a string', value, path);
    case 'boolean':
      if (typeof value === 'boolean') return value;
      throw mismatch('true or false', value, path);
    case 'time':
    case 'microTime': {
      const moment = typeof value === 'string' ? parseTime(value, kind) : undefined;
      if (moment === undefined)
        throw mismatch(`a time in RFC 3339${kind === 'time' ? '' : ' with six decimals'}`, value, path);
      return formatTime(moment, kind) ?? null;
    }
    default: {
      const limit = kind === 'int32' ? INT32_LIMIT : INT64_LIMIT;
      const fits = typeof value === 'number' && Number.isInteger(value) && value >= -limit && value < limit;
      if (!fits) throw mismatch(`a whole number of ${kind === 'int32' ? 32 : 64} bits`, value, path);
      // JSON has a negative zero: convert it to 0.
      return value === 0 ? 0 : value;
    }
  }
}

/**
 * Decodes a custom resource. Unknown fields are pruned, null counts as absent, and defaults are set. Only metadata is
 * typed: validation checks the types of all other values.
 */
function decodeStructural(schema: StructSchema, value: JsonObject, unknownFields: string[]): JsonObject {
  const given = value['metadata'] ?? {};
  if (!isJsonObject(given)) throw mismatch('an object', given, 'metadata');
  const { managedFields, ...metadata } = decodeStruct(objectMetaSchema, given, 'metadata', unknownFields);
  // Empty managedFields do not reset the ownership of a custom resource.
  const isOwned = Array.isArray(managedFields) && managedFields.length > 0;
  const kept = prune(schema, { ...value, metadata: undefined }, '', unknownFields) as JsonObject;
  return settle(schema, { ...kept, metadata: isOwned ? { ...metadata, managedFields } : metadata });
}

/** Returns the value without the fields that its type does not have. */
function prune(type: TypeSchema, value: unknown, path: string, unknownFields: string[]): unknown {
  if (!isJsonObject(value)) return value;
  const fields = type.kind === 'struct' ? type.fields : {};
  const kept: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) unknownFields.push(below(path, name));
    else if (each !== null && each !== undefined)
      kept[name] = prune(field.type, each, below(path, name), unknownFields);
  }
  return kept;
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function mismatch(expected: string, value: unknown, path: string): DecodeError {
  const shown = JSON.stringify(value) ?? 'nothing';
  const found = shown.length > 100 ? `${shown.slice(0, 100)}...` : shown;
  return new DecodeError(`${path === '' ? 'the object' : path}: expected ${expected}, found ${found}`);
}
