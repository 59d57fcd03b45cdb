import type { KubernetesObject } from './objects.ts';

/** A change that the store has already applied. */
export interface StoreChange<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  /** The current state of the object; after a deletion, its last known state. */
  readonly object: T;
  /** The former state in the store; undefined for an added object. */
  readonly previous: T | undefined;
}

interface Entry<T> {
  readonly object: T;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** The number of the last list that contained the object. If a watch added the object: the number of the last list. */
  list: number;
}

/**
 * Converts an API object to a domain object; undefined if decoding fails. `previous` is the known state, whose unchanged
 * parts the result can share.
 */
export type Decoder<T> = (raw: KubernetesObject, previous: T | undefined) => T | undefined;

/**
 * The objects that are known to be on the server. Each update returns what it has changed. If an object has another uid
 * than the known object of that name, it is another object.
 */
export class ObjectStore<T> {
  readonly #decode: Decoder<T>;
  /** Entries by namespace, then by name. A combined key would need another string per object. */
  readonly #namespaces = new Map<string, Map<string, Entry<T>>>();
  #list = 0;

  constructor(decode: Decoder<T>) {
    this.#decode = decode;
  }

  *values(): IterableIterator<T> {
    for (const entries of this.#namespaces.values()) for (const { object } of entries.values()) yield object;
  }

  /** Adds an object. Does nothing if its resourceVersion is known, or if decoding fails. */
  put(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    const entry = this.#read(raw, known);
    if (entry) entry.list = this.#list;
    if (entry && entry !== known) this.#set(namespace, name, entry);
    return changesBetween(known, entry);
  }

  /** Removes an object. Its last state is the given state, or the stored state if the given state cannot be decoded. */
  remove(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    if (known === undefined) return [];
    this.#delete(namespace, name);
    const object = this.#decode(raw, known.object) ?? known.object;
    return [{ type: 'deleted', object, previous: known.object }];
  }

  /** Begins a list of all objects, or begins it again. {@link ObjectStore.put} adds its items. */
  beginList(): void {
    this.#list++;
  }

  /** Removes the objects that the list did not contain. Do not make other changes after {@link ObjectStore.beginList}. */
  endList(): StoreChange<T>[] {
    const changes: StoreChange<T>[] = [];
    for (const [namespace, entries] of this.#namespaces) {
      for (const [name, entry] of entries) {
        if (entry.list === this.#list) continue;
        this.#delete(namespace, name);
        changes.push(...changesBetween(entry, undefined));
      }
    }
    return changes;
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
    return { object, uid: keptUid, resourceVersion, list: this.#list };
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
