import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ListSchema } from '../schema/schema.ts';

/** A set of fields. Each field is a path. A field in the set does not include the fields below it. */
export interface FieldSet {
  /** The fields at this level. */
  readonly members: ReadonlySet<PathElement>;
  /** The fields below this level, by element. None of the sets is empty. */
  readonly children: ReadonlyMap<PathElement, FieldSet>;
}

/** A {@link FieldSet} under construction. */
export interface FieldSetDraft extends FieldSet {
  readonly members: Set<PathElement>;
  readonly children: Map<PathElement, FieldSetDraft>;
}

export type Path = readonly PathElement[];

export function emptyFieldSet(): FieldSetDraft {
  return { members: new Set(), children: new Map() };
}

/** Adds a field. Ignores the empty path: it means the whole object, which has no owner. */
export function insertPath(set: FieldSetDraft, path: Path): void {
  const [element, ...below] = path;
  if (element === undefined) return;
  if (below.length === 0) {
    set.members.add(element);
    return;
  }
  const child = set.children.get(element) ?? emptyFieldSet();
  set.children.set(element, child);
  insertPath(child, below);
}

export function fieldSetOfPaths(paths: Iterable<Path>): FieldSet {
  const set = emptyFieldSet();
  for (const path of paths) insertPath(set, path);
  return set;
}

export function isEmptySet({ members, children }: FieldSet): boolean {
  return members.size === 0 && children.size === 0;
}

export function hasPath(set: FieldSet, path: Path): boolean {
  const [element, ...below] = path;
  if (element === undefined) return false;
  if (below.length === 0) return set.members.has(element);
  const child = set.children.get(element);
  return child !== undefined && hasPath(child, below);
}

export function union(one: FieldSet, other: FieldSet): FieldSet {
  const children = new Map(one.children);
  for (const [element, child] of other.children) {
    const found = children.get(element);
    children.set(element, found === undefined ? child : union(found, child));
  }
  return { members: new Set([...one.members, ...other.members]), children };
}

export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  return {
    members: new Set([...one.members].filter((element) => other.members.has(element))),
    children: keepChildren(one, (child, element) => {
      const found = other.children.get(element);
      return found === undefined ? undefined : intersection(child, found);
    }),
  };
}

export function difference(one: FieldSet, other: FieldSet): FieldSet {
  return {
    members: new Set([...one.members].filter((element) => !other.members.has(element))),
    children: keepChildren(one, (child, element) => {
      const found = other.children.get(element);
      return found === undefined ? child : difference(child, found);
    }),
  };
}

function keepChildren(
  set: FieldSet,
  keep: (child: FieldSet, element: PathElement) => FieldSet | undefined,
): ReadonlyMap<PathElement, FieldSet> {
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of set.children) {
    const kept = keep(child, element);
    if (kept !== undefined && !isEmptySet(kept)) children.set(element, kept);
  }
  return children;
}

/** Returns every path of the set, sorted. A field comes before the fields below it. */
export function pathsOf(set: FieldSet, prefix: Path = []): Path[] {
  const members = [...set.members].sort().map((element) => [...prefix, element]);
  const below = [...set.children].sort(([one], [other]) => (one < other ? -1 : 1));
  return [...members, ...below.flatMap(([element, child]) => pathsOf(child, [...prefix, element]))];
}

/** Writes the notation of managedFields: `{"f:spec":{".":{},"f:holderIdentity":{}}}`. */
export function toFieldsV1({ members, children }: FieldSet): JsonObject {
  const elements = [...new Set([...members, ...children.keys()])].sort();
  return Object.fromEntries(
    elements.map((element) => {
      const child = children.get(element);
      if (child === undefined) return [element, {}];
      return [element, { ...(members.has(element) && { '.': {} }), ...toFieldsV1(child) }];
    }),
  );
}

/**
 * Maximum depth of managedFields. No API type is so deep. A deeper structure would exhaust the stack of recursive code.
 */
const MAX_LEVELS = 100;

/** Reads the notation of {@link toFieldsV1}. Drops unknown kinds of elements. @throws {PathElementError} */
export function fromFieldsV1(fields: JsonObject, level = 1): FieldSet {
  if (level > MAX_LEVELS) throw new PathElementError('fields are nested too deeply');
  const set = emptyFieldSet();
  for (const [text, value] of Object.entries(fields)) {
    const element = text === '.' ? undefined : parseElement(text);
    if (element === undefined) continue;
    if (value !== null && !isJsonObject(value)) throw new PathElementError(`not a set of fields: ${text}`);
    const child = fromFieldsV1(value ?? {}, level + 1);
    const isMember = isEmptySet(child) || Object.hasOwn(value ?? {}, '.');
    if (isMember) set.members.add(element);
    if (!isEmptySet(child)) set.children.set(element, child as FieldSetDraft);
  }
  return set;
}

/**
 * One step of the path to a field, in the notation of FieldsV1. Each step has exactly one text: `f:name` for a field or a
 * key of a map, `k:{"uid":"x"}` for the item with that key, `v:"x"` for the item of a set, `i:0` for an index.
 */
export type PathElement = string;

/** A text is not a valid path element. */
export class PathElementError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PathElementError';
  }
}

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** Returns the name of a field or the key of a map; undefined for an item of a list. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** Returns the element of an item in a list of type set or map. An absent key counts as its default. */
export function itemElement(list: ListSchema, item: unknown): PathElement {
  if (list.listType !== 'map' || !isJsonObject(item)) return `v:${JSON.stringify(item)}`;
  const key: Record<string, unknown> = {};
  for (const name of list.keys ?? []) {
    const value = Object.hasOwn(item, name) ? item[name] : defaultOf(list, name);
    if (value !== undefined) key[name] = value;
  }
  return keyElement(key);
}

function defaultOf({ items }: ListSchema, name: string): unknown {
  const isText = items.kind === 'struct' && items.fields[name]?.zero === 'fill';
  return isText ? '' : undefined;
}

function keyElement(key: JsonObject): PathElement {
  const names = Object.keys(key).sort();
  return `k:${JSON.stringify(Object.fromEntries(names.map((name) => [name, key[name]])))}`;
}

/** Reads an element in any spelling. Returns undefined for an unknown kind of element. @throws {PathElementError} */
export function parseElement(text: string): PathElement | undefined {
  if (text.length < 2 || text[1] !== ':') throw new PathElementError(`missing colon: ${text}`);
  const content = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return `v:${JSON.stringify(parseJson(content))}`;
    case 'k': {
      const key = parseJson(content);
      if (!isJsonObject(key)) throw new PathElementError(`not a key: ${text}`);
      return keyElement(key);
    }
    case 'i':
      if (!/^[+-]?\d+$/.test(content)) throw new PathElementError(`not an index: ${text}`);
      return `i:${Number(content)}`;
    default:
      return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PathElementError(`not JSON: ${text}`, { cause });
  }
}

/** Formats a path for messages: `.metadata.ownerReferences[uid="x"].name`. */
export function pathText(path: Path): string {
  return path.map(elementText).join('');
}

function elementText(element: PathElement): string {
  const content = element.slice(2);
  if (element.startsWith('f:')) return `.${content}`;
  if (element.startsWith('i:')) return `[${content}]`;
  const value: unknown = JSON.parse(content);
  if (!element.startsWith('k:') || !isJsonObject(value)) return `[=${content}]`;
  const fields = Object.entries(value).map(([name, each]) => `${name}=${JSON.stringify(each)}`);
  return `[${fields.join(',')}]`;
}
