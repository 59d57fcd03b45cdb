import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import {
  emptyFieldSet,
  type FieldSet,
  type FieldSetDraft,
  fieldElement,
  fieldName,
  insertPath,
  isEmptySet,
  itemElement,
  type Path,
  type PathElement,
} from './field-set.ts';

/** Whether a value of this type has one owner for all of its content. */
export function isAtomic(type: TypeSchema): boolean {
  if (type.kind === 'list') return type.listType === 'atomic';
  return type.kind === 'struct' ? type.isAtomic === true : type.kind !== 'map';
}

/** Returns the type that a path element leads to, or undefined if the schema does not know the element. */
export function typeBelow(type: TypeSchema, element: PathElement): TypeSchema | undefined {
  const name = fieldName(element);
  if (type.kind === 'list') return name === undefined ? type.items : undefined;
  if (name === undefined) return undefined;
  if (type.kind === 'map') return type.values;
  return type.kind === 'struct' && Object.hasOwn(type.fields, name) ? type.fields[name]?.type : undefined;
}

/** Returns every field of an object. An applier of the object owns these fields. Skips unknown fields. */
export function fieldSetOf(schema: StructSchema, object: JsonObject): FieldSet {
  const set = emptyFieldSet();
  visitMembers(schema, object, [], set);
  return set;
}

function visit(type: TypeSchema, value: unknown, path: Path, set: FieldSetDraft): void {
  if (isAtomic(type)) insertPath(set, path);
  else if (type.kind === 'list') visitItems(type, Array.isArray(value) ? value : [], path, set);
  else visitMembers(type, isJsonObject(value) ? value : {}, path, set);
}

function visitMembers(type: TypeSchema, object: JsonObject, path: Path, set: FieldSetDraft): void {
  for (const [name, value] of Object.entries(object)) {
    const below = typeBelow(type, fieldElement(name));
    if (below === undefined) continue;
    const place = [...path, fieldElement(name)];
    visit(below, value, place, set);
    // The fields of a struct have owners. The struct itself has an owner only if it has no fields.
    const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
    if (isEmpty || type.kind === 'map') insertPath(set, place);
  }
}

function visitItems(list: ListSchema, items: readonly unknown[], path: Path, set: FieldSetDraft): void {
  for (const [element, same] of itemsByElement(list, items)) {
    const place = [...path, element];
    insertPath(set, place);
    if (same.length === 1) visit(list.items, same[0], place, set);
  }
}

/**
 * Groups the items of a list by their path elements. A list may have duplicate items, because a plain update does not
 * reject them.
 */
export function itemsByElement(
  list: ListSchema,
  items: readonly unknown[],
): ReadonlyMap<PathElement, readonly unknown[]> {
  const found = new Map<PathElement, unknown[]>();
  for (const item of items) {
    const element = itemElement(list, item);
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
  }
  return found;
}

/** Adds each struct field that has members below it: managers own such a field in addition to its members. */
export function withNamedFields(type: TypeSchema | undefined, set: FieldSet): FieldSet {
  const named = [...set.children.keys()].filter(
    (element) => type?.kind === 'struct' && typeBelow(type, element) !== undefined,
  );
  const children = [...set.children].map(
    ([element, child]) => [element, withNamedFields(type && typeBelow(type, element), child)] as const,
  );
  return { members: new Set([...set.members, ...named]), children: new Map(children) };
}

/** Replaces fields below an atomic list or struct by the list or struct itself. Clients may send such fields. */
export function withAtomicFields(type: TypeSchema, set: FieldSet): FieldSet {
  const members = new Set(set.members);
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of set.children) {
    const below = typeBelow(type, element);
    const isWhole =
      below !== undefined && isAtomic(below) && (below.kind === 'list' || below.kind === 'struct');
    if (isWhole) members.add(element);
    else children.set(element, below === undefined ? child : withAtomicFields(below, child));
  }
  return { members, children };
}

/** The differences between two objects. The three sets have no field in common. */
export interface Comparison {
  readonly added: FieldSet;
  /** Fields that both objects have, with different values. */
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

interface ComparisonDraft {
  readonly added: FieldSetDraft;
  readonly modified: FieldSetDraft;
  readonly removed: FieldSetDraft;
}

/** Returns the fields that change from one object to the next. */
export function compareObjects(schema: StructSchema, from: JsonObject, to: JsonObject): Comparison {
  const found = { added: emptyFieldSet(), modified: emptyFieldSet(), removed: emptyFieldSet() };
  compareMembers(schema, from, to, [], found);
  return found;
}

/** `from` or `to` is undefined if the value is absent. */
function compare(type: TypeSchema, from: unknown, to: unknown, path: Path, found: ComparisonDraft): void {
  if (isAtomic(type) || (isHollow(from) && isHollow(to))) {
    const isSame = from !== undefined && to !== undefined && isDeepStrictEqual(from, to);
    if (!isSame) insertPath(changeOf(from, to, found), path);
    return;
  }
  if (type.kind === 'list') {
    compareItems(type, Array.isArray(from) ? from : [], Array.isArray(to) ? to : [], path, found);
  } else {
    compareMembers(type, isJsonObject(from) ? from : {}, isJsonObject(to) ? to : {}, path, found);
  }
  if (from === undefined || to === undefined) insertPath(changeOf(from, to, found), path);
}

function changeOf(from: unknown, to: unknown, found: ComparisonDraft): FieldSetDraft {
  if (from === undefined) return found.added;
  return to === undefined ? found.removed : found.modified;
}

/** Whether a value is a scalar, null, or an empty list or object. Such values are compared as a whole. */
function isHollow(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}

function compareMembers(
  type: TypeSchema,
  from: JsonObject,
  to: JsonObject,
  path: Path,
  found: ComparisonDraft,
): void {
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const element = fieldElement(name);
    const below = typeBelow(type, element);
    if (below === undefined) continue;
    compare(below, memberOf(from, name), memberOf(to, name), [...path, element], found);
  }
}

function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Compares the items of two lists. Duplicate items are compared as a whole. */
function compareItems(
  list: ListSchema,
  from: readonly unknown[],
  to: readonly unknown[],
  path: Path,
  found: ComparisonDraft,
): void {
  const before = itemsByElement(list, from);
  const after = itemsByElement(list, to);
  for (const element of new Set([...before.keys(), ...after.keys()])) {
    const place = [...path, element];
    const [olds, news] = [before.get(element), after.get(element)];
    if ((olds?.length ?? 0) < 2 && (news?.length ?? 0) < 2) {
      compare(list.items, olds?.[0], news?.[0], place, found);
    } else if (!isDeepStrictEqual(olds, news)) {
      insertPath(changeOf(olds, news, found), place);
    }
  }
}

/** Merges a configuration into the live object. Removes nothing. */
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

/** Merges two lists. The configuration's items keep their order. The other items keep their position relative to them. */
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
    // The configuration's item replaces all duplicate items of the live list. It is not merged with them.
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
      // Skip this item: the loop has added it already, or adds it later, in the order of the configuration.
      at += 1;
    } else {
      if (element !== undefined && placed.has(element)) at += 1;
      if (isLeft) placeNext();
    }
  }
  return merged;
}

/** Removes fields from an object. A value that becomes empty is replaced by null. */
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
