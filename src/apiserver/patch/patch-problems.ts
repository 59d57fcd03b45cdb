import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError } from '../errors/api-error.ts';
import { goText, goType } from './go-notation.ts';

/** What the real server answers to a patch that it has no better word for. */
export function failed(message: string): ApiError {
  return new ApiError(500, '', message);
}

export function noMergeKey(item: JsonObject, key: string): ApiError {
  return failed(`map: ${goText(item)} does not contain declared merge key: ${key}`);
}

export function unexpectedType(expected: 'list' | 'object', value: unknown): ApiError {
  const type = expected === 'list' ? '[]interface {}' : 'map[string]interface {}';
  return failed(`expected a ${type}, but received a ${value === null ? '%!s(<nil>)' : goType(value)}`);
}

export function unknownDirective(patch: JsonObject): ApiError {
  return failed(`unknown patch type: ${goString(patch['$patch'])} in map: ${goText(patch)}`);
}

/** A value as `%s` prints it, which is meant for text alone. */
function goString(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null) return '%!s(<nil>)';
  if (Array.isArray(value)) return `[${value.map(goString).join(' ')}]`;
  if (!isJsonObject(value)) return `%!s(${goType(value)}=${goText(value)})`;
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goString(value[key])}`).join(' ')}]`;
}
