import type { JsonObject } from '../../support/json.ts';

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
