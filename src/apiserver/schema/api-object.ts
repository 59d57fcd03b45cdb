import type { JsonObject } from '../../support/json.ts';
import type { FieldSchema, ScalarSchema, StructSchema } from './schema.ts';

/** The metadata of an object as this server keeps it. Fields that are not listed are kept too. */
export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  /** Absent for objects that are in no namespace. */
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

/** Who set which fields: one element of metadata.managedFields. */
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
 * An object of the API: plain JSON, decoded against its schema, so that every field is known and of its type. Never
 * changed in place, as caches, watchers and answers share it.
 */
export interface ApiObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

export const text: ScalarSchema = { kind: 'string' };

/** What every object and list begins with. */
export const typeFields: Readonly<Record<'kind' | 'apiVersion', FieldSchema>> = {
  kind: {
    type: text,
    description:
      'The kind of object that this is, in CamelCase. Taken from the URL where a request leaves it out.',
    zero: 'omit',
  },
  apiVersion: {
    type: text,
    description:
      'The group and version of the API that this object is written in: group/version, or v1 in the core group.',
    zero: 'omit',
  },
};

export const ownerReferenceSchema: StructSchema = {
  kind: 'struct',
  name: 'OwnerReference',
  model: `${META}.OwnerReference`,
  description:
    'Names an object that this one belongs to, in the same namespace or in none: once all owners have gone, it is collected.',
  isAtomic: true,
  fields: {
    apiVersion: {
      type: text,
      description: 'Group and version of the owner.',
      zero: 'fill',
      isRequired: true,
    },
    kind: { type: text, description: 'Kind of the owner.', zero: 'fill', isRequired: true },
    name: { type: text, description: 'Name of the owner.', zero: 'fill', isRequired: true },
    uid: { type: text, description: 'UID of the owner.', zero: 'fill', isRequired: true },
    controller: {
      type: { kind: 'boolean' },
      description: 'Whether this owner is the one that manages the object. At most one is.',
      zero: 'keep',
    },
    blockOwnerDeletion: {
      type: { kind: 'boolean' },
      description: 'Whether an owner that is deleted in the foreground waits until this object has gone.',
      zero: 'keep',
    },
  },
};

export const managedFieldsEntrySchema: StructSchema = {
  kind: 'struct',
  name: 'ManagedFieldsEntry',
  model: `${META}.ManagedFieldsEntry`,
  description: 'The fields that one manager has set, and how.',
  fields: {
    manager: { type: text, description: 'Who set the fields.', zero: 'omit' },
    operation: {
      type: text,
      description: 'How they were set: Apply (server-side apply) or Update (anything else).',
      zero: 'omit',
    },
    apiVersion: {
      type: text,
      description: 'The version of the API that the fields are named in.',
      zero: 'omit',
    },
    time: { type: { kind: 'time' }, description: 'When this entry was last changed.', zero: 'keep' },
    fieldsType: { type: text, description: 'The format of the fields: FieldsV1.', zero: 'omit' },
    fieldsV1: {
      type: { kind: 'opaque' },
      description:
        'The fields: each key is f:<field>, v:<value>, k:<keys of a list item> or "." for the thing itself.',
      zero: 'keep',
    },
    subresource: { type: text, description: 'The subresource that was written to, if any.', zero: 'omit' },
  },
};

export const objectMetaSchema: StructSchema = {
  kind: 'struct',
  name: 'ObjectMeta',
  model: `${META}.ObjectMeta`,
  description: 'What is known of every object, whatever its kind.',
  fields: {
    name: {
      type: text,
      description: 'Name of the object, unique in its namespace. It cannot be changed.',
      zero: 'omit',
    },
    generateName: {
      type: text,
      description: 'Where no name is given, one is made of this prefix and five random characters.',
      zero: 'omit',
    },
    namespace: {
      type: text,
      description:
        'The namespace that the object is in; empty for kinds that are in none. It cannot be changed.',
      zero: 'omit',
    },
    selfLink: { type: text, description: 'No longer used.', zero: 'omit' },
    uid: {
      type: text,
      description: 'Tells apart objects that have had the same name at different times. Read-only.',
      zero: 'omit',
    },
    resourceVersion: {
      type: text,
      description:
        'The state of the object, as a word that only the server reads: an update that names another state than the current one is refused.',
      zero: 'omit',
    },
    generation: {
      type: { kind: 'int64' },
      description: 'Counts the changes of what is desired, for kinds that use it. Read-only.',
      zero: 'omit',
    },
    creationTimestamp: {
      type: { kind: 'time' },
      description: 'When the object was created. Read-only.',
      zero: 'omit',
    },
    deletionTimestamp: {
      type: { kind: 'time' },
      description:
        'When the object is to go: it is being deleted, and goes once it has no finalizers. Read-only.',
      zero: 'keep',
    },
    deletionGracePeriodSeconds: {
      type: { kind: 'int64' },
      description: 'How many seconds the object is given to end in good order. Read-only.',
      zero: 'keep',
    },
    labels: {
      type: { kind: 'map', values: text },
      description: 'Words to group and select objects by.',
      zero: 'omit',
    },
    annotations: {
      type: { kind: 'map', values: text },
      description: 'Notes of any kind that tools attach to an object; nothing is selected by them.',
      zero: 'omit',
    },
    ownerReferences: {
      type: {
        kind: 'list',
        items: ownerReferenceSchema,
        listType: 'map',
        keys: ['uid'],
        patchStrategy: { mergeKey: 'uid' },
      },
      description: 'The objects that this one belongs to.',
      zero: 'omit',
    },
    finalizers: {
      type: { kind: 'list', items: text, listType: 'set', patchStrategy: {} },
      description:
        'Who has yet to agree to the deletion of the object. It goes when the list has become empty.',
      zero: 'omit',
    },
    managedFields: {
      type: { kind: 'list', items: managedFieldsEntrySchema, listType: 'atomic' },
      description: 'Who has set which fields. Kept by the server.',
      // An empty list is how a client asks to forget them. None is stored.
      zero: 'keep',
    },
  },
};

/** The metadata of an object. */
export const metadataField: FieldSchema = {
  type: objectMetaSchema,
  description: 'Metadata that every object has.',
  zero: 'fill',
};
