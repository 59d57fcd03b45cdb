import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';

/** Returns the managers that own a field such as `['spec', 'holderIdentity']`, according to managedFields. */
export function ownersOf(object: KubernetesObject | undefined, path: readonly string[]): readonly string[] {
  const managedFields = object?.metadata['managedFields'];
  if (!Array.isArray(managedFields)) return [];
  const owners = managedFields.flatMap((entry: unknown) => {
    if (!isJsonObject(entry)) return [];
    const { manager, fieldsV1 } = entry as { manager?: unknown; fieldsV1?: unknown };
    return typeof manager === 'string' && hasField(fieldsV1, path) ? [manager] : [];
  });
  return [...new Set(owners)].sort();
}

function hasField(fields: unknown, path: readonly string[]): boolean {
  let found = fields;
  for (const name of path) found = isJsonObject(found) ? found[`f:${name}`] : undefined;
  return found !== undefined;
}
