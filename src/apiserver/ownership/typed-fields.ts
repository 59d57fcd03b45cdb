import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ListSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { emptyFieldSet, type FieldSet, type FieldSetDraft, insertPath, type Path } from './field-set.ts';
import { fieldElement, fieldName, itemElement, type PathElement } from './path-element.ts';

/** Whether a value of this type is owned as one, whatever is in it. */
export function isAtomic(type: TypeSchema): boolean {
  if (type.kind === 'list') return type.listType === 'atomic';
  return type.kind === 'struct' ? type.isAtomic === true : type.kind !== 'map';
}

/** The type of what an element of a path leads to; undefined where the schema does not know it. */
export function typeBelow(type: TypeSchema, element: PathElement): TypeSchema | undefined {
  const name = fieldName(element);
  if (type.kind === 'list') return name === undefined ? type.items : undefined;
  if (name === undefined) return undefined;
  if (type.kind === 'map') return type.values;
  return type.kind === 'struct' && Object.hasOwn(type.fields, name) ? type.fields[name]?.type : undefined;
}

/** Every field that an object mentions: what an applier of it owns. Fields that the schema does not know are not among them. */
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
    // Of a struct, the fields are owned and not the struct, unless it has none.
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

/** The items of a list, those together that are the same item; what was stored long ago may have one twice. */
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

/** The set with the fields of structs as members that lead to other members, as if they were owned, too. */
export function withNamedFields(type: TypeSchema | undefined, set: FieldSet): FieldSet {
  const named = [...set.children.keys()].filter(
    (element) => type?.kind === 'struct' && typeBelow(type, element) !== undefined,
  );
  const children = [...set.children].map(
    ([element, child]) => [element, withNamedFields(type && typeBelow(type, element), child)] as const,
  );
  return { members: new Set([...set.members, ...named]), children: new Map(children) };
}

/** The set where what is below a value that is owned as one stands for that value. Clients may send anything. */
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
