import type { KubernetesObject } from './objects.ts';

/** A difference that the store has taken in already. */
export interface StoreChange<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** As it is now; of what is deleted, the last state known. */
  readonly object: T;
  /** As it was in the store before; undefined for what is added. */
  readonly previous: T | undefined;
}

interface Entry<T> {
  readonly object: T;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** The number of the replacement that it was last in, or that came before it. */
  replacement: number;
}

/**
 * Turns an object of the API into one of the domain; undefined when it cannot be had. `previous` is what is known of it, so
 * that what has not changed need not be kept twice.
 */
export type Decoder<T> = (raw: KubernetesObject, previous: T | undefined) => T | undefined;

/** All objects that there are, on their way into a store. */
export interface Replacement<T> {
  /** Takes in some of them. */
  add(objects: readonly KubernetesObject[]): readonly StoreChange<T>[];
  /** There are no others: removes what was not among them. The store must not have changed otherwise meanwhile. */
  complete(): readonly StoreChange<T>[];
}

/**
 * The objects that are known to be on the server, which tells what each update has changed. An object of another uid
 * under the same name is another object.
 */
export class ObjectStore<T> {
  readonly #decode: Decoder<T>;
  /** By namespace and name: a key of both would be one more text for each object. */
  readonly #namespaces = new Map<string, Map<string, Entry<T>>>();
  #replacement = 0;

  constructor(decode: Decoder<T>) {
    this.#decode = decode;
  }

  *values(): IterableIterator<T> {
    for (const entries of this.#namespaces.values()) for (const { object } of entries.values()) yield object;
  }

  /** Takes in one object. What is in the store at the same resourceVersion, or cannot be decoded, changes nothing. */
  put(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    const entry = this.#read(raw, known);
    if (entry) entry.replacement = this.#replacement;
    if (entry && entry !== known) this.#set(namespace, name, entry);
    return changesBetween(known, entry);
  }

  /** Removes one object. Its last state is the one given, or that in the store where the given one cannot be decoded. */
  remove(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    if (known === undefined) return [];
    this.#delete(namespace, name);
    const object = this.#decode(raw, known.object) ?? known.object;
    return [{ type: 'deleted', object, previous: known.object }];
  }

  /** Begins to take in all that there is, part by part; what else the store has is in it until that is complete. */
  beginReplacement(): Replacement<T> {
    const replacement = ++this.#replacement;
    return {
      add: (objects) => objects.flatMap((raw) => this.put(raw)),
      complete: () =>
        [...this.#notIn(replacement)].flatMap(([namespace, name, known]) => {
          this.#delete(namespace, name);
          return changesBetween(known, undefined);
        }),
    };
  }

  *#notIn(replacement: number): Generator<[string, string, Entry<T>]> {
    for (const [namespace, entries] of this.#namespaces) {
      for (const [name, entry] of entries)
        if (entry.replacement !== replacement) yield [namespace, name, entry];
    }
  }

  #set(namespace: string, name: string, entry: Entry<T>): void {
    const entries = this.#namespaces.get(namespace) ?? new Map<string, Entry<T>>();
    if (entries.size === 0) this.#namespaces.set(namespace, entries);
    entries.set(name, entry);
  }

  #delete(namespace: string, name: string): void {
    const entries = this.#namespaces.get(namespace);
    entries?.delete(name);
    if (entries?.size === 0) this.#namespaces.delete(namespace);
  }

  /** Keeps the known entry if its resourceVersion is the same, or if decoding fails. */
  #read(raw: KubernetesObject, known: Entry<T> | undefined): Entry<T> | undefined {
    const { uid, resourceVersion } = raw.metadata;
    if (known && resourceVersion && known.resourceVersion === resourceVersion && known.uid === uid)
      return known;
    const object = this.#decode(raw, known?.object);
    if (object === undefined) return known;
    const keptUid = uid === known?.uid ? known?.uid : uid;
    return { object, uid: keptUid, resourceVersion, replacement: this.#replacement };
  }
}

function changesBetween<T>(known: Entry<T> | undefined, entry: Entry<T> | undefined): StoreChange<T>[] {
  if (known === entry) return [];
  if (known && entry && known.uid === entry.uid)
    return [{ type: 'modified', object: entry.object, previous: known.object }];
  const changes: StoreChange<T>[] = [];
  if (known) changes.push({ type: 'deleted', object: known.object, previous: known.object });
  if (entry) changes.push({ type: 'added', object: entry.object, previous: undefined });
  return changes;
}
