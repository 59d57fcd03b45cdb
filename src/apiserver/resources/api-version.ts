import type { ResourceDefinition, VersionDefinition } from './definition.ts';

/** `v1`, `coordination.k8s.io/v1`. */
export function apiVersionOf(
  { group }: Pick<ResourceDefinition, 'group'>,
  { version }: Pick<VersionDefinition, 'version'>,
): string {
  return group === '' ? version : `${group}/${version}`;
}
