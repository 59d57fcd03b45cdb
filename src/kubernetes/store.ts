import { type KubernetesObject, objectKey } from './objects.ts';

/** The objects that are known to be on the server, by key (`namespace/name`, or `name` without a namespace). */
export interface ReadonlyStore<T> {
  readonly size: number;
  get(key: string): T | undefined;
  has(key: string): boolean;
  keys(): IterableIterator<string>;
  values(): IterableIterator<T>;
  entries(): IterableIterator<[string, T]>;
}

/** A difference that the store has taken in already. */
export interface StoreChange<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  readonly key: string;
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

/** A store that tells what each update has changed. An object of another uid under the same key is another object. */
export class ObjectStore<T> implements ReadonlyStore<T> {
  #entries = new Map<string, Entry<T>>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  *values(): IterableIterator<T> {
    for (const { object } of this.#entries.values()) yield object;
  }

  *entries(): IterableIterator<[string, T]> {
    for (const [key, { object }] of this.#entries) yield [key, object];
  }

  /** Takes in one object. What is in the store at the same resourceVersion, or cannot be decoded, changes nothing. */
  put(raw: KubernetesObject, decode: Decoder<T>): StoreChange<T>[] {
    const key = objectKey(raw.metadata);
    const known = this.#entries.get(key);
    const entry = nextEntry(raw, known, decode);
    if (entry === undefined || entry === known) return [];
    this.#entries.set(key, entry);
    return changesBetween(key, known, entry);
  }

  /** Removes one object. Its last state is the one given, or that in the store where the given one cannot be decoded. */
  remove(raw: KubernetesObject, decode: Decoder<T>): StoreChange<T>[] {
    const key = objectKey(raw.metadata);
    const known = this.#entries.get(key);
    if (known === undefined) return [];
    this.#entries.delete(key);
    return [{ type: 'deleted', key, object: decode(raw) ?? known.object, previous: known.object }];
  }

  /** Begins to take in all that there is, part by part; the store is as it was until that is complete. */
  beginReplacement(decode: Decoder<T>): Replacement<T> {
    const before = this.#entries;
    const after = new Map<string, Entry<T>>();
    return {
      add(objects) {
        for (const raw of objects) {
          const key = objectKey(raw.metadata);
          const known = before.get(key);
          // An object that cannot be decoded exists all the same: what was known of it stays.
          const entry = nextEntry(raw, known, decode) ?? known;
          if (entry !== undefined) after.set(key, entry);
        }
      },
      complete: () => {
        this.#entries = after;
        const changes: StoreChange<T>[] = [];
        for (const [key, entry] of after) {
          const known = before.get(key);
          if (entry !== known) changes.push(...changesBetween(key, known, entry));
        }
        for (const [key, { object }] of before) {
          if (!after.has(key)) changes.push({ type: 'deleted', key, object, previous: object });
        }
        return changes;
      },
    };
  }
}

function nextEntry<T>(
  raw: KubernetesObject,
  known: Entry<T> | undefined,
  decode: Decoder<T>,
): Entry<T> | undefined {
  const { uid, resourceVersion } = raw.metadata;
  if (known && resourceVersion && known.resourceVersion === resourceVersion && known.uid === uid)
    return known;
  const object = decode(raw);
  return object === undefined ? undefined : { object, uid, resourceVersion };
}

function changesBetween<T>(key: string, known: Entry<T> | undefined, entry: Entry<T>): StoreChange<T>[] {
  const { object } = entry;
  if (known === undefined) return [{ type: 'added', key, object, previous: undefined }];
  const previous = known.object;
  if (known.uid === entry.uid) return [{ type: 'modified', key, object, previous }];
  return [
    { type: 'deleted', key, object: previous, previous },
    { type: 'added', key, object, previous: undefined },
  ];
}
