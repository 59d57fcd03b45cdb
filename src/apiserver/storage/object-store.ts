import type { ApiObject, ObjectMeta } from '../schema/api-object.ts';
import { History, type HistoryLimits, statesBefore } from './history.ts';
import type { Journal, JournalContents } from './journal.ts';
import {
  findObject,
  listBefore,
  listObjects,
  noObjects,
  type SortedObjects,
  type StoredObject,
  withObject,
  withoutKey,
} from './stored-objects.ts';

/** How an {@link ObjectStore} is kept. */
export interface ObjectStoreOptions {
  /** Absent: state lives and dies with the process. */
  readonly journal?: Journal;
  /** How many events are kept for watchers and for lists of past revisions, per kind of object; default 10,000. */
  readonly historyLimit?: number;
  /** How much they may tell of, in characters of JSON; default 64 Mi. */
  readonly historyCharacters?: number;
}

interface Shelf {
  objects: SortedObjects;
  readonly history: History;
  readonly listeners: Set<() => void>;
}

/** What a store knows before its first write: revision 0 stands for "any" in the API. */
const FIRST_REVISION = 1;
const DEFAULT_HISTORY_LIMIT = 10_000;
const DEFAULT_HISTORY_CHARACTERS = 64 * 1024 * 1024;

/**
 * The state of the server: objects of several kinds (`storage` names each) under one sequence of revisions. Everything is
 * synchronous, so that nothing comes between a decision and its write.
 */
export class ObjectStore {
  readonly #journal: Journal | undefined;
  readonly #historyLimits: HistoryLimits;
  readonly #shelves = new Map<string, Shelf>();
  /** No event before this revision is known. */
  readonly #since: number;
  #revision: number;

  /** @throws {JournalError} when what was kept cannot be read; the journal is closed then. */
  constructor(options: ObjectStoreOptions = {}) {
    this.#journal = options.journal;
    this.#historyLimits = {
      events: options.historyLimit ?? DEFAULT_HISTORY_LIMIT,
      characters: options.historyCharacters ?? DEFAULT_HISTORY_CHARACTERS,
    };
    const kept = loaded(this.#journal);
    this.#since = kept?.revision ?? FIRST_REVISION;
    this.#revision = this.#since;
    for (const { storage, stored } of kept?.objects ?? []) {
      const shelf = this.#shelf(storage);
      shelf.objects = withObject(shelf.objects, stored);
    }
  }

  /** That of the last write, of whatever object; 1 on an empty store. */
  get revision(): number {
    return this.#revision;
  }

  get(storage: string, key: string): StoredObject | undefined {
    return findObject(this.#shelf(storage).objects, key);
  }

  /** In the order of the keys. */
  list(storage: string, namespace?: string): readonly StoredObject[] {
    return listObjects(this.#shelf(storage).objects, namespace);
  }

  /** The list as it was at a revision; undefined: that is not known any more, or not yet. */
  listAt(storage: string, revision: number, namespace?: string): readonly StoredObject[] | undefined {
    const { objects, history } = this.#shelf(storage);
    if (revision > this.#revision) return undefined;
    const position = history.positionAfter(revision);
    if (position === 'expired') return undefined;
    return listBefore(objects, statesBefore(history, position), namespace);
  }

  /** The present state, which stays what it is while the store goes on. */
  snapshot(storage: string): SortedObjects {
    return this.#shelf(storage).objects;
  }

  /**
   * Creates or replaces the object of this namespace and name and gives it the next resourceVersion. Durable when it
   * returns. @throws {JournalError} when it could not be kept; then nothing has changed.
   */
  put(storage: string, object: ApiObject): StoredObject {
    const shelf = this.#shelf(storage);
    const stored = atRevision(object, this.#revision + 1);
    const previous = findObject(shelf.objects, stored.key);
    this.#journal?.write(storage, stored);
    this.#revision = stored.revision;
    shelf.objects = withObject(shelf.objects, stored);
    shelf.history.append(previous ? { type: 'MODIFIED', stored, previous } : { type: 'ADDED', stored });
    for (const listener of shelf.listeners) listener();
    return stored;
  }

  /**
   * Deletes an object, which must exist, and returns its last state under the resourceVersion of the deletion. Durable
   * when it returns. @throws {JournalError} when it could not be kept; then nothing has changed.
   */
  remove(storage: string, key: string): StoredObject {
    const shelf = this.#shelf(storage);
    const previous = findObject(shelf.objects, key);
    if (previous === undefined) throw new Error(`there is no ${key} in ${storage}`);
    const stored = atRevision(previous.object, this.#revision + 1);
    this.#journal?.remove(storage, key, stored.revision);
    this.#revision = stored.revision;
    shelf.objects = withoutKey(shelf.objects, key);
    shelf.history.append({ type: 'DELETED', stored, previous });
    for (const listener of shelf.listeners) listener();
    return stored;
  }

  history(storage: string): History {
    return this.#shelf(storage).history;
  }

  /** Calls `listener` right after each write to `storage`, before that returns; the returned function ends that. */
  onChange(storage: string, listener: () => void): () => void {
    const { listeners } = this.#shelf(storage);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  close(): void {
    this.#journal?.close();
  }

  #shelf(storage: string): Shelf {
    const existing = this.#shelves.get(storage);
    if (existing) return existing;
    const shelf: Shelf = {
      objects: noObjects,
      history: new History(this.#historyLimits, this.#since),
      listeners: new Set(),
    };
    this.#shelves.set(storage, shelf);
    return shelf;
  }
}

function loaded(journal: Journal | undefined): JournalContents | undefined {
  try {
    return journal?.load();
  } catch (error) {
    journal?.close();
    throw error;
  }
}

function atRevision(object: ApiObject, revision: number): StoredObject {
  const metadata: ObjectMeta = { ...object.metadata, resourceVersion: String(revision) };
  const next = { ...object, metadata };
  return { key: keyOf(metadata), revision, object: next, characters: JSON.stringify(next).length };
}

function keyOf({ namespace, name }: ObjectMeta): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
