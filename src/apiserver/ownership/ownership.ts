import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';

/** The version of an object that field sets are about, and the way to the others. */
export interface Versions {
  /** The schema of an apiVersion (`coordination.k8s.io/v1beta1`); undefined: not served any more. */
  schema(apiVersion: string): StructSchema | undefined;
  /** An object of one version in another; only called for versions that have a schema. */
  convert(object: ApiObject, apiVersion: string): ApiObject;
  /** Fields at the top that these writes never set, so that nobody owns them: `status`. */
  readonly resetFields?: readonly string[];
}

/** Who changes an object, and when. */
export interface Change {
  /** The field manager: the fieldManager parameter, or the first part of the User-Agent. */
  readonly manager: string;
  /** RFC 3339, to the second. */
  readonly time: string;
  /** Absent for the main resource. */
  readonly subresource?: string;
}

/** The object with these managedFields, or with none. */
export function withManagedFields(
  object: ApiObject,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
}
