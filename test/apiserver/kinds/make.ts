import type { FieldError } from '../../../src/apiserver/errors/field-error.ts';
import type { ResourceDefinition, VersionDefinition } from '../../../src/apiserver/kinds/definition.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import type { ApiObject, ObjectMeta } from '../../../src/apiserver/schema/api-object.ts';
import type { LeaseCandidateVersion } from '../../../src/coordination/candidate-sources.ts';
import type { JsonObject } from '../../../src/support/json.ts';

const ALL: readonly LeaseCandidateVersion[] = ['v1beta1', 'v1alpha2', 'v1alpha1'];

/** The definition of a resource, by default with every version of LeaseCandidate served. */
export function definitionOf(
  resource: string,
  group = 'coordination.k8s.io',
  leaseCandidateVersions: readonly LeaseCandidateVersion[] = ALL,
): ResourceDefinition {
  const found = createResources({ leaseCandidateVersions }).find(
    (each) => each.resource === resource && each.group === group,
  );
  if (found === undefined) throw new Error(`no ${resource} in ${group}`);
  return found;
}

export function versionOf(definition: ResourceDefinition, version: string): VersionDefinition {
  const found = definition.versions.find((each) => each.version === version);
  if (found === undefined) throw new Error(`no ${definition.resource} in ${version}`);
  return found;
}

/** An object as a client may send it. */
export function makeObject(
  apiVersion: string,
  kind: string,
  fields: JsonObject = {},
  metadata: Partial<ObjectMeta> = {},
): ApiObject {
  return { apiVersion, kind, metadata: { name: 'x', ...metadata }, ...fields };
}

/** Problems as one line each: `spec.leaseName: Required value`. */
export function linesOf(problems: readonly FieldError[]): readonly string[] {
  return problems.map(({ field, message }) => `${field}: ${message}`);
}
