import { isJsonObject, type JsonObject } from '../../support/json.ts';

/** A container of a draft that may be changed: it is a copy that only the draft has. */
export type OwnContainer = Record<string, unknown> | unknown[];

/**
 * A JSON document that is being changed, which leaves the one that it was made of as it was: whatever is about to be changed
 * is copied first, once. Many changes of one large object cost no more than one copy of it and the changes.
 */
export class Draft {
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
export function memberOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a member of an object, whatever its name is. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
