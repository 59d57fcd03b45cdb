import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, plainError } from '../errors/api-error.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

type List = readonly unknown[];

const DELETE_ITEMS = '$deleteFromPrimitiveList';
const ELEMENT_ORDER = '$setElementOrder';
const RETAIN_KEYS = '$retainKeys';

/**
 * Applies a strategic merge patch. Merges lists if the schema says so. Supports the directives of kubectl: $patch,
 * $setElementOrder and $deleteFromPrimitiveList replace, delete and order objects and items. Unknown fields stay.
 * @throws {ApiError} 400 for a malformed or unsupported directive, 500 for a value of the wrong type, as in
 * kube-apiserver.
 */
export function applyStrategicMergePatch(
  schema: StructSchema,
  document: JsonObject,
  patch: unknown,
): JsonObject {
  if (patch !== null && !isJsonObject(patch)) throw badRequest('a strategic merge patch must be an object');
  return mergeObject(document, patch ?? {}, schema);
}

function mergeObject(original: JsonObject, patch: JsonObject, schema: TypeSchema): JsonObject {
  if (Object.hasOwn(patch, '$patch')) return replaceObject(patch);
  if (Object.hasOwn(patch, RETAIN_KEYS)) throw badRequest(`${RETAIN_KEYS} is not supported`);
  const entries = Object.entries(patch);
  const directives = (name: string) =>
    entries
      .filter(([key]) => key.startsWith(name))
      .map(([key, value]) => [listOf(key, name), value] as const);
  const result = new Map(Object.entries(original));
  for (const [field, value] of directives(DELETE_ITEMS)) {
    const found = result.get(field);
    if (value === null) result.delete(field);
    else if (Array.isArray(found) && Array.isArray(value)) {
      const removed = new Set<unknown>(value);
      result.set(
        field,
        found.filter((item) => !removed.has(item)),
      );
    }
  }
  for (const [field, value] of entries) {
    if (field.startsWith(DELETE_ITEMS) || field.startsWith(ELEMENT_ORDER)) continue;
    const next = value === null ? undefined : mergeField(result.get(field), value, field, schema);
    if (next === undefined) result.delete(field);
    else result.set(field, next);
  }
  for (const [field, order] of directives(ELEMENT_ORDER)) {
    if (!Array.isArray(order)) throw plainError(`${ELEMENT_ORDER}/${field} must be a list`);
    const list = result.get(field);
    const { patchStrategy } = listField(schema, field);
    if (Array.isArray(list)) result.set(field, ordered(list, order, patchStrategy?.mergeKey));
  }
  return Object.fromEntries(result);
}

function replaceObject({ $patch: directive, ...fields }: JsonObject): JsonObject {
  if (directive === 'replace') return fields;
  if (directive === 'delete') return {};
  throw plainError(`unknown $patch: ${JSON.stringify(directive)}`);
}

/** Returns the list that a directive names: `finalizers` for `$setElementOrder/finalizers`. */
function listOf(key: string, directive: string): string {
  if (key[directive.length] === '/') return key.slice(directive.length + 1);
  throw badRequest(`${directive} needs the name of a list, as in ${directive}/finalizers`);
}

/** Returns the new value of a field, or undefined if the patch removes the field. */
function mergeField(original: unknown, patch: unknown, field: string, schema: TypeSchema): unknown {
  if (isJsonObject(original) && isJsonObject(patch)) {
    return mergeObject(original, patch, structField(schema, field));
  }
  if (Array.isArray(original) && Array.isArray(patch)) {
    const list = listField(schema, field);
    return list.patchStrategy === undefined ? patch : mergeList(original, patch, list);
  }
  return withoutDirectives(patch);
}

/**
 * Returns the value of a patch for a missing field, without nulls and without objects that contain a directive. Undefined
 * if nothing remains.
 */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (value['$patch'] !== undefined && value['$patch'] !== null) return undefined;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, each]) => [key, each === null ? undefined : withoutDirectives(each)] as const)
      .filter(([, each]) => each !== undefined),
  );
}

