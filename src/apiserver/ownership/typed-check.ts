import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { goSyntax, goText, goType } from '../patch/go-notation.ts';
import type { ListSchema, MapSchema, ScalarSchema, StructSchema, TypeSchema } from '../schema/schema.ts';
import { elementText, fieldElement, itemElement } from './path-element.ts';
import { typeBelow } from './typed-fields.ts';

interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * Whether a configuration fits its schema: it must have no unknown fields, no item twice and no value of another type,
 * but null may be anywhere.
 * @returns what is wrong with it, in the words of the real server; undefined: nothing.
 */
export function checkConfiguration(schema: StructSchema, config: JsonObject): string | undefined {
  const problems = check(schema, config).map(({ path, message }) =>
    path === '' ? message : `${path}: ${message}`,
  );
  return problems.length < 2 ? problems[0] : `errors:\n${problems.map((each) => `  ${each}`).join('\n')}`;
}

function check(type: TypeSchema, value: unknown): readonly Problem[] {
  if (value === null) return [];
  switch (type.kind) {
    case 'struct':
    case 'map':
      return isJsonObject(value) ? checkMembers(type, value) : wrong(`expected map, got &{${goText(value)}}`);
    case 'list':
      return Array.isArray(value) ? checkItems(type, value) : wrong(`expected list, got &{${goText(value)}}`);
    case 'opaque':
      return [];
    default:
      return checkScalar(type, value);
  }
}

function checkScalar({ kind }: ScalarSchema, value: unknown): readonly Problem[] {
  switch (kind) {
    case 'string':
      if (typeof value === 'string') return [];
      return wrong(`expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : wrong(`expected boolean, got &{${goText(value)}}`);
    case 'time':
    case 'microTime':
      return typeof value === 'object' ? wrong(`expected any scalar, got &{${goText(value)}}`) : [];
    default:
      if (typeof value === 'number') return [];
      return wrong(`expected numeric (int or float), got ${goType(value)}`);
  }
}

/** The first field that is not known ends the search, in this object. */
function checkMembers(type: StructSchema | MapSchema, value: JsonObject): readonly Problem[] {
  const problems: Problem[] = [];
  for (const name of Object.keys(value).sort()) {
    const element = fieldElement(name);
    const below = typeBelow(type, element);
    const found = below === undefined ? wrong('field not declared in schema') : check(below, value[name]);
    problems.push(...under(elementText(element), found));
    if (below === undefined) break;
  }
  return problems;
}

function checkItems(list: ListSchema, items: readonly unknown[]): readonly Problem[] {
  if (list.listType === 'atomic') {
    return items.flatMap((item, index) => under(`[${index}]`, check(list.items, item)));
  }
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const unfit = unfitItem(list, item);
    if (unfit !== undefined) return [...problems, ...wrong(`element ${index}: ${unfit}`)];
    const element = itemElement(list, item);
    const text = elementText(element);
    if (seen.has(element)) problems.push(...wrong(`duplicate entries for key ${text}`));
    seen.add(element);
    problems.push(...under(text, check(list.items, item)));
  }
  return problems;
}

/** Why an item cannot be told from others; undefined: it can. */
function unfitItem(list: ListSchema, item: unknown): string | undefined {
  if (list.listType === 'map') {
    if (item === null) return 'associative list with keys may not have a null element';
    if (!isJsonObject(item)) return 'associative list with keys may not have non-map elements';
    if (itemElement(list, item) !== 'k:{}') return undefined;
    const keys = `[${(list.keys ?? []).map((key) => JSON.stringify(key)).join(' ')}]`;
    return `associative list with keys has an element that omits all key fields ${keys} (and doesn't have default values for any key fields)`;
  }
  if (item === null) return "associative list without keys has an element that's an explicit null";
  if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
  return isJsonObject(item) ? "associative list without keys has an element that's a map type" : undefined;
}

function wrong(message: string): readonly Problem[] {
  return [{ path: '', message }];
}

function under(prefix: string, problems: readonly Problem[]): readonly Problem[] {
  return problems.map(({ path, message }) => ({ path: prefix + path, message }));
}
