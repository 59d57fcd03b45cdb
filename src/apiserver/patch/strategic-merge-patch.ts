import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { badRequest, plainError } from '../errors/api-error.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { mergeList, orderList, removeItems } from './list-patch.ts';
import { withoutDirectives } from './patch-directives.ts';

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
  for (const [key, value] of inOrder(rest)) {
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
function inOrder(patch: JsonObject): readonly (readonly [string, unknown])[] {
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
