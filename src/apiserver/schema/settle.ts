import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { FieldSchema, StructSchema, TypeSchema } from './schema.ts';

/**
 * An object whose fields are of the types that its schema says, as the API server writes it: fields in the order of the
 * schema, keys of maps sorted, each zero value left out, kept or filled in, whatever the schema does not have left out.
 */
export function settle(schema: StructSchema, object: JsonObject): JsonObject {
  const settled: Record<string, unknown> = {};
  for (const name of Object.keys(schema.fields)) {
    const field = schema.fields[name];
    if (field === undefined) continue;
    const value = schema.isStructural
      ? settleStructural(field, object[name])
      : settleField(field, settleValue(field.type, object[name]));
    if (value !== undefined) settled[name] = value;
  }
  return settled;
}

/** What becomes of a field by its value, which is settled itself; undefined: it is left out. */
export function settleField(field: FieldSchema, value: unknown): unknown {
  switch (field.zero) {
    case 'keep':
      return value;
    case 'fill':
      return value ?? zeroOf(field.type);
    default:
      return isZero(value) ? undefined : value;
  }
}

/** The value of a field that nobody has set. */
export function zeroOf(type: TypeSchema): unknown {
  switch (type.kind) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
      return 0;
    case 'struct':
      return settle(type, {});
    default:
      return null;
  }
}

/** A map with its keys in the order in which Go writes them. */
export function sortedMap(entries: Iterable<readonly [string, unknown]>): JsonObject {
  // Unlike an assignment, this takes __proto__ for a key like any other.
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A field of a custom resource: as it was given, whatever its type, or else its default. */
function settleStructural({ type, default: fallback }: FieldSchema, value: unknown): unknown {
  if (type.kind === 'struct' && isJsonObject(value)) return settle(type, value);
  return value ?? fallback ?? value;
}

function settleValue(type: TypeSchema, value: unknown): unknown {
  switch (type.kind) {
    case 'struct':
      return isJsonObject(value) ? settle(type, value) : undefined;
    case 'map':
      return isJsonObject(value) ? sortedMap(Object.entries(value)) : undefined;
    case 'list':
      return Array.isArray(value) ? value.map((item) => settleValue(type.items, item)) : undefined;
    case 'time':
    case 'microTime':
      return value;
    default:
      return value ?? undefined;
  }
}

function isZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === 0 || value === false;
}
