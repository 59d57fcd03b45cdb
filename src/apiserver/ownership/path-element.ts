import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { goText } from '../patch/go-notation.ts';
import { goJson, goQuote } from '../schema/go-text.ts';
import type { ListSchema } from '../schema/schema.ts';

/**
 * One step of the way to a field, in the notation of FieldsV1, in which there is only one way to write each:
 * `f:name` a field or a key of a map, `k:{"uid":"x"}` the item with that key, `v:"x"` the item of a set, `i:0` an index.
 */
export type PathElement = string;

/** A text is no element of a path. */
export class PathElementError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PathElementError';
  }
}

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The name of a field or the key of a map; undefined for an item of a list. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** The element for an item of a list that is a set or has keys; a key that the item lacks has its default. */
export function itemElement(list: ListSchema, item: unknown): PathElement {
  if (list.listType !== 'map' || !isJsonObject(item)) return `v:${goJson(item)}`;
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
  return `k:${goJson(Object.fromEntries(names.map((name) => [name, key[name]])))}`;
}

/**
 * Reads an element in whatever way it is written; undefined if it is of a kind that nobody knows yet.
 * @throws {PathElementError}
 */
export function parseElement(text: string): PathElement | undefined {
  if (text.length < 2 || text[1] !== ':') throw new PathElementError(`missing colon: ${text}`);
  const content = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return `v:${goJson(parseJson(content))}`;
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

/** The order in which the real server writes elements. */
export function compareElements(one: PathElement, other: PathElement): number {
  const kinds = 'fkvi';
  const difference = kinds.indexOf(one.charAt(0)) - kinds.indexOf(other.charAt(0));
  if (difference !== 0) return difference;
  if (one.startsWith('f:')) return compare(one, other);
  if (one.startsWith('i:')) return Number(one.slice(2)) - Number(other.slice(2));
  return compareValues(JSON.parse(one.slice(2)), JSON.parse(other.slice(2)));
}

/** Numbers come before text, text before truth values, these before keys, and null last. */
function compareValues(one: unknown, other: unknown): number {
  const kinds = ['number', 'string', 'boolean', 'object'];
  const kindOf = (value: unknown) => (value === null ? kinds.length : kinds.indexOf(typeof value));
  const difference = kindOf(one) - kindOf(other);
  if (difference !== 0) return difference;
  if (isJsonObject(one) && isJsonObject(other)) return compareKeys(one, other);
  return compare(one, other);
}

function compareKeys(one: JsonObject, other: JsonObject): number {
  const [names, otherNames] = [Object.keys(one), Object.keys(other)];
  for (const [index, name] of names.entries()) {
    const otherName = otherNames[index];
    if (otherName === undefined) return 1;
    const difference = compare(name, otherName) || compareValues(one[name], other[otherName]);
    if (difference !== 0) return difference;
  }
  return names.length - otherNames.length;
}

function compare(one: unknown, other: unknown): number {
  if (one === other) return 0;
  return (one as string) < (other as string) ? -1 : 1;
}

/** A path as messages show it: `.metadata.ownerReferences[uid="x"].name`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join('');
}

/** One element of {@link pathText}. */
export function elementText(element: PathElement): string {
  const content = element.slice(2);
  if (element.startsWith('f:')) return `.${content}`;
  if (element.startsWith('i:')) return `[${content}]`;
  const value: unknown = JSON.parse(content);
  if (!element.startsWith('k:') || !isJsonObject(value)) return `[=${valueText(value)}]`;
  const fields = Object.entries(value).map(([name, each]) => `${name}=${valueText(each)}`);
  return `[${fields.join(',')}]`;
}

function valueText(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? goQuote(value) : goText(value);
}
