import type { JsonObject } from '../../support/json.ts';
import type { Status } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject, StoreEvent } from '../storage/stored-objects.ts';

/** Writes the lines of a watch in one view (a version and a representation). */
export interface EventEncoder {
  /** The line for an event; the same bytes for all watchers of this view to whom it is of this type. */
  event(event: StoreEvent, type: WatchEventType): Buffer;
  /** The line for an object that was there before the watch began. */
  initial(stored: StoredObject): Buffer;
  /** The line that tells a watcher that it has seen everything up to `revision`. */
  bookmark(revision: number, isEndOfInitialEvents: boolean): Buffer;
}

/** In bytes. Watchers of one view read an event within moments of each other: a late one has it encoded again. */
const MAX_SHARED_BYTES = 16 * 1024 * 1024;

/**
 * The latest lines that were encoded, which watchers of one view share. There may be lines of one event in some 27 views,
 * so that the limit on the history does not bound them.
 */
export class SharedLines {
  readonly #maxBytes: number;
  readonly #byEvent = new WeakMap<StoreEvent, Map<string, Buffer>>();
  /** In the order in which they were encoded. */
  readonly #kept = new Set<{
    readonly lines: Map<string, Buffer>;
    readonly key: string;
    readonly bytes: number;
  }>();
  #bytes = 0;

  constructor(maxBytes = MAX_SHARED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** How much is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The line of an event that `key` names, encoded unless it is known. */
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
 * `cacheKey` tells views apart: encoders with the same key must write the same. `encodeObject` takes the hub form.
 * `emptyObject`, in hub form, is an object of the kind in which nothing is set: bookmarks are such objects, with a
 * resourceVersion.
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

/** The line that ends a watch which cannot go on, or not even begin. It is the same in every view. */
export function encodeError(status: Status): Buffer {
  return encodeLine('ERROR', status);
}

function shownObject({ stored, previous }: StoreEvent, type: WatchEventType): ApiObject {
  if (type !== 'DELETED' || previous === undefined) return stored.object;
  // What goes is shown as it last was, under the resourceVersion of its going.
  const resourceVersion = String(stored.revision);
  return { ...previous.object, metadata: { ...previous.object.metadata, resourceVersion } };
}

function encodeLine(type: WatchEventType | 'BOOKMARK' | 'ERROR', object: object): Buffer {
  return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}\n`);
}

/** What an event is to one watcher: objects come into what it selects, and go out of it. */
type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** What an event is to whoever sees only the objects that `selects` is true for; undefined: nothing. */
export function watchEventType(
  event: StoreEvent,
  selects: (object: ApiObject) => boolean,
): WatchEventType | undefined {
  const isSelected = event.type !== 'DELETED' && selects(event.stored.object);
  const wasSelected = event.previous !== undefined && selects(event.previous.object);
  if (isSelected) return wasSelected ? 'MODIFIED' : 'ADDED';
  return wasSelected ? 'DELETED' : undefined;
}
