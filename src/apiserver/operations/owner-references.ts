import type { JsonObject } from '../../support/json.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { withMetadata } from './context.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Takes out owner references that are there twice; the warning names them. */
export function withoutDuplicateOwners(object: ApiObject): {
  readonly object: ApiObject;
  readonly duplicates: readonly string[];
} {
  const references = object.metadata.ownerReferences ?? [];
  const kept = new Map<string, JsonObject>();
  const duplicates: string[] = [];
  for (const reference of references) {
    const content = contentOf(reference);
    if (kept.has(content)) duplicates.push(String(reference['uid']));
    else kept.set(content, reference);
  }
  if (duplicates.length === 0) return { object, duplicates };
  return { object: withMetadata(object, { ownerReferences: [...kept.values()] }), duplicates };
}

/** The same for references that say the same, whatever order they say it in. Their values are no objects. */
function contentOf(reference: JsonObject): string {
  return JSON.stringify(Object.entries(reference).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Tells the client what {@link withoutDuplicateOwners} took out; `isPatched`: it came about by a patch. */
export function warnOfDuplicateOwners(
  request: ResourceRequest,
  duplicates: readonly string[],
  isPatched: boolean,
): void {
  if (duplicates.length === 0) return;
  const when = isPatched ? ' after mutating admission happens' : '';
  request.warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${duplicates.join(', ')}`,
  );
}
