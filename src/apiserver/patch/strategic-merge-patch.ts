import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, plainError } from '../errors/api-error.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

const DELETE_ITEMS = '$deleteFromPrimitiveList';
const ELEMENT_ORDER = '$setElementOrder';
const RETAIN_KEYS = '$retainKeys';

/**
 * Applies a strategic merge patch: lists are merged where the schema says so, and directives ($patch, $retainKeys,
 * $setElementOrder, $deleteFromPrimitiveList) say what a merge alone cannot. Fields that the schema does not know stay.
 * @throws {ApiError} 400 for directives of the wrong form, and a 500 without a reason for what the real server does
 * not expect either.
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
  const retained = retainKeys(original, patch);
  const { merged, rest } = orderLists(retained, patch, schema);
  const result = new Map(Object.entries(merged));
  for (const [key, value] of deletionsFirst(rest)) {
    const isDeletion = key.startsWith(DELETE_ITEMS);
    const field = isDeletion ? listOf(key, DELETE_ITEMS) : key;
    if (value === null) {
      result.delete(field);
    } else if (isDeletion) {
      const found = result.get(field);
      if (!Array.isArray(found) || !Array.isArray(value)) continue;
      result.set(field, removeItems(found, value, listField(schema, field), mergeObject));
    } else {
      const next = mergeField(result.get(field), value, field, schema);
      if (next === undefined) result.delete(field);
      else result.set(field, next);
    }
  }
  return Object.fromEntries(result);
}

/** Items are deleted from a list before others are added to it; the real server does both in no certain order. */
function deletionsFirst(patch: JsonObject): readonly (readonly [string, unknown])[] {
  const entries = Object.entries(patch);
  return [
    ...entries.filter(([key]) => key.startsWith(DELETE_ITEMS)),
    ...entries.filter(([key]) => !key.startsWith(DELETE_ITEMS)),
  ];
}

function replaceObject(patch: JsonObject): JsonObject {
  const { $patch: directive, ...rest } = patch;
  if (directive === 'replace') return rest;
  if (directive === 'delete') return {};
  throw plainError(`unknown $patch: ${JSON.stringify(directive)}`);
}

/** The new value of a field; undefined if the patch takes it out. */
function mergeField(original: unknown, patch: unknown, field: string, schema: TypeSchema): unknown {
  if (isJsonObject(original) && isJsonObject(patch)) {
    return mergeObject(original, patch, structField(schema, field));
  }
  if (Array.isArray(original) && Array.isArray(patch)) {
    const list = listField(schema, field);
    return list.patchStrategy === undefined ? patch : mergeList(original, patch, list, mergeObject);
  }
  return withoutDirectives(patch);
}

function retainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return original;
  const keys = patch[RETAIN_KEYS];
  const set = Object.keys(patch).filter(
    (key) =>
      patch[key] !== null &&
      key !== RETAIN_KEYS &&
      !key.startsWith(DELETE_ITEMS) &&
      !key.startsWith(ELEMENT_ORDER),
  );
  if (!Array.isArray(keys) || !set.every((key) => keys.includes(key))) {
    throw badRequest('invalid patch format of retainKeys');
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

/** Merges the lists that the patch gives an order to; what is left of the patch is `rest`. */
function orderLists(
  original: JsonObject,
  patch: JsonObject,
  schema: TypeSchema,
): { merged: JsonObject; rest: JsonObject } {
  const { [RETAIN_KEYS]: _, ...rest }: Record<string, unknown> = patch;
  const merged: Record<string, unknown> = { ...original };
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(ELEMENT_ORDER)) continue;
    delete rest[key];
    const wanted = asList(order);
    const field = listOf(key, ELEMENT_ORDER);
    const found = asListIfPresent(original, field);
    const given = asListIfPresent(rest, field);
    const ordered = orderList(found, given, wanted, listField(schema, field), mergeObject);
    if (ordered === undefined) continue;
    merged[field] = ordered;
    delete rest[field];
  }
  return { merged, rest };
}

/** The name of the list that a directive is about: `$setElementOrder/finalizers`. */
function listOf(key: string, directive: string): string {
  const slash = key.indexOf('/');
  if (slash === directive.length) return key.slice(slash + 1);
  throw badRequest(
    directive === DELETE_ITEMS
      ? 'invalid patch format of primitive list'
      : 'invalid patch format of setElementOrder list',
  );
}

function asListIfPresent(object: JsonObject, field: string): readonly unknown[] | undefined {
  return Object.hasOwn(object, field) ? asList(object[field]) : undefined;
}

function asList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw plainError('expected a list');
  return value;
}

