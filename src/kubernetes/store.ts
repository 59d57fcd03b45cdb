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
  /** The number of the latest list when a list or a watch last showed the object. */
  list: number;
}

/** Decodes an object; undefined if that fails. The result can share unchanged parts of the known state, `previous`. */
export type Decoder<T> = (raw: KubernetesObject, previous: T | undefined) => T | undefined;

/**
 * The objects that are known to be on the server. Each update returns what it has changed. A re-created object, with the
 * same name but another uid, counts as deleted and added.
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

  /** Adds or replaces an object. Does nothing if its resourceVersion is known, or if decoding fails. */
  put(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name, uid, resourceVersion } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    if (known) known.list = this.#list;
    if (known && resourceVersion && known.resourceVersion === resourceVersion && known.uid === uid) return [];
    const object = this.#decode(raw, known?.object);
    if (object === undefined) return [];
    const isSame = known !== undefined && known.uid === uid;
    this.#set(namespace, name, { object, uid: isSame ? known.uid : uid, resourceVersion, list: this.#list });
    if (isSame) return [{ type: 'modified', object, previous: known.object }];
    const added: StoreChange<T> = { type: 'added', object, previous: undefined };
    return known ? [deletionOf(known), added] : [added];
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

  /** Removes the objects that the list did not contain. Call only `put` between `beginList` and this. */
  endList(): StoreChange<T>[] {
    const changes: StoreChange<T>[] = [];
    for (const [namespace, entries] of this.#namespaces) {
      for (const [name, entry] of entries) {
        if (entry.list === this.#list) continue;
        this.#delete(namespace, name);
        changes.push(deletionOf(entry));
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
}

function deletionOf<T>({ object }: Entry<T>): StoreChange<T> {
  return { type: 'deleted', object, previous: object };
}
