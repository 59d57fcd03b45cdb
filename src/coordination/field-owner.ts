import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';
import { objectsIn } from './raw-object.ts';

/** Returns the managers that own a field such as `['spec', 'holderIdentity']`, according to managedFields. */
export function ownersOf(object: KubernetesObject | undefined, path: readonly string[]): readonly string[] {
  if (!object) return [];
  const owners = objectsIn(object.metadata, 'managedFields').flatMap(({ manager, fieldsV1 }) =>
    typeof manager === 'string' && hasField(fieldsV1, path) ? [manager] : [],
  );
  return [...new Set(owners)].sort();
}

function hasField(fields: unknown, path: readonly string[]): boolean {
  let found = fields;
  for (const name of path) found = isJsonObject(found) ? found[`f:${name}`] : undefined;
  return found !== undefined;
}
