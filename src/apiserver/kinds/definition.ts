import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { humanDuration } from '../../support/text.ts';
import type { FieldError } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type StructSchema, settle } from '../schema/schema.ts';
import { parseTime } from '../schema/time-text.ts';

/** Returns the problems of a name. `isPrefix`: the server will append a suffix to the name (generateName). */
export type NameRule = (name: string, isPrefix?: boolean) => readonly string[];

/** A resource of the API, with the properties that all its versions share. */
export interface ResourceDefinition {
  /** `''` for the core group. */
  readonly group: string;
  /** Plural, lower case: `leases`. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  /** The kubectl categories of this resource: `all`. */
  readonly categories?: readonly string[];
  /** The server treats the resource like a custom resource. */
  readonly isCustom?: true;
  /** The name of the storage. Two definitions with the same storage are views of the same objects. */
  readonly storage: string;
  /** Preferred version first. */
  readonly versions: readonly VersionDefinition[];
  /** kube-apiserver does not cache these objects. Therefore it also pages lists at any resourceVersion. */
  readonly isUncached?: true;
  /** Whether PUT creates an object that does not exist. */
  readonly createsOnUpdate: boolean;
  /** Whether the server accepts PUT without a resourceVersion. */
  readonly updatesUnconditionally: boolean;
  /** The subresource that this definition updates, with its name in managedFields. */
  readonly subresource?: 'finalize';
  /** Top-level fields that only the server writes. They have no owner. */
  readonly resetFields?: readonly string[];
  /** Returns the problems of a name, or of a prefix for a generated name. */
  readonly nameProblems: NameRule;
  /** Sets the fields that the server controls on create. Takes and returns the hub form. */
  readonly prepareForCreate: (object: ApiObject) => ApiObject;
  /** Sets the fields that the server controls on update. Keeps the old values of fields that only the server sets. */
  readonly prepareForUpdate: (object: ApiObject, old: ApiObject) => ApiObject;
  /** Whether a finalizer outside of metadata blocks the deletion of an object. Takes the hub form. */
  readonly isHeld?: (object: ApiObject) => boolean;
  /**
   * Returns the problems outside of metadata, see validateObject. `old` is the object before an update. Takes the hub
   * form.
   */
  readonly validate: (object: ApiObject, old?: ApiObject) => readonly FieldError[];
}

/** One served version of a resource. Objects are stored in the hub form and converted to this version. */
export interface VersionDefinition {
  readonly version: string;
  readonly schema: StructSchema;
  /**
   * Converts an object of this version to the hub form. Sets defaults, and drops fields that the server does not store.
   * `previous`: the stored object before an update, in hub form.
   */
  readonly toHub: (object: ApiObject, previous?: ApiObject) => ApiObject;
  readonly fromHub: (hub: ApiObject) => ApiObject;
  /** Returns the values of all fields that a fieldSelector can use, including metadata. Takes this version's form. */
  readonly selectableFields: (object: ApiObject) => Readonly<Record<string, string>>;
  readonly columns: readonly ColumnDefinition[];
  /** The Warning in every answer of this version, because kube-apiserver will remove the version. */
  readonly deprecation?: string;
}

/** A column of the table that kubectl prints. NAME is the first column, unless a column has `isName`. */
export interface ColumnDefinition {
  readonly name: string;
  /** The column shows the name of the object (format `name`) and replaces NAME. */
  readonly isName?: true;
  readonly type: 'string' | 'integer' | 'date';
  readonly description: string;
  /** 0: always shown. Higher: shown with `-o wide`. */
  readonly priority: number;
  /** Returns the cell of an object in this version. `nowSeconds` (Unix time) is for ages such as `2d3h`. */
  readonly cell: (object: ApiObject, nowSeconds: number) => string | number | null;
}

/** Returns the apiVersion of a resource: `v1`, `coordination.k8s.io/v1`. */
export function apiVersionOf(
  { group }: Pick<ResourceDefinition, 'group'>,
  { version }: Pick<VersionDefinition, 'version'>,
): string {
  return group === '' ? version : `${group}/${version}`;
}

export function column(
  name: string,
  description: string,
  cell: ColumnDefinition['cell'],
  priority = 0,
): ColumnDefinition {
  return { name, type: 'string', description, priority, cell };
}

/** The last column of most tables. */
export const ageColumn = column('Age', 'How long ago the object was created.', ({ metadata }, nowSeconds) =>
  timeSince(metadata.creationTimestamp, nowSeconds),
);

/** Returns the time since a timestamp (metav1.Time or metav1.MicroTime). `nowSeconds` is Unix time. */
export function timeSince(timestamp: unknown, nowSeconds: number): string {
  if (typeof timestamp !== 'string') return '<unknown>';
  const moment = parseTime(timestamp, timestamp.includes('.') ? 'microTime' : 'time');
  if (moment === undefined) return '<unknown>';
  return humanDuration(nowSeconds - moment.seconds - moment.nanoseconds / 1e9);
}

/** Returns the struct in a field, or an empty struct. */
export function structIn(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

/** Returns the text in a field, or ''. */
export function textIn(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** Returns the number in a field, or undefined. */
export function numberIn(object: JsonObject, field: string): number | undefined {
  const value = object[field];
  return typeof value === 'number' ? value : undefined;
}

/** Returns the strings in a list field; empty if the field is absent. */
export function textsIn(object: JsonObject, field: string): readonly string[] {
  const value = object[field];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

/** Returns an object as `apiVersion`, with each field settled by its schema and without metadata.selfLink. */
export function settled(schema: StructSchema, object: ApiObject, apiVersion: string): ApiObject {
  const { kind: _, apiVersion: __, metadata, ...rest } = settle(schema, object);
  const { selfLink: ___, ...kept } = isJsonObject(metadata) ? metadata : {};
  // settle() has checked that metadata has the type of its schema.
  return { kind: object.kind, apiVersion, metadata: kept as unknown as ApiObject['metadata'], ...rest };
}

/** Returns an object in another version with the same fields. */
export function asVersion(object: ApiObject, apiVersion: string): ApiObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

/** Returns the metadata fields that can select objects of every kind. */
export function selectableMetadata({ metadata }: ApiObject): Readonly<Record<string, string>> {
  return { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace ?? '' };
}
