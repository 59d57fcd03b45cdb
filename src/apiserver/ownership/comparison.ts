import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { emptyFieldSet, type FieldSet, type FieldSetDraft, insertPath, type Path } from './field-set.ts';
import { fieldElement } from './path-element.ts';
import { isAtomic, itemsByElement, typeBelow } from './typed-fields.ts';

/** How one object differs from another. No field is in two of these. */
export interface Comparison {
  readonly added: FieldSet;
  /** Fields that both have, with other values. */
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

interface ComparisonDraft {
  readonly added: FieldSetDraft;
  readonly modified: FieldSetDraft;
  readonly removed: FieldSetDraft;
}

/** Which fields change from one object to the next. */
export function compareObjects(schema: StructSchema, from: JsonObject, to: JsonObject): Comparison {
  const found = { added: emptyFieldSet(), modified: emptyFieldSet(), removed: emptyFieldSet() };
  compareMembers(schema, from, to, [], found);
  return found;
}

/** Undefined: it is not there. */
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

/** Whether a list or an object has nothing in it; then it is compared as a whole, so that null and empty differ. */
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
    const [olds, news] = [before.get(element) ?? [], after.get(element) ?? []];
    if (olds.length < 2 && news.length < 2) {
      compare(list.items, olds[0], news[0], place, found);
    } else if (olds.length >= 2 && news.length >= 2) {
      if (!isDeepStrictEqual(olds, news)) insertPath(found.modified, place);
    } else if (olds.length >= 2) {
      if (news.length > 0) compare(list.items, undefined, news[0], place, found);
      insertPath(found.removed, place);
    } else {
      if (olds.length > 0) compare(list.items, olds[0], undefined, place, found);
      insertPath(found.added, place);
    }
  }
}
