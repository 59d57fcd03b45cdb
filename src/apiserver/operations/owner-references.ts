import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../schema/api-object.ts';
import { withMetadata } from './context.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Takes out owner references that are there twice; the warning names them. */
export function withoutDuplicateOwners(object: ApiObject): {
  readonly object: ApiObject;
  readonly duplicates: readonly string[];
} {
  const references = object.metadata.ownerReferences ?? [];
  const kept = references.filter(
    (each, index) => !references.slice(0, index).some((earlier) => isDeepStrictEqual(each, earlier)),
  );
  if (kept.length === references.length) return { object, duplicates: [] };
  const duplicates = references.filter((each) => !kept.includes(each)).map((each) => String(each['uid']));
  return { object: withMetadata(object, { ownerReferences: kept }), duplicates };
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
