import type { ApiObject } from '../schema/api-object.ts';

/** One state of one object. Never changed: a write makes another. */
export interface StoredObject {
  /** `namespace/name`, or the name alone where there is no namespace. Lists are in the order of their keys. */
  readonly key: string;
  /** The revision of the write that brought this state about; metadata.resourceVersion is the same as text. */
  readonly revision: number;
  /** In the hub form of its resource. */
  readonly object: ApiObject;
  /** How long it is in JSON. */
  readonly characters: number;
}

/** One write, as watchers learn of it. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The new state. Of a deletion: the last state, under the resourceVersion of the deletion. */
  readonly stored: StoredObject;
  /** The state before; absent for ADDED. */
  readonly previous?: StoredObject;
}

/**
 * Objects in the order of their keys. Never changed: a write makes another one, which shares all chunks but one with the
 * former. So whoever reads slowly keeps a whole state at the price of what has changed since.
 */
export interface SortedObjects {
  /** None of them is empty. */
  readonly chunks: readonly (readonly StoredObject[])[];
}

export const noObjects: SortedObjects = { chunks: [] };

/** A write copies one chunk and the list of chunks: at 100,000 objects these are about equally long. */
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

/** All of them, or those of one namespace, in the order of their keys. */
export function listObjects({ chunks }: SortedObjects, namespace?: string): readonly StoredObject[] {
  if (namespace === undefined) return chunks.flat();
  // The keys of a namespace lie between its slash and the character after that.
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

/** The same, of a past in which the objects of some keys were others, or not there: their states then, by key. */
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

/** One after the other, for whoever does not take them all at once. */
export function* eachObject({ chunks }: SortedObjects): Generator<StoredObject, void, void> {
  for (const chunk of chunks) yield* chunk;
}

/** The chunk that holds the key, or that it belongs into: the last one that does not begin after it. */
function chunkFor(chunks: SortedObjects['chunks'], key: string): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.[0]?.key ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** The index of the first object whose key is not before this one. */
function firstFrom(chunk: readonly StoredObject[], key: string): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
