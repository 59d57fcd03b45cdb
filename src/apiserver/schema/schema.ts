import { isJsonObject, type JsonObject } from '../../support/json.ts';

/**
 * A type of the API, as data. Decoding, pruning, defaults, merging, ownership and documentation use it. Each field is
 * described in one place.
 */
export type TypeSchema = ScalarSchema | MapSchema | ListSchema | StructSchema | OpaqueSchema;

export interface ScalarSchema {
  /** `time` is RFC 3339 to the second, `microTime` has exactly six decimals. Both are strings in JSON. */
  readonly kind: 'string' | 'boolean' | 'int32' | 'int64' | 'time' | 'microTime';
}

/** A map from strings to values of one type. Each key has its own owners. */
export interface MapSchema {
  readonly kind: 'map';
  readonly values: TypeSchema;
}

export interface ListSchema {
  readonly kind: 'list';
  readonly items: TypeSchema;
  /**
   * x-kubernetes-list-type. An owner owns the whole list (`atomic`), a value (`set`), or an item with its `keys` (`map`).
   */
  readonly listType: 'atomic' | 'set' | 'map';
  /** x-kubernetes-list-map-keys, if listType is `map`. */
  readonly keys?: readonly string[];
  /**
   * In a strategic merge patch: if absent, the patch replaces the list. Otherwise it merges the list; objects are merged
   * by key.
   */
  readonly patchStrategy?: { readonly mergeKey?: string };
}

export interface StructSchema {
  readonly kind: 'struct';
  /** The name of the type: `LeaseSpec`. */
  readonly name: string;
  /** The name of its OpenAPI model: `io.k8s.api.coordination.v1.LeaseSpec`. */
  readonly model: string;
  /** The text for `kubectl explain`, written for this project. */
  readonly description: string;
  readonly fields: Readonly<Record<string, FieldSchema>>;
  /** x-kubernetes-map-type atomic: the struct is owned as a whole. */
  readonly isAtomic?: true;
  /**
   * The struct is a custom resource or a part of one. Values of any type are read and stored, and validation reports
   * wrong types. Metadata is typed, as in every object.
   */
  readonly isStructural?: true;
}

/** Any JSON object, stored unchanged: FieldsV1. */
export interface OpaqueSchema {
  readonly kind: 'opaque';
}

export interface FieldSchema {
  readonly type: TypeSchema;
  /** The text for `kubectl explain`, written for this project. */
  readonly description: string;
  /**
   * The handling of the zero value (`""`, 0, false, an empty list or map). Null always counts as absent.
   * - `omit`: dropped (Go's omitempty on a plain field).
   * - `keep`: kept if given (a pointer).
   * - `fill`: written even if absent (no omitempty). A struct becomes `{}` with its own filled fields, a time becomes
   *   null.
   * - The zero of a time is the year 1, which is written as null.
   */
  readonly zero: 'omit' | 'keep' | 'fill';
  /** OpenAPI lists the field as required. The server rejects a custom resource without it. */
  readonly isRequired?: true;
  /** In a custom resource: the value for an absent field. */
  readonly default?: string;
  /** In a custom resource: maximum characters of a string. */
  readonly maxLength?: number;
}

/** Defines a struct by its OpenAPI model, whose name ends in the name of the Go type. */
export function struct(
  model: string,
  description: string,
  fields: StructSchema['fields'],
  more: Pick<StructSchema, 'isAtomic'> = {},
): StructSchema {
  const name = model.slice(model.lastIndexOf('.') + 1);
  return { kind: 'struct', name, model, description, fields, ...more };
}

/** Defines a field of a struct. `zero`: the handling of an empty value. */
export function field(
  type: TypeSchema,
  zero: FieldSchema['zero'],
  description: string,
  more: Pick<FieldSchema, 'isRequired'> = {},
): FieldSchema {
  return { type, description, zero, ...more };
}

/**
 * Returns an object of the right types as the API server writes it: fields in schema order, sorted map keys, zero values
 * dropped, kept or filled in. Drops unknown fields.
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

/** Drops, keeps or fills in a field. `value` is already settled. Returns undefined if the field is dropped. */
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

/** Returns the value of an unset field. */
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

/** Returns a map with its keys in Go's order. */
export function sortedMap(entries: Iterable<readonly [string, unknown]>): JsonObject {
  // Unlike an assignment, fromEntries accepts the key `__proto__`.
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns the field's value in a custom resource, of any type. If there is none, returns the default. */
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
