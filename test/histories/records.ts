import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/** Which object. */
export interface Key {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** What an answer, a list or an event shows of an object. */
export interface Content {
  readonly uid: string;
  readonly resourceVersion: number;
  /** The name of the write that made this state: no two writes have the same. */
  readonly mark: string;
  readonly left: string;
  readonly right: string;
  /** A hash of the whole object but its resourceVersion. */
  readonly digest: string;
}

/** One request about one object. Times are nanoseconds of one monotonic clock. */
export interface Operation extends Key {
  readonly kind: 'operation';
  readonly client: number;
  readonly call: number;
  /** 0: the answer never came. */
  readonly return: number;
  readonly verb: 'get' | 'create' | 'put' | 'patch' | 'delete';
  /** 0: the answer never came. */
  readonly status: number;
  readonly outcome: 'ok' | 'refused' | 'unknown';
  /** What a write asks for. A patch leaves `left` or `right` out. */
  readonly mark?: string;
  readonly left?: string;
  readonly right?: string;
  /** Preconditions. */
  readonly givenUid?: string;
  readonly givenResourceVersion?: number;
  /** The object in the answer; of a deletion, the uid alone. */
  readonly seen?: Partial<Content>;
}

/** One complete list, of all of its pages, or of the initial events of a watch. */
export interface ListRecord {
  readonly kind: 'list';
  readonly call: number;
  readonly return: number;
  readonly resource: string;
  /** '' for all. */
  readonly namespace: string;
  readonly resourceVersion: number;
  /** Of a revision that the client asked for, which may be an old one. */
  readonly past: boolean;
  readonly items: readonly (Omit<Key, 'resource'> & Content)[];
}

/** One thing that happened to a watcher, in the order in which it saw them. */
export interface WatchRecord extends Key {
  readonly kind: 'watch';
  readonly watcher: string;
  readonly at: number;
  /** LISTED: a new beginning after this revision. EXPIRED: status 410. */
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

/** Where the history of a run goes: a file of JSON lines. */
export class HistoryFile {
  readonly path: string;
  readonly #stream;

  constructor(path: string) {
    this.path = path;
    this.#stream = createWriteStream(path);
  }

  /** After the close, of a run that was stopped, it does nothing. */
  write(record: HistoryRecord): void {
    if (!this.#stream.writableEnded) this.#stream.write(`${JSON.stringify(record)}\n`);
  }

  async close(): Promise<void> {
    this.#stream.end();
    await finished(this.#stream);
  }
}

const start = process.hrtime.bigint();

/** Nanoseconds since this program started. */
export function now(): number {
  return Number(process.hrtime.bigint() - start);
}

/** An object as the server shows it. */
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

/** The annotation that names the write which made a state. */
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
