import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { Draft, memberOf, type OwnContainer, setMember } from './draft.ts';

/** The most operations of one patch. */
const MAX_OPERATIONS = 10_000;

/** The most that the copies of one patch may add up to, in bytes of JSON: as much as a request may have. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/** The fields of an operation that have to be text. */
const TEXTS: readonly string[] = ['op', 'path', 'from'];
const FIELDS: readonly string[] = [...TEXTS, 'value'];

/**
 * Applies a JSON patch (RFC 6902) as the real server does, which is laxer than the standard: `replace` makes a member that
 * is not there, negative indices count from the end, `test` of something absent passes for null, a `copy` of a member that
 * is absent copies null, and what precedes the first slash of a path is not looked at.
 * @throws {ApiError} 400 if it is no list of operations, 413 if it has too many, 422 if one of them cannot be done or they
 * copy too much.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  const draft = new Draft(document);
  const copied = { bytes: 0 };
  for (const operation of readOperations(patch)) perform(draft, operation, copied);
  const root = draft.finish();
  if (isJsonObject(root)) return root;
  throw invalidObject({ group: '', name: '' }, '', [invalid('patch', root, 'leads to a list')]);
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
  if (!Array.isArray(patch)) throw badRequest('a JSON patch must be a list of operations');
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
  if (!isJsonObject(value)) throw badRequest('an operation of a JSON patch must be an object');
  for (const [field, given] of Object.entries(value)) {
    if (given === null || typeof given === 'string' || !TEXTS.includes(field)) continue;
    throw badRequest(`${field} of an operation of a JSON patch must be a string`);
  }
  return value;
}

/** Whatever is wrong with an operation, the real server says no more than this. */
function rejected(): ApiError {
  const message = 'the server rejected our request due to an error in our request';
  return new ApiError(422, 'Invalid', message, {});
}

/** How much the copies of a patch have added up to. */
interface Copied {
  bytes: number;
}

function perform(draft: Draft, operation: JsonObject, copied: Copied): void {
  const { op, value = null } = operation;
  switch (op) {
    case 'add':
      add(...place(draft, operation, 'path'), value);
      break;
    case 'remove':
      remove(...place(draft, operation, 'path'));
      break;
    case 'replace':
      replace(draft, operation, value);
      break;
    case 'move': {
      const moved = read(draft, operation, 'from') ?? null;
      remove(...place(draft, operation, 'from'));
      add(...place(draft, operation, 'path'), moved);
      break;
    }
    case 'copy': {
      const original = read(draft, operation, 'from') ?? null;
      const target = place(draft, operation, 'path');
      add(...target, copyOf(original, copied));
      break;
    }
    case 'test': {
      const found = operation['path'] === '' ? draft.root : read(draft, operation, 'path');
      if (!isDeepStrictEqual(found ?? null, value)) throw rejected();
      break;
    }
    default:
      throw rejected();
  }
}

function copyOf(value: unknown, copied: Copied): unknown {
  if (value === null) return null;
  const json = JSON.stringify(value);
  copied.bytes += Buffer.byteLength(json);
  if (copied.bytes > MAX_COPIED_BYTES) throw rejected();
  return JSON.parse(json);
}

function replace(draft: Draft, operation: JsonObject, value: unknown): void {
  if (operation['path'] === '') {
    if (typeof value !== 'object' || value === null) throw rejected();
    draft.root = value;
    return;
  }
  const [container, key] = place(draft, operation, 'path');
  if (Array.isArray(container)) container[itemIndex(key, container.length)] = value;
  else setMember(container, key, value);
}

function add(container: OwnContainer, key: string, value: unknown): void {
  if (!Array.isArray(container)) setMember(container, key, value);
  else if (key === '-') container.push(value);
  else container.splice(itemIndex(key, container.length + 1), 0, value);
}

function remove(container: OwnContainer, key: string): void {
  if (Array.isArray(container)) {
    container.splice(itemIndex(key, container.length), 1);
  } else {
    if (!Object.hasOwn(container, key)) throw rejected();
    delete container[key];
  }
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

/** The container that a pointer's last token is about, ready to be changed, and that token. */
function place(
  draft: Draft,
  operation: JsonObject,
  field: 'path' | 'from',
): readonly [container: OwnContainer, key: string] {
  const path = tokens(operation, field);
  let container = draft.ownRoot();
  for (const token of path.slice(0, -1)) {
    if (container === undefined) break;
    const key = Array.isArray(container) ? itemIndex(token, container.length) : token;
    container = draft.ownChild(container, key);
  }
  if (container === undefined) throw rejected();
  return [container, path.at(-1) ?? ''];
}

/** What is at a place whose container exists; undefined for a member that is not there. */
function read(draft: Draft, operation: JsonObject, field: 'path' | 'from'): unknown {
  let node = draft.root;
  for (const token of tokens(operation, field)) {
    if (Array.isArray(node)) node = node[itemIndex(token, node.length)];
    else if (isJsonObject(node)) node = memberOf(node, token);
    else throw rejected();
  }
  return node;
}

/** The index that a token means among so many places. */
function itemIndex(token: string, places: number): number {
  if (!/^[+-]?\d+$/.test(token)) throw rejected();
  const number = Number(token);
  const index = number < 0 ? number + places : number;
  if (index < 0 || index >= places) throw rejected();
  return index;
}
