import { isJsonObject, type JsonObject } from '../../support/json.ts';

/**
 * A type of the API, as data. What is decoded, pruned, defaulted, merged, owned and documented all follows from it, so that
 * a field is described in one place.
 */
export type TypeSchema = ScalarSchema | MapSchema | ListSchema | StructSchema | OpaqueSchema;

export interface ScalarSchema {
  /** `time` is RFC 3339 to the second, `microTime` with exactly six decimals; both are strings in JSON. */
  readonly kind: 'string' | 'boolean' | 'int32' | 'int64' | 'time' | 'microTime';
}

/** A map from text to values of one type; each key is owned on its own. */
export interface MapSchema {
  readonly kind: 'map';
  readonly values: TypeSchema;
}

export interface ListSchema {
  readonly kind: 'list';
  readonly items: TypeSchema;
  /** x-kubernetes-list-type: whether the list is owned as one, by its values, or by the `keys` of its items. */
  readonly listType: 'atomic' | 'set' | 'map';
  /** x-kubernetes-list-map-keys, where listType is `map`. */
  readonly keys?: readonly string[];
  /** How a strategic merge patch treats it: absent, it is replaced; else merged, by the key of its items if they are objects. */
  readonly patchStrategy?: { readonly mergeKey?: string };
}

export interface StructSchema {
  readonly kind: 'struct';
  /** The name of the type: `LeaseSpec`. */
  readonly name: string;
  /** The name of its OpenAPI model: `io.k8s.api.coordination.v1.LeaseSpec`. */
  readonly model: string;
  /** Our own words, for `kubectl explain`. */
  readonly description: string;
  readonly fields: Readonly<Record<string, FieldSchema>>;
  /** x-kubernetes-map-type atomic: owned as one. */
  readonly isAtomic?: true;
  /**
   * It is, or is part of, a custom resource: values of any type are read and kept, and validation says what is wrong with
   * them. Of metadata the types are known as everywhere.
   */
  readonly isStructural?: true;
}

/** Any JSON object, kept as it came: FieldsV1. */
export interface OpaqueSchema {
  readonly kind: 'opaque';
}

export interface FieldSchema {
  readonly type: TypeSchema;
  /** Our own words, for `kubectl explain`. */
  readonly description: string;
  /**
   * What becomes of the type's zero value (`""`, 0, false, an empty list or map; null counts as absent everywhere):
   * `omit`: left out (Go's omitempty on a plain field); `keep`: kept where given (a pointer); `fill`: written even where
   * absent (no omitempty): a struct as `{}` with what it fills itself, a time as null. The zero of a time is the year 1;
   * it is written as null.
   */
  readonly zero: 'omit' | 'keep' | 'fill';
  /** Listed as required in OpenAPI; in a custom resource, refused where it is absent. */
  readonly isRequired?: true;
  /** Of a custom resource: what stands for an absent value. */
  readonly default?: string;
  /** Of a custom resource: the most characters that a text may have. */
  readonly maxLength?: number;
}

/** A struct of the API, by its OpenAPI model, which ends in the name of the Go type. */
export function struct(
  model: string,
  description: string,
  fields: StructSchema['fields'],
  more: Pick<StructSchema, 'isAtomic'> = {},
): StructSchema {
  const name = model.slice(model.lastIndexOf('.') + 1);
  return { kind: 'struct', name, model, description, fields, ...more };
}

/** A field of a struct. `zero`: what becomes of an empty value. */
export function field(
  type: TypeSchema,
  zero: FieldSchema['zero'],
  description: string,
  more: Pick<FieldSchema, 'isRequired'> = {},
): FieldSchema {
  return { type, description, zero, ...more };
}

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
