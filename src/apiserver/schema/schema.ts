/**
 * A type of the API, as data. What is decoded, pruned, defaulted, merged, owned and documented all follows from it, so that
 * a field is described in one place.
 */
export type TypeSchema = ScalarSchema | MapSchema | ListSchema | StructSchema | OpaqueSchema;

export interface ScalarSchema {
  /** `time` is RFC 3339 to the second, `microTime` with exactly six decimals; both are strings in JSON. */
  readonly kind: 'string' | 'boolean' | 'int32' | 'int64' | 'time' | 'microTime';
  /** The name of Go's type where it has one of its own, which error messages give: `types.UID`. */
  readonly goType?: string;
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
  /** The Go type's name, which error messages give: `LeaseSpec`. */
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

/** A field of a struct. */
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
