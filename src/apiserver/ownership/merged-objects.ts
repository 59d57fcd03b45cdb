import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';
import { fieldElement, itemElement, type PathElement } from './path-element.ts';
import { isAtomic, itemsByElement, typeBelow } from './typed-fields.ts';

/** The live object with everything that a configuration says. Nothing is taken out of it. */
export function mergeObjects(schema: StructSchema, live: JsonObject, config: JsonObject): JsonObject {
  return mergeMembers(schema, live, config);
}

function merge(type: TypeSchema, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (isAtomic(type)) return config;
  if (type.kind === 'list') {
    const [items, given] = [Array.isArray(live) ? live : [], Array.isArray(config) ? config : []];
    return items.length === 0 && given.length === 0 ? config : mergeItems(type, items, given);
  }
  const [members, given] = [isJsonObject(live) ? live : {}, isJsonObject(config) ? config : {}];
  const isEmpty = Object.keys(members).length === 0 && Object.keys(given).length === 0;
  return isEmpty ? config : mergeMembers(type, members, given);
}

function mergeMembers(type: TypeSchema, live: JsonObject, config: JsonObject): JsonObject {
  const changed = Object.entries(config).map(([name, value]) => {
    const below = typeBelow(type, fieldElement(name));
    const found = Object.hasOwn(live, name) ? live[name] : undefined;
    return [name, below === undefined ? value : merge(below, found, value)];
  });
  return Object.fromEntries([...Object.entries(live), ...changed]);
}

/**
 * Both lists in one: the items of the configuration in its order, those of the live list alone where they were between
 * the others.
 */
function mergeItems(list: ListSchema, live: readonly unknown[], config: readonly unknown[]): unknown[] {
  const found = itemsByElement(list, live);
  const before = live.map((item) => itemElement(list, item));
  const wanted = config.map((item) => itemElement(list, item));
  const isWanted = new Set(wanted);
  const shared = wanted.filter((element) => found.has(element));
  const placed = new Set<PathElement>();
  const merged: unknown[] = [];
  let nextShared = 0;
  let index = 0;
  let at = 0;

  function placeNext(): void {
    const [element, item] = [wanted[index] ?? '', config[index]];
    const [same, ...others] = found.get(element) ?? [];
    // One that is there twice is not merged: what is given takes its place.
    merged.push(others.length === 0 ? merge(list.items, same, item) : item);
    placed.add(element);
    if (shared[nextShared] === element) nextShared += 1;
    index += 1;
  }

  while (index < config.length || at < live.length) {
    const element = before[at];
    const isLeft = index < config.length;
    if (element !== undefined && !isWanted.has(element)) {
      merged.push(live[at]);
      at += 1;
    } else if (element !== undefined && isLeft && element === wanted[index]) {
      placeNext();
      at += 1;
    } else if (
      element !== undefined &&
      isLeft &&
      nextShared < shared.length &&
      shared[nextShared] !== element
    ) {
      // It has been placed, or will be when the order of the configuration comes to it.
      at += 1;
    } else {
      if (element !== undefined && placed.has(element)) at += 1;
      if (isLeft) placeNext();
    }
  }
  return merged;
}

/** The object without these fields; what becomes empty by that is left as null. */
export function removeFields(type: TypeSchema, object: JsonObject, removed: FieldSet): JsonObject {
  const result = removeBelow(type, object, removed);
  return isJsonObject(result) ? result : {};
}

function removeBelow(type: TypeSchema, value: unknown, removed: FieldSet): unknown {
  if (type.kind === 'list') {
    if (!Array.isArray(value) || isAtomic(type)) return null;
    return removeItems(type, value, removed);
  }
  if (type.kind !== 'struct' && type.kind !== 'map') return value;
  if (!isJsonObject(value) || isAtomic(type)) return null;
  const kept = Object.entries(value).filter(([name]) => !removed.members.has(fieldElement(name)));
  const left = kept.map(([name, each]) => [name, withoutBelow(type, each, fieldElement(name), removed)]);
  return left.length === 0 ? null : Object.fromEntries(left);
}

function removeItems(list: ListSchema, items: readonly unknown[], removed: FieldSet): unknown {
  const kept = items.filter((item) => !removed.members.has(itemElement(list, item)));
  const left = kept.map((item) => withoutBelow(list, item, itemElement(list, item), removed));
  return left.length === 0 ? null : left;
}

function withoutBelow(type: TypeSchema, value: unknown, element: PathElement, removed: FieldSet): unknown {
  const child = removed.children.get(element);
  const below = typeBelow(type, element);
  if (child === undefined || isEmptySet(child) || below === undefined) return value;
  return removeBelow(below, value, child);
}
