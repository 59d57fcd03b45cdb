import { isJsonObject, type JsonObject } from '../../support/json.ts';

/**
 * JSON values in the words of a Go program: clients of the real server see them in its messages. Numbers are int64 there
 * if they are whole, else float64.
 */

/** A value as `%v` prints it: `map[a:1 b:[x <nil>]]`. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isJsonObject(value)) return String(value);
  const entries = sortedKeys(value).map((key) => `${key}:${goText(value[key])}`);
  return `map[${entries.join(' ')}]`;
}

/** A value as `%#v` prints it: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = sortedKeys(value).map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${entries.join(', ')}}`;
}

/** The type that a parsed value has, as `%T` prints it. */
export function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  return isJsonObject(value) ? 'map[string]interface {}' : scalarType(value);
}

/** The same, without the types of what is inside. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  return isJsonObject(value) ? 'map' : scalarType(value);
}

/** What Go's JSON reader calls a value. */
export function jsonType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function scalarType(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'string' ? 'string' : '<nil>';
}

function sortedKeys(value: JsonObject): string[] {
  return Object.keys(value).sort();
}
