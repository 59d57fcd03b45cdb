import type { ApiObject } from '../schema/api-object.ts';

/** One state of one object. Immutable: a write creates a new state. */
export interface StoredObject {
  /** `namespace/name`, or only the name without a namespace. Lists are sorted by key. */
  readonly key: string;
  /** The revision of the write that created this state. metadata.resourceVersion has the same number. */
  readonly revision: number;
  /** In the hub form of the resource. */
  readonly object: ApiObject;
  /** The length of the object in JSON. */
  readonly characters: number;
}

/** One write, as watchers see it. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The new state. For a deletion: the last state, with the resourceVersion of the deletion. */
  readonly stored: StoredObject;
  /** The previous state; absent for ADDED. */
  readonly previous?: StoredObject;
}

/**
 * Objects, sorted by key. Immutable: a write creates a new list, which shares all chunks except one. A slow reader can
 * keep an old list, which needs memory only for the chunks that changed since.
 */
export interface SortedObjects {
  /** No chunk is empty. */
  readonly chunks: readonly (readonly StoredObject[])[];
}

export const noObjects: SortedObjects = { chunks: [] };

/** A write copies one chunk and the list of chunks. With 100,000 objects, the two have about the same length. */
const MAX_CHUNK = 512;

export function findObject({ chunks }: SortedObjects, key: string): StoredObject | undefined {
  const chunk = chunks[chunkFor(chunks, key)];
  const found = chunk?.[firstFrom(chunk, key)];
  return found?.key === key ? found : undefined;
}

export function withObject({ chunks }: SortedObjects, stored: StoredObject): SortedObjects {
  const at = chunkFor(chunks, stored.key);
  const chunk = chunks[at] ?? [];
  const index = firstFrom(chunk, stored.key);
  const isReplaced = chunk[index]?.key === stored.key;
  if (isReplaced) return { chunks: chunks.with(at, chunk.with(index, stored)) };
  const longer = chunk.toSpliced(index, 0, stored);
  const half = longer.length > MAX_CHUNK ? longer.length >> 1 : longer.length;
  const parts = [longer.slice(0, half), longer.slice(half)].filter((part) => part.length > 0);
  return { chunks: chunks.toSpliced(at, 1, ...parts) };
}

export function withoutKey(objects: SortedObjects, key: string): SortedObjects {
  const { chunks } = objects;
  const at = chunkFor(chunks, key);
  const chunk = chunks[at] ?? [];
  const index = firstFrom(chunk, key);
  if (chunk[index]?.key !== key) return objects;
  return {
    chunks: chunk.length === 1 ? chunks.toSpliced(at, 1) : chunks.with(at, chunk.toSpliced(index, 1)),
  };
}

/** Returns all objects or the objects of one namespace, sorted by key. */
export function listObjects({ chunks }: SortedObjects, namespace?: string): readonly StoredObject[] {
  if (namespace === undefined) return chunks.flat();
  // The keys of a namespace sort between its slash and the character after the slash.
  const [from, to] = [`${namespace}/`, `${namespace}0`];
  const found: StoredObject[] = [];
  for (let at = chunkFor(chunks, from); at < chunks.length; at++) {
    const chunk = chunks[at] ?? [];
    const end = firstFrom(chunk, to);
    found.push(...chunk.slice(firstFrom(chunk, from), end));
    if (end < chunk.length) break;
  }
  return found;
}

/** Returns the list at a past revision. `before`: the former states of changed objects; undefined if one was absent. */
export function listBefore(
  objects: SortedObjects,
  before: ReadonlyMap<string, StoredObject | undefined>,
  namespace?: string,
): readonly StoredObject[] {
  const isMeant = (key: string) => namespace === undefined || key.startsWith(`${namespace}/`);
  const others = [...before.values()]
    .filter((stored): stored is StoredObject => stored !== undefined && isMeant(stored.key))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const past: StoredObject[] = [];
  let at = 0;
  for (const stored of listObjects(objects, namespace)) {
    if (before.has(stored.key)) continue;
    for (let other = others[at]; other && other.key < stored.key; other = others[at]) {
      past.push(other);
      at += 1;
    }
    past.push(stored);
  }
  return past.concat(others.slice(at));
}

/** Yields objects one at a time, for readers that do not need all of them at once. */
export function* eachObject({ chunks }: SortedObjects): Generator<StoredObject, void, void> {
  for (const chunk of chunks) yield* chunk;
}

/** Returns the index of the chunk for a key: the last chunk that does not begin after the key. */
function chunkFor(chunks: SortedObjects['chunks'], key: string): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.[0]?.key ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** Returns the index of the first object with this key or a later one. */
function firstFrom(chunk: readonly StoredObject[], key: string): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
