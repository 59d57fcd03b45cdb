import type { KubernetesObject } from './objects.ts';

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
  /**
   * The number of lists that the store had begun when the server last sent this object. If the store has begun another
   * list since then, and this list ends without the object, the object no longer exists.
   */
  list: number;
}

/**
 * Decodes an object. Returns undefined if decoding fails. The result may reuse parts of `previous`, the former state in
 * the store, for example to save memory.
 */
export type Decoder<T> = (raw: KubernetesObject, previous: T | undefined) => T | undefined;

/**
 * A cache of the server's objects. Each update returns the changes that it has made. A re-created object, with the same
 * name but another uid, counts as deleted and added.
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

  /** Adds or replaces an object. Returns [] if the store already has this resourceVersion, or if decoding fails. */
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

  /** Removes an object. The change has the state in `raw`, or the stored state if `raw` is invalid or has another uid. */
  remove(raw: KubernetesObject): StoreChange<T>[] {
    const { namespace = '', name, uid } = raw.metadata;
    const known = this.#namespaces.get(namespace)?.get(name);
    if (known === undefined) return [];
    this.#delete(namespace, name);
    // If the uid differs, the store has missed two events: the deletion of the stored object and a re-creation.
    const last = known.uid === uid ? this.#decode(raw, known.object) : undefined;
    return [{ type: 'deleted', object: last ?? known.object, previous: known.object }];
  }

  /** Begins or restarts a list of all objects. The caller then adds its items with {@link ObjectStore.put}. */
  beginList(): void {
    this.#list++;
  }

  /** Ends the list: removes the objects that it did not contain. Call only `put` between `beginList` and `endList`. */
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
