import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { jsonType } from './go-notation.ts';

/** The most operations of one patch. */
const MAX_OPERATIONS = 10_000;

/** The fields of an operation that have to be text. */
const TEXTS: readonly string[] = ['op', 'path', 'from'];
const FIELDS: readonly string[] = [...TEXTS, 'value'];

type Container = JsonObject | readonly unknown[];

/**
 * Applies a JSON patch (RFC 6902) as the real server does, which is laxer than the standard: `replace` makes a member that
 * is not there, negative indices count from the end, `test` of something absent passes for null, a `copy` of a member that
 * is absent copies null, and what precedes the first slash of a path is not looked at.
 * @throws {ApiError} 400 if it is no list of operations, 413 if it has too many, 422 if one of them cannot be done.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  let root: unknown = document;
  for (const operation of readOperations(patch)) root = perform(root, operation);
  if (isJsonObject(root)) return root;
  const problem =
    'couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  throw invalidObject({ group: '', name: '' }, '', [invalid('patch', JSON.stringify(root), problem)]);
}

/** The paths of the fields that no operation has, `[0].comment`, of a patch that {@link applyJsonPatch} takes. */
export function unknownOperationFields(patch: unknown): string[] {
  return readOperations(patch).flatMap((operation, index) =>
    Object.keys(operation)
      .filter((field) => !FIELDS.includes(field))
      .map((field) => `[${index}].${field}`),
  );
}

function readOperations(patch: unknown): readonly JsonObject[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw unreadable(patch, 'value of type []handlers.jsonPatchOp');
  const operations = patch.map(readOperation);
  if (operations.length <= MAX_OPERATIONS) return operations;
  throw new ApiError(
    413,
    'RequestEntityTooLarge',
    `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`,
  );
}

function readOperation(value: unknown): JsonObject {
  if (value === null) return {};
  if (!isJsonObject(value)) throw unreadable(value, 'value of type handlers.jsonPatchOp');
  for (const [field, given] of Object.entries(value)) {
    if (given === null || typeof given === 'string' || !TEXTS.includes(field)) continue;
    throw unreadable(given, `struct field jsonPatchOp.${field} of type string`);
  }
  return value;
}

function unreadable(value: unknown, into: string): ApiError {
  return badRequest(`error decoding patch: json: cannot unmarshal ${jsonType(value)} into Go ${into}`);
}

/** Whatever is wrong with an operation, the real server says no more than this. */
function rejected(): ApiError {
  const message = 'the server rejected our request due to an error in our request';
  return new ApiError(422, 'Invalid', message, {});
}

function perform(root: unknown, operation: JsonObject): unknown {
  const { op, value = null } = operation;
  switch (op) {
    case 'add':
      return edit(root, tokens(operation, 'path'), (container, key) => add(container, key, value));
    case 'remove':
      return edit(root, tokens(operation, 'path'), remove);
    case 'replace':
      return replace(root, operation, value);
    case 'move': {
      const from = tokens(operation, 'from');
      const moved = read(root, from) ?? null;
      const rest = edit(root, from, remove);
      return edit(rest, tokens(operation, 'path'), (container, key) => add(container, key, moved));
    }
    case 'copy': {
      const copied = read(root, tokens(operation, 'from')) ?? null;
      return edit(root, tokens(operation, 'path'), (container, key) => add(container, key, copied));
    }
    case 'test': {
      const found = operation['path'] === '' ? root : read(root, tokens(operation, 'path'));
      if (!isDeepStrictEqual(found ?? null, value)) throw rejected();
      return root;
    }
    default:
      throw rejected();
  }
}

function replace(root: unknown, operation: JsonObject, value: unknown): unknown {
  if (operation['path'] === '') {
    if (!isContainer(value)) throw rejected();
    return value;
  }
  return edit(root, tokens(operation, 'path'), (container, key) => {
    if (isList(container)) get(container, key);
    return put(container, key, value);
  });
}

/** The decoded tokens of a JSON pointer, of which there has to be at least one. */
function tokens(operation: JsonObject, field: 'path' | 'from'): readonly string[] {
  const pointer = operation[field];
  if (typeof pointer !== 'string' || !pointer.includes('/')) throw rejected();
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is at a place whose container exists; undefined for a member that is not there. */
function read(node: unknown, [token = '', ...rest]: readonly string[]): unknown {
  if (!isContainer(node)) throw rejected();
  const child = get(node, token);
  return rest.length === 0 ? child : read(child, rest);
}

/** A copy of a value in which the container that the last token is about has been changed. */
function edit(
  node: unknown,
  [token = '', ...rest]: readonly string[],
  change: (container: Container, key: string) => Container,
): unknown {
  if (!isContainer(node)) throw rejected();
  if (rest.length === 0) return change(node, token);
  return put(node, token, edit(get(node, token), rest, change));
}

function get(container: Container, key: string): unknown {
  if (isList(container)) return container[itemIndex(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

/** The key is that of an existing item where the container is a list. */
function put(container: Container, key: string, value: unknown): Container {
  if (isList(container)) return container.with(itemIndex(key, container.length), value);
  return inOrder({ ...container, [key]: value });
}

function add(container: Container, key: string, value: unknown): Container {
  if (!isList(container)) return put(container, key, value);
  const end = container.length;
  return container.toSpliced(key === '-' ? end : itemIndex(key, end + 1), 0, value);
}

function remove(container: Container, key: string): Container {
  if (isList(container)) return container.toSpliced(itemIndex(key, container.length), 1);
  if (!Object.hasOwn(container, key)) throw rejected();
  const { [key]: _, ...rest } = container;
  return inOrder(rest);
}

/** The order in which the real server puts the members of what a patch touched, and complains of them. */
function inOrder(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The index that a token means among so many places. */
function itemIndex(token: string, places: number): number {
  if (!/^[+-]?\d+$/.test(token)) throw rejected();
  const number = Number(token);
  const index = number < 0 ? number + places : number;
  if (index < 0 || index >= places) throw rejected();
  return index;
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

function isList(container: Container): container is readonly unknown[] {
  return Array.isArray(container);
}
