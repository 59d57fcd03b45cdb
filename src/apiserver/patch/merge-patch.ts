import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest } from '../errors/api-error.ts';

/**
 * Applies a merge patch (RFC 7386). kube-apiserver also removes nulls from objects in lists, unlike the
 * standard.
 * @throws {ApiError} 400 if the patch is not an object.
 */
export function applyMergePatch(document: JsonObject, patch: unknown): JsonObject {
  if (!isJsonObject(patch)) throw badRequest('a merge patch must be an object');
  return mergeObject(document, patch);
}

function mergeObject(document: JsonObject, patch: JsonObject): JsonObject {
  const removed = new Set(Object.keys(patch).filter((field) => patch[field] === null));
  const kept = Object.entries(document).filter(
    ([field]) => !removed.has(field) && !Object.hasOwn(patch, field),
  );
  const changed = Object.entries(patch)
    .filter(([field]) => !removed.has(field))
    .map(([field, value]): [string, unknown] => [
      field,
      merge(Object.hasOwn(document, field) ? document[field] : undefined, value),
    ]);
  return Object.fromEntries([...kept, ...changed]);
}

function merge(value: unknown, patch: unknown): unknown {
  if (isJsonObject(patch)) return mergeObject(isJsonObject(value) ? value : {}, patch);
  return Array.isArray(patch) ? patch.map((item) => merge(undefined, item)) : patch;
}
