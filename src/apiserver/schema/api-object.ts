import type { JsonObject } from '../../support/json.ts';
import {
  type FieldSchema,
  field,
  type ListSchema,
  type ScalarSchema,
  type StructSchema,
  struct,
} from './schema.ts';

/** The metadata of an object as this server stores it. The server also stores fields that are not listed here. */
export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  /** Absent for objects without a namespace. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339, to the second. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly JsonObject[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** One element of metadata.managedFields: a manager and its fields. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject;
  readonly subresource?: string;
}

/**
 * An API object: plain JSON, decoded against its schema. Every field is known and has its type. Never change it in place:
 * caches, watchers and answers share it.
 */
export interface ApiObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const isRequired = { isRequired: true } as const;

export const text: ScalarSchema = { kind: 'string' };

/** The first fields of every object and list. */
export const typeFields: Readonly<Record<'kind' | 'apiVersion', FieldSchema>> = {
  kind: field(text, 'omit', 'The kind of the object, in CamelCase.'),
  apiVersion: field(text, 'omit', 'The group and version of the API: group/version, or v1.'),
};

export const ownerReferenceSchema: StructSchema = struct(
  `${META}.OwnerReference`,
  'Names an owner. An object is deleted after all its owners.',
  {
    apiVersion: field(text, 'fill', 'Group and version of the owner.', isRequired),
    kind: field(text, 'fill', 'Kind of the owner.', isRequired),
    name: field(text, 'fill', 'Name of the owner.', isRequired),
    uid: field(text, 'fill', 'UID of the owner.', isRequired),
    controller: field({ kind: 'boolean' }, 'keep', 'Whether this owner manages the object.'),
    blockOwnerDeletion: field({ kind: 'boolean' }, 'keep', 'Whether a foreground deletion waits for this.'),
  },
  { isAtomic: true },
);

const ownerReferences: ListSchema = {
  kind: 'list',
  items: ownerReferenceSchema,
  listType: 'map',
  keys: ['uid'],
  patchStrategy: { mergeKey: 'uid' },
};

export const managedFieldsEntrySchema: StructSchema = struct(
  `${META}.ManagedFieldsEntry`,
  'The fields that one manager has set, and how.',
  {
    manager: field(text, 'omit', 'Who set the fields.'),
    operation: field(text, 'omit', 'Apply (server-side apply) or Update.'),
    apiVersion: field(text, 'omit', 'The version of the API that names the fields.'),
    time: field({ kind: 'time' }, 'keep', 'When this entry was last changed.'),
    fieldsType: field(text, 'omit', 'The format of the fields: FieldsV1.'),
    fieldsV1: field({ kind: 'opaque' }, 'keep', 'The fields, in the format of FieldsV1.'),
    subresource: field(text, 'omit', 'The subresource that was written to, if any.'),
  },
);

export const objectMetaSchema: StructSchema = struct(
  `${META}.ObjectMeta`,
  'The metadata that every object has.',
  {
    name: field(text, 'omit', 'The name, unique in its namespace.'),
    generateName: field(text, 'omit', 'The prefix of a generated name.'),
    namespace: field(text, 'omit', 'The namespace, if the kind has one.'),
    selfLink: field(text, 'omit', 'No longer used.'),
    uid: field(text, 'omit', 'Identifies the object for all time. Read-only.'),
    resourceVersion: field(text, 'omit', 'The state of the object. An update of another state is refused.'),
    generation: field({ kind: 'int64' }, 'omit', 'Counts the changes of the spec. Read-only.'),
    creationTimestamp: field({ kind: 'time' }, 'omit', 'When the object was created. Read-only.'),
    deletionTimestamp: field({ kind: 'time' }, 'keep', 'When its deletion began. Read-only.'),
    deletionGracePeriodSeconds: field({ kind: 'int64' }, 'keep', 'Seconds to end. Read-only.'),
    labels: field({ kind: 'map', values: text }, 'omit', 'Words to group and select objects by.'),
    annotations: field({ kind: 'map', values: text }, 'omit', 'Notes that tools attach to the object.'),
    ownerReferences: field(ownerReferences, 'omit', 'The objects that this one belongs to.'),
    finalizers: field(
      { kind: 'list', items: text, listType: 'set', patchStrategy: {} },
      'omit',
      'The object is deleted when this is empty.',
    ),
    // A client sends an empty list to reset all ownership. The server stores no empty list.
    managedFields: field(
      { kind: 'list', items: managedFieldsEntrySchema, listType: 'atomic' },
      'keep',
      'Who has set which fields. Kept by the server.',
    ),
  },
);

export const metadataField: FieldSchema = field(objectMetaSchema, 'fill', 'Metadata that every object has.');
