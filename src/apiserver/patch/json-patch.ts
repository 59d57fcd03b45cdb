import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { ApiError, badRequest, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';

/** The limit for all copies of one patch, in bytes of JSON. */
const MAX_COPIED_BYTES = 256 * 1024;

/** The fields of an operation that must be strings. */
const TEXTS: readonly string[] = ['op', 'path', 'from'];
const FIELDS: readonly string[] = [...TEXTS, 'value'];

/**
 * Applies a JSON patch (RFC 6902) as kube-apiserver does. kube-apiserver differs from the standard:
 * - `replace` creates a missing member.
 * - Negative indices count from the end.
 * - `test` treats a missing member as null.
 * - `copy` of a missing member copies null.
 * - The text before the first slash of a path is ignored.
 * @throws {ApiError} 400 if the patch is not a list of operations, 422 if an operation fails or the patch copies too
 * much.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): JsonObject {
  const operations = readOperations(patch);
  const root = new PatchedDocument(document).apply(operations);
  if (isJsonObject(root)) return root;
  throw invalidObject({ group: '', name: '' }, '', [invalid('patch', root, 'leads to a list')]);
}

/** Returns the paths of unknown fields in operations: `[0].comment`. */
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
  return patch.map((operation) => {
    if (operation === null) return {};
    if (!isJsonObject(operation)) throw badRequest('an operation of a JSON patch must be an object');
    const wrong = TEXTS.find((field) => !isTextOrNull(operation[field]));
    if (wrong) throw badRequest(`${wrong} of an operation of a JSON patch must be a string`);
    return operation;
  });
}

function isTextOrNull(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string';
}

/** kube-apiserver has one message for all problems of an operation. */
function rejected(): ApiError {
  const message = 'the server rejected our request due to an error in our request';
  return new ApiError(422, 'Invalid', message, {});
}

type Container = Record<string, unknown> | unknown[];
/** A container and the key of a member or an item in it. The member or item may be absent. */
type Place = readonly [container: Container, key: string];

class PatchedDocument {
  #root: unknown;
  #copiedBytes = 0;

  constructor(document: JsonObject) {
    this.#root = structuredClone(document);
  }

  apply(operations: readonly JsonObject[]): unknown {
    try {
      for (const operation of operations) this.#perform(operation);
      return this.#root;
    } catch (error) {
      // Nested copies can be too deep for the stack.
      throw error instanceof RangeError ? rejected() : error;
    }
  }

  #perform({ op, path, from, value = null }: JsonObject): void {
    switch (op) {
      case 'add':
        add(this.#place(path), structuredClone(value));
        break;
      case 'remove':
        remove(this.#place(path));
        break;
      case 'replace':
        this.#replace(path, structuredClone(value));
        break;
      case 'move': {
        const moved = read(this.#place(from)) ?? null;
        remove(this.#place(from));
        add(this.#place(path), moved);
        break;
      }
      case 'copy': {
        const original = read(this.#place(from)) ?? null;
        add(this.#place(path), this.#copyOf(original));
        break;
      }
      case 'test': {
        const found = path === '' ? this.#root : read(this.#place(path));
        if (!isDeepStrictEqual(found ?? null, value)) throw rejected();
        break;
      }
      default:
        throw rejected();
    }
  }

  #replace(path: unknown, value: unknown): void {
    if (path === '') {
      if (typeof value !== 'object' || value === null) throw rejected();
      this.#root = value;
      return;
    }
    const [container, key] = this.#place(path);
    if (Array.isArray(container)) container[itemIndex(key, container.length)] = value;
    else setMember(container, key, value);
  }

  #copyOf(value: unknown): unknown {
    const json = JSON.stringify(value);
    if (value !== null) this.#copiedBytes += Buffer.byteLength(json);
    if (this.#copiedBytes > MAX_COPIED_BYTES) throw rejected();
    return JSON.parse(json);
  }

  /** @throws {ApiError} 422 if the pointer has no slash or passes through a value that is not a container. */
  #place(pointer: unknown): Place {
    if (typeof pointer !== 'string' || !pointer.includes('/')) throw rejected();
    const tokens = pointer.split('/').slice(1);
    const keys = tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop() ?? '';
    let container = containerOf(this.#root);
    for (const key of keys) container = containerOf(read([container, key]));
    return [container, last];
  }
}

function containerOf(value: unknown): Container {
  if (typeof value !== 'object' || value === null) throw rejected();
  return value as Container;
}

/** Returns undefined for an absent member. @throws {ApiError} 422 for an absent item. */
function read([container, key]: Place): unknown {
  if (Array.isArray(container)) return container[itemIndex(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function add([container, key]: Place, value: unknown): void {
  if (!Array.isArray(container)) setMember(container, key, value);
  else if (key === '-') container.push(value);
  else container.splice(itemIndex(key, container.length + 1), 0, value);
}

function remove([container, key]: Place): void {
  if (Array.isArray(container)) container.splice(itemIndex(key, container.length), 1);
  else if (!Object.hasOwn(container, key)) throw rejected();
  else delete container[key];
}

/** Unlike an assignment, defineProperty accepts the key `__proto__`. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the list index that a token names. @throws {ApiError} 422 */
function itemIndex(token: string, length: number): number {
  const number = /^[+-]?\d+$/.test(token) ? Number(token) : Number.NaN;
  const index = number < 0 ? number + length : number;
  if (!(index >= 0 && index < length)) throw rejected();
  return index;
}
