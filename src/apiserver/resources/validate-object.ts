import type { FieldError } from '../errors/field-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { ResourceDefinition } from './definition.ts';
import { pathSegmentName } from './names.ts';
import { validateMetadata, validateMetadataUpdate } from './validate-metadata.ts';

/**
 * Everything that is wrong with an object in hub form, in the order in which the real server lists it. That one checks what
 * all objects have in common for itself, besides what each resource checks: what both find in an update (`old` is given) is
 * there twice, while of a new object only what one of them finds is told.
 */
export function validateObject(
  definition: ResourceDefinition,
  object: ApiObject,
  old?: ApiObject,
): readonly FieldError[] {
  const { isNamespaced } = definition;
  const common = validateMetadata(object.metadata, { isNamespaced, nameProblems: pathSegmentName });
  const own = definition.validate(object, old);
  if (old === undefined) return own.length > 0 ? own : common;
  return [...common, ...validateMetadataUpdate(object.metadata, old.metadata), ...own];
}
