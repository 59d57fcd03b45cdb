import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { humanDuration } from '../../support/text.ts';
import type { FieldError } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type StructSchema, settle } from '../schema/schema.ts';
import { parseTime } from '../schema/time-text.ts';

/** What is wrong with a name; nothing: an empty list. `isPrefix`: something will be appended to it (generateName). */
export type NameRule = (name: string, isPrefix?: boolean) => readonly string[];

/** A resource of the API: what is the same for all its versions. */
export interface ResourceDefinition {
  /** `''` for the core group. */
  readonly group: string;
  /** Plural, lower case: `leases`. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  /** Groups of resources that kubectl can be asked for together: `all`. */
  readonly categories?: readonly string[];
  /** It is as a custom resource definition would have it, and handled as such. */
  readonly isCustom?: true;
  /** What objects are stored under and share across groups and versions: two definitions with the same one are views of the same objects. */
  readonly storage: string;
  /** Preferred version first. */
  readonly versions: readonly VersionDefinition[];
  /** Whether a real server has no cache of the objects, so that lists from any resourceVersion are read page by page, too. */
  readonly isUncached?: true;
  /** Whether PUT creates an object that does not exist. */
  readonly createsOnUpdate: boolean;
  /** Whether PUT without a resourceVersion is taken. */
  readonly updatesUnconditionally: boolean;
  /** What managedFields call the subresource that this is the update of. */
  readonly subresource?: 'finalize';
  /** Top-level fields that only the server writes: nobody owns them. */
  readonly resetFields?: readonly string[];
  /** What is wrong with a name, or with a prefix that a name is to be generated from; empty: nothing. */
  readonly nameProblems: NameRule;
  /** Sets what a client does not decide when an object is created; takes and returns the hub form. */
  readonly prepareForCreate: (object: ApiObject) => ApiObject;
  /** The same for an update, which must not touch what only the server sets. */
  readonly prepareForUpdate: (object: ApiObject, old: ApiObject) => ApiObject;
  /** Whether something beside metadata.finalizers holds up the deletion of an object. Takes the hub form. */
  readonly isHeld?: (object: ApiObject) => boolean;
  /** What is wrong beside the metadata; see validateObject for all that is checked. `old` is given for an update. Hub form. */
  readonly validate: (object: ApiObject, old?: ApiObject) => readonly FieldError[];
}

/** One served version of a resource: a view of the hub form that is stored. */
export interface VersionDefinition {
  readonly version: string;
  readonly schema: StructSchema;
  /**
   * From this version to the form that is stored, with every field settled: defaults set, those that the server does not
   * keep left out. `previous` is the stored object that it replaces, in hub form.
   */
  readonly toHub: (object: ApiObject, previous?: ApiObject) => ApiObject;
  readonly fromHub: (hub: ApiObject) => ApiObject;
  /** The value of each field that a fieldSelector may name, metadata.name and metadata.namespace included. Takes this version's form. */
  readonly selectableFields: (object: ApiObject) => Readonly<Record<string, string>>;
  readonly columns: readonly ColumnDefinition[];
  /** The text of the Warning that goes with every answer in this version, where the real server is about to drop it. */
  readonly deprecation?: string;
}

/** A column of the table that kubectl prints, after NAME, which every table has first unless a column `isName`. */
export interface ColumnDefinition {
  readonly name: string;
  /** It shows the name of the object (format `name`), and there is no NAME before it. */
  readonly isName?: true;
  readonly type: 'string' | 'integer' | 'date';
  readonly description: string;
  /** 0: always shown; above: with `-o wide`. */
  readonly priority: number;
  /** The cell, of an object in this version; `nowSeconds` (Unix time) for ages, which the server prints itself (`5m`, `2d3h`). */
  readonly cell: (object: ApiObject, nowSeconds: number) => string | number | null;
}

/** `v1`, `coordination.k8s.io/v1`. */
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

/** The column that most tables end with. */
export const ageColumn = column('Age', 'How long ago the object was created.', ({ metadata }, nowSeconds) =>
  timeSince(metadata.creationTimestamp, nowSeconds),
);

/** The time since a timestamp of either kind; `nowSeconds` is Unix time. */
export function timeSince(timestamp: unknown, nowSeconds: number): string {
  if (typeof timestamp !== 'string') return '<unknown>';
  const moment = parseTime(timestamp, timestamp.includes('.') ? 'microTime' : 'time');
  if (moment === undefined) return '<unknown>';
  return humanDuration(nowSeconds - moment.seconds - moment.nanoseconds / 1e9);
}

/** The struct that a field holds; empty where it holds none. */
export function structIn(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

/** The text that a field holds; '' where it holds none. */
export function textIn(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** The number that a field holds; undefined where it holds none. */
export function numberIn(object: JsonObject, field: string): number | undefined {
  const value = object[field];
  return typeof value === 'number' ? value : undefined;
}

/** The texts in the list that a field holds. */
export function textsIn(object: JsonObject, field: string): readonly string[] {
  const value = object[field];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

/**
 * An object with each field settled as its schema says, whoever put it together, as `apiVersion`. metadata.selfLink is known
 * to the API, but not kept.
 */
export function settled(schema: StructSchema, object: ApiObject, apiVersion: string): ApiObject {
  const { kind: _, apiVersion: __, metadata, ...rest } = settle(schema, object);
  const { selfLink: ___, ...kept } = isJsonObject(metadata) ? metadata : {};
  // Settled by the schema of ObjectMeta, it is of that type.
  return { kind: object.kind, apiVersion, metadata: kept as unknown as ApiObject['metadata'], ...rest };
}

/** An object in another version that has the same fields. */
export function asVersion(object: ApiObject, apiVersion: string): ApiObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

/** The fields of metadata that every kind can be selected by. */
export function selectableMetadata({ metadata }: ApiObject): Readonly<Record<string, string>> {
  return { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace ?? '' };
}