function structField(schema: TypeSchema, field: string): TypeSchema {
  if (schema.kind !== 'struct') {
    throw plainError(`cannot merge an object into a ${schema.kind}`);
  }
  const found = Object.hasOwn(schema.fields, field) ? schema.fields[field] : undefined;
  if (found !== undefined) return found.type;
  throw plainError(`unknown field ${JSON.stringify(field)}`);
}

function listField(schema: TypeSchema, field: string): ListSchema {
  const type = structField(schema, field);
  if (type.kind !== 'list') throw plainError(`${field} is not a list`);
  return type;
}

type List = readonly unknown[];
type MergeObjects = (original: JsonObject, patch: JsonObject, schema: TypeSchema) => JsonObject;

/** Merges the items of a patch into a list. `patch` comes first, among what the list had in its own order. */
function mergeList(original: List, patch: List, list: ListSchema, merge: MergeObjects): List {
  if (original.length === 0 && patch.length === 0) return original;
  const { merged, kept, added, key } = combine(original, patch, list, merge);
  return inOrder(merged, added, kept, key);
}

interface Combination {
  /** What the list kept, in its order, and then what is new. */
  readonly merged: List;
  readonly kept: List;
  /** The items of the patch that are no directives. */
  readonly added: List;
  /** What tells items apart that are objects. */
  readonly key: string | undefined;
}

function combine(original: List, patch: List, list: ListSchema, merge: MergeObjects): Combination {
  if (!areObjects(original, patch)) {
    const merged = [...new Set([...original, ...patch])];
    return { merged, kept: original, added: patch, key: undefined };
  }
  const key = list.patchStrategy?.mergeKey;
  if (key === undefined) throw plainError('cannot merge lists without merge key for struct');
  const { kept, added } = obeyDirectives(original, patch, key);
  return { merged: mergeItems(kept, added, key, list.items, merge), kept, added, key };
}

/** Takes items out of a list; where they are objects, the real server merges them instead. */
function removeItems(original: List, removed: List, list: ListSchema, merge: MergeObjects): List {
  if (original.length === 0 && removed.length === 0) return original;
  if (areObjects(original, removed)) return mergeList(original, removed, list, merge);
  const gone = new Set(removed);
  return original.filter((item) => !gone.has(item));
}

/** Merges a list and puts it into an order, as far as that says anything of its items; undefined: there is no list. */
function orderList(
  original: List | undefined,
  patch: List | undefined,
  order: List,
  list: ListSchema,
  merge: MergeObjects,
): List | undefined {
  const key = list.patchStrategy?.mergeKey;
  if (patch !== undefined) checkOrder(patch, order, key);
  if (original === undefined && patch === undefined) return undefined;
  const isKeyed = areObjects(original ?? [], patch ?? []);
  const { merged, before } = toBeOrdered(original, patch, list, merge);
  return inOrder(merged, order, before, isKeyed ? key : undefined);
}

/** The items to put into an order, and the order that the others are to keep among themselves. */
function toBeOrdered(
  original: List | undefined,
  patch: List | undefined,
  list: ListSchema,
  merge: MergeObjects,
): { merged: List; before: List } {
  if (original === undefined) {
    return { merged: (patch ?? []).map(withoutDirectives).filter((item) => item !== undefined), before: [] };
  }
  if (patch === undefined) return { merged: original, before: original };
  if (list.patchStrategy === undefined) return { merged: patch, before: original };
  const { merged, key } = combine(original, patch, list, merge);
  // The real server writes over the list: what is new is then where something has been deleted.
  return { merged, before: key === undefined ? original : merged.slice(0, original.length) };
}

/** @throws {ApiError} where items of different types are together. */
function areObjects(...lists: readonly List[]): boolean {
  const items = lists.flat(1);
  const objects = items.filter(isJsonObject).length;
  if (items.length === 0) throw plainError('there is nothing to merge');
  if (items.some(Array.isArray)) throw plainError('lists of lists are not supported');
  if (objects === 0 && new Set(items.map((item) => typeof item)).size === 1) return false;
  if (objects === items.length) return true;
  throw plainError('the items of the lists are of different types');
}

