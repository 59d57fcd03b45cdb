import { badRequest } from '../errors/api-error.ts';
import type { VersionDefinition } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { fieldSelector } from '../selectors/field-selector.ts';
import type { ListOptions } from './parameters.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Which objects of a resource a list or a watch is about. */
export interface Selection {
  /** The namespace that all of them are in, if that is known. */
  readonly namespace: string | undefined;
  /** Whether it is everything in that namespace. */
  readonly isEverything: boolean;
  /** Whether it is one object at most, whose name is known. */
  readonly isOne: boolean;
  /** Takes the hub form of an object in that namespace. */
  selects(object: ApiObject): boolean;
}

/** What the request's namespace, name and selectors select together. @throws {ApiError} 400 */
export function selectionOf(request: ResourceRequest, options: ListOptions): Selection {
  const { version, name } = request;
  const { matchesLabels, fieldRequirements } = options;
  const fields =
    fieldRequirements.length === 0 ? undefined : fieldSelector(fieldRequirements, fieldsOf(version));
  const wantedName = name ?? fields?.exact('metadata.name');
  if (name !== undefined && fields !== undefined && fields.exact('metadata.name') !== name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const namespace = request.definition.isNamespaced
    ? (request.namespace ?? fields?.exact('metadata.namespace'))
    : undefined;
  return {
    namespace,
    isOne: wantedName !== undefined && (namespace !== undefined || !request.definition.isNamespaced),
    isEverything: matchesLabels === undefined && fields === undefined && name === undefined,
    selects(object) {
      const { metadata } = object;
      if (wantedName !== undefined && metadata.name !== wantedName) return false;
      if (namespace !== undefined && metadata.namespace !== namespace) {
        return false;
      }
      if (matchesLabels && !matchesLabels(metadata.labels ?? {})) return false;
      return fields === undefined || fields.matches(version.selectableFields(version.fromHub(object)));
    },
  };
}

/** The names of the fields that objects of this version can be selected by. */
function fieldsOf({ selectableFields }: VersionDefinition): readonly string[] {
  return Object.keys(selectableFields({ apiVersion: '', kind: '', metadata: { name: '' } }));
}
