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

export interface ObjectStoreOptions {
  /** Absent: the state is lost when the process ends. */
  readonly journal?: Journal;
  /** Maximum number of events per kind of object, for watches and for lists of past revisions; default 10,000. */
  readonly historyLimit?: number;
  /** The size limit of these events, in characters of JSON; default 64 Mi. */
  readonly historyCharacters?: number;
}

interface Shelf {
  objects: SortedObjects;
  readonly history: History;
  readonly listeners: Set<() => void>;
}

/** The revision of an empty store. In the API, revision 0 means "any". */
const FIRST_REVISION = 1;
const DEFAULT_HISTORY_LIMIT = 10_000;
const DEFAULT_HISTORY_CHARACTERS = 64 * 1024 * 1024;

/**
 * The state of the server: objects of several kinds, each with a `storage` name, in one sequence of revisions. All
 * methods are synchronous: no other write can happen between a decision and its write.
 */
export class ObjectStore {
  readonly #journal: Journal | undefined;
  readonly #historyLimits: HistoryLimits;
  readonly #shelves = new Map<string, Shelf>();
  /** Events before this revision are unknown. */
  readonly #since: number;
  #revision: number;

  /** @throws {JournalError} if the stored state cannot be read. The journal is then closed. */
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

  /** The revision of the last write to any object; 1 for an empty store. */
  get revision(): number {
    return this.#revision;
  }

  get(storage: string, key: string): StoredObject | undefined {
    return findObject(this.#shelf(storage).objects, key);
  }

  /** Sorted by key. */
  list(storage: string, namespace?: string): readonly StoredObject[] {
    return listObjects(this.#shelf(storage).objects, namespace);
  }

  /** Returns the list at a past revision; undefined if that state is gone or in the future. */
  listAt(storage: string, revision: number, namespace?: string): readonly StoredObject[] | undefined {
    const { objects, history } = this.#shelf(storage);
    if (revision > this.#revision) return undefined;
    const position = history.positionAfter(revision);
    if (position === 'expired') return undefined;
    return listBefore(objects, statesBefore(history, position), namespace);
  }

  /** Returns the current state, which later writes do not change. */
  snapshot(storage: string): SortedObjects {
    return this.#shelf(storage).objects;
  }

  /**
   * Creates or replaces the object with this namespace and name, and assigns the next resourceVersion. The
   * write is durable when the method returns.
   * @throws {JournalError} if the write cannot be stored. The store is unchanged then.
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
   * Deletes an object, which must exist. Returns its last state with the resourceVersion of the deletion. The
   * deletion is durable when the method returns.
   * @throws {JournalError} if the deletion cannot be stored. The store is unchanged then.
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

  /** Calls `listener` after each write to `storage`, before the write returns. Returns an unsubscribe function. */
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
