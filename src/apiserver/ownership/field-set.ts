import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { compareElements, type PathElement, PathElementError, parseElement } from './path-element.ts';

/** A set of fields, each named by its path. That a field is in the set says nothing of the fields below it. */
export interface FieldSet {
  /** The fields right here. */
  readonly members: ReadonlySet<PathElement>;
  /** What is in the set below them; none of these is empty. */
  readonly children: ReadonlyMap<PathElement, FieldSet>;
}

/** A {@link FieldSet} that is being put together. */
export interface FieldSetDraft extends FieldSet {
  readonly members: Set<PathElement>;
  readonly children: Map<PathElement, FieldSetDraft>;
}

export type Path = readonly PathElement[];

export function emptyFieldSet(): FieldSetDraft {
  return { members: new Set(), children: new Map() };
}

/** Adds a field. The empty path is that of the whole object, which nobody owns. */
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

/** Every path of the set in the order of messages: the fields of one place before those below them. */
export function pathsOf(set: FieldSet, prefix: Path = []): Path[] {
  const members = [...set.members].sort(compareElements).map((element) => [...prefix, element]);
  const below = [...set.children].sort(([one], [other]) => compareElements(one, other));
  return [...members, ...below.flatMap(([element, child]) => pathsOf(child, [...prefix, element]))];
}

/** The notation of managedFields: `{"f:spec":{".":{},"f:holderIdentity":{}}}`, in the real server's order. */
export function toFieldsV1({ members, children }: FieldSet): JsonObject {
  const elements = [...new Set([...members, ...children.keys()])].sort(compareElements);
  return Object.fromEntries(
    elements.map((element) => {
      const child = children.get(element);
      if (child === undefined) return [element, {}];
      return [element, { ...(members.has(element) && { '.': {} }), ...toFieldsV1(child) }];
    }),
  );
}

/** No type of the API has fields below so many others; what is nested more deeply would exhaust the stack of who walks it. */
const MOST_LEVELS = 100;

/**
 * Reads {@link toFieldsV1}'s notation. Elements of a kind that nobody knows are left out.
 * @throws {PathElementError} where it is something else.
 */
export function fromFieldsV1(fields: JsonObject, level = 1): FieldSet {
  if (level > MOST_LEVELS) throw new PathElementError('fields are nested too deeply');
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
