import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';

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
  throw invalidObject({ group: '', name: '' }, '', [invalid('patch', root, 'leads to a list')]);
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
  if (!Array.isArray(patch)) throw badRequest('a JSON patch must be a list of operations');
  return patch.map(readOperation);
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

/** A container of a draft that may be changed: it is a copy that only the draft has. */
type OwnContainer = Record<string, unknown> | unknown[];

/**
 * A JSON document that is being changed, which leaves the one that it was made of as it was: whatever is about to be changed
 * is copied first, once. Many changes of one large object cost no more than one copy of it and the changes.
 */
class Draft {
  #root: unknown;
  readonly #own = new Set<object>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** What is there now. Not to be changed by the caller. */
  get root(): unknown {
    return this.#root;
  }

  set root(value: unknown) {
    this.#root = value;
  }

  /** The root, ready to be changed; undefined: it is no container. */
  ownRoot(): OwnContainer | undefined {
    const own = this.#ownCopy(this.#root);
    if (own !== undefined) this.#root = own;
    return own;
  }

  /** The member or item at an existing place of a container, ready to be changed; undefined: it is no container. */
  ownChild(container: OwnContainer, key: string | number): OwnContainer | undefined {
    const child = Array.isArray(container) ? container[Number(key)] : memberOf(container, String(key));
    const own = this.#ownCopy(child);
    if (own === undefined || own === child) return own;
    if (Array.isArray(container)) container[Number(key)] = own;
    else setMember(container, String(key), own);
    return own;
  }

  /** The document as it has become. Objects that were changed have their members in the order of their names. */
  finish(): unknown {
    return this.#finished(this.#root);
  }

  #ownCopy(value: unknown): OwnContainer | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    if (this.#own.has(value)) return value as OwnContainer;
    const copy: OwnContainer = Array.isArray(value) ? [...value] : { ...value };
    this.#own.add(copy);
    return copy;
  }

  #finished(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || !this.#own.has(value)) return value;
    if (!isJsonObject(value)) return (value as unknown[]).map((item) => this.#finished(item));
    // The order in which the real server puts the members of what a patch touched, and complains of them.
    const entries = Object.entries(value).map(([key, each]): [string, unknown] => [
      key,
      this.#finished(each),
    ]);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Undefined: it is not there. */
function memberOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a member of an object, whatever its name is. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
