import type { JsonObject } from '../../support/json.ts';
import type { Status } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject, StoreEvent } from '../storage/stored-objects.ts';

/** Encodes the lines of a watch for one view: a version and a representation. */
export interface EventEncoder {
  /** Returns the line of an event. Watchers of this view share the line if the event has the same type for them. */
  event(event: StoreEvent, type: WatchEventType): Buffer;
  /** Returns the line of an object in the initial state. */
  initial(stored: StoredObject): Buffer;
  /** Returns the line of a bookmark: the watcher has seen everything up to `revision`. */
  bookmark(revision: number, isEndOfInitialEvents: boolean): Buffer;
}

/**
 * Maximum size of the shared lines, in bytes. Watchers of one view read an event at nearly the same time. A late
 * watcher encodes the event again.
 */
const MAX_SHARED_BYTES = 16 * 1024 * 1024;

/**
 * The latest encoded lines, shared by the watchers of one view. The history's limit does not bound them: one event can
 * have lines in about 27 views.
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

  /** Returns the line of an event for a view and a type. Encodes it if it is not cached. */
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
 * Creates the encoder of a view. `cacheKey` identifies the view: encoders with the same key must write the same lines.
 * `encodeObject` takes the hub form. `emptyObject` has no field set and is in hub form; a bookmark is this object with a
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

/** Returns the line of an error, which ends a watch. The line is the same in every view. */
export function encodeError(status: Status): Buffer {
  return encodeLine('ERROR', status);
}

function shownObject({ stored, previous }: StoreEvent, type: WatchEventType): ApiObject {
  if (type !== 'DELETED' || previous === undefined) return stored.object;
  // A deletion shows the last state of the object, with the resourceVersion of the deletion.
  const resourceVersion = String(stored.revision);
  return { ...previous.object, metadata: { ...previous.object.metadata, resourceVersion } };
}

function encodeLine(type: WatchEventType | 'BOOKMARK' | 'ERROR', object: object): Buffer {
  return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}\n`);
}

/** The type of an event for one watcher. A change can add an object to the watcher's selection, or remove it. */
type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Returns the type of an event for a watcher with this selection; undefined if the watcher does not see it. */
export function watchEventType(
  event: StoreEvent,
  selects: (object: ApiObject) => boolean,
): WatchEventType | undefined {
  const isSelected = event.type !== 'DELETED' && selects(event.stored.object);
  const wasSelected = event.previous !== undefined && selects(event.previous.object);
  if (isSelected) return wasSelected ? 'MODIFIED' : 'ADDED';
  return wasSelected ? 'DELETED' : undefined;
}