/** Carries out the items of a patch that say what to do with the list; the others are `added`. */
function obeyDirectives(original: List, patch: List, key: string): { kept: List; added: List } {
  let isReplaced = false;
  const deleted = new Set<unknown>();
  const added: unknown[] = [];
  for (const item of patch.map(asObject)) {
    const directive = item['$patch'];
    if (!Object.hasOwn(item, '$patch')) {
      added.push(item);
    } else if (directive === 'delete') {
      deleted.add(keyOf(item, key));
    } else if (directive === 'replace') {
      isReplaced = true;
    } else if (directive === 'merge') {
      throw plainError('merging lists cannot yet be specified in the patch');
    } else {
      throw plainError(`unknown $patch: ${JSON.stringify(directive)}`);
    }
  }
  if (isReplaced) return { kept: added, added: [] };
  return { kept: original.filter((item) => !deleted.has(asObject(item)[key])), added };
}

function mergeItems(original: List, patch: List, key: string, items: TypeSchema, merge: MergeObjects): List {
  const merged = [...original];
  const places = new Map(indexed(original.map((item) => asObject(item)[key])));
  for (const item of patch.map(asObject)) {
    const value = keyOf(item, key);
    const index = places.get(value) ?? merged.length;
    const found = merged[index];
    merged[index] = isJsonObject(found) ? merge(found, item, items) : item;
    places.set(value, index);
  }
  return merged;
}

/** Each of the values with the place of its first occurrence. */
function indexed(values: List): (readonly [unknown, number])[] {
  return values.map((value, index) => [value, index] as const).reverse();
}

/**
 * Sorts what `order` names by it and the rest as in `original`; then each of the rest goes before the first of the others
 * that came after it in `original`.
 */
function inOrder(merged: List, order: List, original: List, key?: string): List {
  const identify = (item: unknown) => (key === undefined ? item : keyOf(asObject(item), key));
  const wanted = new Map(indexed(order.map(identify)));
  const before = new Map(indexed(original.map(identify)));
  const placeIn = (places: ReadonlyMap<unknown, number>) => (item: unknown) => places.get(identify(item));
  const named = sortedBy(
    merged.filter((item) => wanted.has(identify(item))),
    placeIn(wanted),
  );
  const rest = sortedBy(
    merged.filter((item) => !wanted.has(identify(item))),
    placeIn(before),
  );
  const result: unknown[] = [];
  let [nextNamed, nextOther] = [0, 0];
  while (nextNamed < named.length && nextOther < rest.length) {
    const place = before.get(identify(named[nextNamed])) ?? -1;
    const isOtherNext = (before.get(identify(rest[nextOther])) ?? 0) < place;
    result.push(isOtherNext ? rest[nextOther++] : named[nextNamed++]);
  }
  return [...result, ...named.slice(nextNamed), ...rest.slice(nextOther)];
}

/**
 * Items by their places. As on the real server, whose sorting inserts one after the other, one without a place goes ahead of
 * all that were before it, and stays ahead of what was then the first of those that have one.
 */
function sortedBy(items: List, placeOf: (item: unknown) => number | undefined): List {
  let first = Number.POSITIVE_INFINITY;
  const ranked = items.map((item, index) => {
    const place = placeOf(item);
    if (place === undefined) return { item, place: first, order: -1 - index };
    first = Math.min(first, place);
    return { item, place, order: index };
  });
  return ranked
    .sort((one, other) => (one.place === other.place ? one.order - other.order : one.place - other.place))
    .map(({ item }) => item);
}

/** @throws {ApiError} where a patch has its items in another order than the one that it asks for. */
function checkOrder(patch: List, order: List, key: string | undefined): void {
  if (patch.length === 0 || order.length === 0) return;
  const named = key === undefined ? patch : patch.map(asObject).filter((item) => item['$patch'] !== 'delete');
  const identify = (item: unknown) => (key === undefined ? item : keyOf(asObject(item), key));
  let [index, next] = [0, 0];
  while (index < named.length && next < order.length) {
    const item = named[index];
    if (isJsonObject(item) && Object.hasOwn(item, '$patch')) {
      index += 1;
    } else {
      if (identify(item) === identify(order[next])) index += 1;
      next += 1;
    }
  }
  if (index === named.length) return;
  throw plainError('the order of the items differs from $setElementOrder');
}

function keyOf(item: JsonObject, key: string): unknown {
  if (!Object.hasOwn(item, key)) throw plainError(`an item has no ${key}, which identifies it`);
  return item[key];
}

function asObject(item: unknown): JsonObject {
  if (!isJsonObject(item)) throw plainError('expected an object');
  return item;
}

/**
 * A value of a patch for a place where there is nothing yet: without nulls and without what only directives are about;
 * undefined where that is all of it.
 */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.some(([key]) => key === '$patch')) return undefined;
  return Object.fromEntries(
    entries
      .map(([key, each]) => [key, withoutDirectives(each)] as const)
      .filter(([, each]) => each !== undefined),
  );
}
