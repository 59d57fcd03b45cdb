import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject } from '../support/json.ts';

/** Under which names the server's field ownership lists a field of the object's spec; none where it does not say. */
export function ownersOf(object: KubernetesObject | undefined, field: string): readonly string[] {
  const managedFields = object?.metadata['managedFields'];
  if (!Array.isArray(managedFields)) return [];
  const owners = managedFields.flatMap((entry: unknown) => {
    if (!isJsonObject(entry)) return [];
    const { manager, fieldsV1 } = entry as { manager?: unknown; fieldsV1?: unknown };
    const spec = isJsonObject(fieldsV1) ? fieldsV1['f:spec'] : undefined;
    return typeof manager === 'string' && isJsonObject(spec) && `f:${field}` in spec ? [manager] : [];
  });
  return [...new Set(owners)].sort();
}