function mergeList(original: List, patch: List, list: ListSchema): List {
  if (original.length === 0 && patch.length === 0) return original;
  if (areObjects([...original, ...patch])) return mergeItems(original, patch, list);
  return joined(
    original,
    patch,
    (item) => item,
    (item) => item,
  );
}

/**
 * Joins both lists. A new item is inserted after its predecessor in `patch`. A new item without a predecessor comes
 * first.
 */
function joined<T>(
  original: readonly T[],
  patch: readonly T[],
  keyOf: (item: T) => unknown,
  merge: (item: T, patch: T) => T,
): T[] {
  const result = [...original];
  let place = 0;
  for (const item of patch) {
    const index = result.findIndex((each) => keyOf(each) === keyOf(item));
    const found = result[index];
    if (found === undefined) result.splice(place, 0, item);
    else result[index] = merge(found, item);
    place = index === -1 ? place + 1 : index + 1;
  }
  return result;
}

/** @throws {ApiError} 500 if the list contains lists or items of different types. */
function areObjects(items: List): boolean {
  const [type, ...others] = new Set(items.map((item) => (Array.isArray(item) ? 'list' : typeof item)));
  if (others.length > 0 || type === 'list') throw plainError('the items of a list cannot be merged');
  return type === 'object';
}

function mergeItems(original: List, patch: List, { patchStrategy, items }: ListSchema): List {
  const key = patchStrategy?.mergeKey;
  if (key === undefined) throw plainError('the objects of a list without a merge key cannot be merged');
  const directives = patch.map(asObject).filter((item) => Object.hasOwn(item, '$patch'));
  const isReplaced = directives.some((item) => item['$patch'] === 'replace');
  const deleted = new Set(
    directives.filter((item) => item['$patch'] === 'delete').map((item) => keyOf(item, key)),
  );
  const unknown = directives.find(({ $patch }) => $patch !== 'delete' && $patch !== 'replace');
  if (unknown) throw plainError(`unknown $patch: ${JSON.stringify(unknown['$patch'])}`);
  const kept = original.map(asObject).filter((item) => !isReplaced && !deleted.has(item[key]));
  const given = patch.map(asObject).filter((item) => !Object.hasOwn(item, '$patch'));
  for (const item of given) keyOf(item, key);
  return joined(
    kept,
    given,
    (item) => item[key],
    (item, change) => mergeObject(item, change, items),
  );
}

/** Sorts the items that are in `order`. The other items keep their positions. */
function ordered(list: List, order: List, key: string | undefined): List {
  const identify = (item: unknown) => (isJsonObject(item) && key !== undefined ? keyOf(item, key) : item);
  const places = new Map(order.map((item, index) => [identify(item), index]));
  const placeOf = (item: unknown) => places.get(identify(item));
  const named = list.filter((item) => placeOf(item) !== undefined);
  const sorted = named.toSorted((one, other) => (placeOf(one) ?? 0) - (placeOf(other) ?? 0)).values();
  return list.map((item) => (placeOf(item) === undefined ? item : sorted.next().value));
}

function keyOf(item: JsonObject, key: string): unknown {
  if (!Object.hasOwn(item, key)) throw plainError(`an item has no ${key}, which identifies it`);
  return item[key];
}

function asObject(item: unknown): JsonObject {
  if (!isJsonObject(item)) throw plainError('an item of a list must be an object');
  return item;
}

function structField(schema: TypeSchema, field: string): TypeSchema {
  if (schema.kind !== 'struct') throw plainError(`cannot merge an object into a ${schema.kind}`);
  const found = Object.hasOwn(schema.fields, field) ? schema.fields[field] : undefined;
  if (found === undefined) throw plainError(`unknown field ${JSON.stringify(field)}`);
  return found.type;
}

function listField(schema: TypeSchema, field: string): ListSchema {
  const type = structField(schema, field);
  if (type.kind !== 'list') throw plainError(`${field} is not a list`);
  return type;
}
