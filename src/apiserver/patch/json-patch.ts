import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { Draft, memberOf, type OwnContainer, setMember } from './draft.ts';
import { jsonType } from './go-notation.ts';

/** Limit for everything that one patch copies, in bytes of JSON. */
const MAX_COPIED_BYTES = 256 * 1024;

/** The fields of an operation that have to be text. */
const TEXTS: readonly string[] = ['op', 'path', 'from'];
const FIELDS: readonly string[] = [...TEXTS, 'value'];

/**
 * Applies a JSON patch (RFC 6902) as the real server does, which is laxer than the standard: `replace` makes a member that
 * is not there, negative indices count from the end, `test` of something absent passes for null, a `copy` of a member that
 * is absent copies null, and what precedes the first slash of a path is not looked at.
 * @throws {ApiError} 400 if it is no list of operations, 422 if one of them cannot be done or they
 * copy too much.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  const draft = new Draft(document);
  const copied = { bytes: 0 };
  const operations = readOperations(patch);
  const root = withoutOverflow(() => {
    for (const operation of operations) perform(draft, operation, copied);
    return draft.finish();
  });
  if (isJsonObject(root)) return root;
  const problem =
    'couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  throw invalidObject({ group: '', name: '' }, '', [invalid('patch', JSON.stringify(root), problem)]);
}

/** Refuses copies of copies that are nested more deeply than the stack allows. @throws {ApiError} 422 */
function withoutOverflow<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof RangeError ? rejected() : error;
  }
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
  return patch.map(readOperation);
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
