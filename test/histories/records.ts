import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/** The object. */
export interface Key {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The state of an object in an answer, a list or an event. */
export interface Content {
  readonly uid: string;
  readonly resourceVersion: number;
  /** The unique name of the write that made this state. */
  readonly mark: string;
  readonly left: string;
  readonly right: string;
  /** A hash of the whole object except its resourceVersion. */
  readonly digest: string;
}

/** A request for one object. Times are nanoseconds of one monotonic clock. */
export interface Operation extends Key {
  readonly kind: 'operation';
  readonly client: number;
  readonly call: number;
  /** 0: no answer. */
  readonly return: number;
  readonly verb: 'get' | 'create' | 'put' | 'patch' | 'delete';
  /** 0: no answer. */
  readonly status: number;
  readonly outcome: 'ok' | 'refused' | 'unknown';
  /** The values of a write. A patch omits `left` or `right`. */
  readonly mark?: string;
  readonly left?: string;
  readonly right?: string;
  /** Preconditions. */
  readonly givenUid?: string;
  readonly givenResourceVersion?: number;
  /** The object in the answer; for a deletion, only its uid. */
  readonly seen?: Partial<Content>;
}

/** A complete list: all its pages, or the initial events of a watch. */
export interface ListRecord {
  readonly kind: 'list';
  readonly call: number;
  readonly return: number;
  readonly resource: string;
  /** '' for all. */
  readonly namespace: string;
  readonly resourceVersion: number;
  /** For a list of a requested revision, which may be old. */
  readonly past: boolean;
  readonly items: readonly (Omit<Key, 'resource'> & Content)[];
}

/** An event of a watcher, in the order of its reads. */
export interface WatchRecord extends Key {
  readonly kind: 'watch';
  readonly watcher: string;
  readonly at: number;
  /** LISTED: a new start after this revision. EXPIRED: status 410. */
  readonly event: 'LISTED' | 'RESUMED' | 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'EXPIRED';
  readonly resourceVersion: number;
  readonly seen?: Content;
}

/** For people who read the record. */
export interface Note {
  readonly kind: 'note';
  readonly at: number;
  readonly text: string;
}

export type HistoryRecord = Operation | ListRecord | WatchRecord | Note;

/** The file of a run's history, in JSON lines. */
export class HistoryFile {
  readonly path: string;
  readonly #stream;

  constructor(path: string) {
    this.path = path;
    this.#stream = createWriteStream(path);
  }

  /** After `close`, for example in a stopped run, it does nothing. */
  write(record: HistoryRecord): void {
    if (!this.#stream.writableEnded) this.#stream.write(`${JSON.stringify(record)}\n`);
  }

  async close(): Promise<void> {
    this.#stream.end();
    await finished(this.#stream);
  }
}

const start = process.hrtime.bigint();

/** Nanoseconds since the start of this program. */
export function now(): number {
  return Number(process.hrtime.bigint() - start);
}

/** An object as the server returns it. */
export interface ShownObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** The annotation with the name of the write that made a state. */
export const MARK = 'histories.example/mark';

export function contentOf(object: ShownObject): Content {
  const { uid, resourceVersion, labels, annotations } = object.metadata;
  return {
    uid,
    resourceVersion: Number(resourceVersion),
    mark: annotations?.[MARK] ?? '',
    left: labels?.['left'] ?? '',
    right: labels?.['right'] ?? '',
    digest: digestOf(object),
  };
}

function digestOf(object: ShownObject): string {
  // Items of a list have neither kind nor apiVersion.
  const { metadata, kind: _, apiVersion: __, ...rest } = object as ShownObject & Record<string, unknown>;
  const { resourceVersion: ___, ...others } = metadata;
  return createHash('sha256')
    .update(JSON.stringify(sorted({ ...rest, metadata: others })))
    .digest('hex')
    .slice(0, 12);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]));
}
