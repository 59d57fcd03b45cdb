import type { JsonObject } from '../../support/json.ts';
import type { Status } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject, StoreEvent } from '../storage/stored-objects.ts';

/** Encodes the lines of a watch in one view: a version and a representation. */
export interface EventEncoder {
  /** The line of an event. Watchers of this view share it, if it has the same type for them. */
  event(event: StoreEvent, type: WatchEventType): Buffer;
  /** The line of an object of the initial state. */
  initial(stored: StoredObject): Buffer;
  /** The line of a bookmark: the watcher has seen everything up to `revision`. */
  bookmark(revision: number, isEndOfInitialEvents: boolean): Buffer;
}

/** In bytes. Watchers of one view read an event at nearly the same time. A late one encodes it again. */
const MAX_SHARED_BYTES = 16 * 1024 * 1024;

/**
 * The latest encoded lines, which the watchers of one view share. One event can have lines in some 27 views, so that the limit
 * of the history does not bound them.
 */
export class SharedLines {
  readonly #maxBytes: number;
  readonly #byEvent = new WeakMap<StoreEvent, Map<string, Buffer>>();
  /** In the order of encoding. */
  readonly #kept = new Set<{
    readonly lines: Map<string, Buffer>;
    readonly key: string;
    readonly bytes: number;
  }>();
  #bytes = 0;

  constructor(maxBytes = MAX_SHARED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The line of an event for a view and a type, encoded if it is unknown. */
  lineOf(event: StoreEvent, key: string, encode: () => Buffer): Buffer {
    const lines = this.#byEvent.get(event) ?? new Map<string, Buffer>();
    const known = lines.get(key);
    if (known !== undefined) return known;
    const line = encode();
    lines.set(key, line);
    this.#byEvent.set(event, lines);
    this.#kept.add({ lines, key, bytes: line.length });
    this.#bytes += line.length;
    for (const oldest of this.#kept) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#kept.delete(oldest);
      oldest.lines.delete(oldest.key);
      this.#bytes -= oldest.bytes;
    }
    return line;
  }
}

const sharedLines = new SharedLines();

/**
 * `cacheKey` identifies the view: encoders with the same key must write the same. `encodeObject` takes the hub form.
 * `emptyObject`, in hub form, is an object without any field set: a bookmark is such an object with a resourceVersion.
 */
export function createEventEncoder(
  cacheKey: string,
  encodeObject: (object: ApiObject) => JsonObject,
  emptyObject: JsonObject,
  shared = sharedLines,
): EventEncoder {
  return {
    event: (event, type) =>
      shared.lineOf(event, `${type} ${cacheKey}`, () =>
        encodeLine(type, encodeObject(shownObject(event, type))),
      ),
    initial: ({ object }) => encodeLine('ADDED', encodeObject(object)),
    bookmark(revision, isEndOfInitialEvents) {
      const metadata = {
        resourceVersion: String(revision),
        ...(isEndOfInitialEvents && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
      };
      return encodeLine('BOOKMARK', encodeObject({ ...emptyObject, metadata } as unknown as ApiObject));
    },
  };
}

/** The line of an error, which ends a watch. It is the same in every view. */
export function encodeError(status: Status): Buffer {
  return encodeLine('ERROR', status);
}

function shownObject({ stored, previous }: StoreEvent, type: WatchEventType): ApiObject {
  if (type !== 'DELETED' || previous === undefined) return stored.object;
  // A deleted object has its last state, with the resourceVersion of the deletion.
  const resourceVersion = String(stored.revision);
  return { ...previous.object, metadata: { ...previous.object.metadata, resourceVersion } };
}

function encodeLine(type: WatchEventType | 'BOOKMARK' | 'ERROR', object: object): Buffer {
  return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}\n`);
}

/** The type of an event for one watcher: a change can add an object to the selected ones, or remove it from them. */
type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** The type of an event for a watcher of the objects that `selects` accepts; undefined: it does not concern them. */
export function watchEventType(
  event: StoreEvent,
  selects: (object: ApiObject) => boolean,
): WatchEventType | undefined {
  const isSelected = event.type !== 'DELETED' && selects(event.stored.object);
  const wasSelected = event.previous !== undefined && selects(event.previous.object);
  if (isSelected) return wasSelected ? 'MODIFIED' : 'ADDED';
  return wasSelected ? 'DELETED' : undefined;
}
