import { type KubernetesObject, objectKey } from './objects.ts';

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
}

/** Turns an object of the API into one of the domain; undefined when it cannot be had. */
export type Decoder<T> = (raw: KubernetesObject) => T | undefined;

/** All objects that there are, on their way into a store. */
export interface Replacement<T> {
  add(objects: readonly KubernetesObject[]): void;
  /** Makes the store hold what was added and nothing else; it must not have changed since the replacement was begun. */
  complete(): readonly StoreChange<T>[];
}

/**
 * The objects that are known to be on the server, which tells what each update has changed. An object of another uid
 * under the same name is another object.
 */
export class ObjectStore<T> {
  readonly #decode: Decoder<T>;
  #entries = new Map<string, Entry<T>>();

  constructor(decode: Decoder<T>) {
    this.#decode = decode;
  }

  *values(): IterableIterator<T> {
    for (const { object } of this.#entries.values()) yield object;
  }

  /** Takes in one object. What is in the store at the same resourceVersion, or cannot be decoded, changes nothing. */
  put(raw: KubernetesObject): StoreChange<T>[] {
    const key = objectKey(raw.metadata);
    const known = this.#entries.get(key);
    const entry = this.#read(raw, known);
    if (entry) this.#entries.set(key, entry);
    return changesBetween(known, entry);
  }

  /** Removes one object. Its last state is the one given, or that in the store where the given one cannot be decoded. */
  remove(raw: KubernetesObject): StoreChange<T>[] {
    const key = objectKey(raw.metadata);
    const known = this.#entries.get(key);
    if (known === undefined) return [];
    this.#entries.delete(key);
    return [{ type: 'deleted', object: this.#decode(raw) ?? known.object, previous: known.object }];
  }

  /** Begins to take in all that there is, part by part; the store is as it was until that is complete. */
  beginReplacement(): Replacement<T> {
    const before = this.#entries;
    const after = new Map<string, Entry<T>>();
    return {
      add: (objects) => {
        for (const raw of objects) {
          const key = objectKey(raw.metadata);
          const entry = this.#read(raw, before.get(key));
          if (entry) after.set(key, entry);
        }
      },
      complete: () => {
        this.#entries = after;
        const present = after.entries().flatMap(([key, entry]) => changesBetween(before.get(key), entry));
        const gone = before.entries().filter(([key]) => !after.has(key));
        return [...present, ...gone.flatMap(([, known]) => changesBetween(known, undefined))];
      },
    };
  }

  /** What is known is kept where it is the same, or cannot be decoded any more: then it exists all the same. */
  #read(raw: KubernetesObject, known: Entry<T> | undefined): Entry<T> | undefined {
    const { uid, resourceVersion } = raw.metadata;
    if (known && resourceVersion && known.resourceVersion === resourceVersion && known.uid === uid)
      return known;
    const object = this.#decode(raw);
    return object === undefined ? known : { object, uid, resourceVersion };
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
