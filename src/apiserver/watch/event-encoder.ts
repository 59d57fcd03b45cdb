import type { JsonObject } from '../../support/json.ts';
import type { Status } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject, StoreEvent } from '../storage/stored-object.ts';
import type { WatchEventType } from './event-type.ts';

/** Writes the lines of a watch in one view (a version and a representation). */
export interface EventEncoder {
  /** The line for an event; the same bytes for all watchers of this view to whom it is of this type. */
  event(event: StoreEvent, type: WatchEventType): Buffer;
  /** The line for an object that was there before the watch began. */
  initial(stored: StoredObject): Buffer;
  /** The line that tells a watcher that it has seen everything up to `revision`. */
  bookmark(revision: number, isEndOfInitialEvents: boolean): Buffer;
}

/** The lines that exist of an event, by view and type. They go when the history lets go of the event. */
const encoded = new WeakMap<StoreEvent, Map<string, Buffer>>();

/**
 * `cacheKey` tells views apart: encoders with the same key must write the same. `encodeObject` takes the hub form.
 * `emptyObject`, in hub form, is an object of the kind in which nothing is set: bookmarks are such objects, with a
 * resourceVersion.
 */
export function createEventEncoder(
  cacheKey: string,
  encodeObject: (object: ApiObject) => JsonObject,
  emptyObject: JsonObject,
): EventEncoder {
  return {
    event(event, type) {
      let lines = encoded.get(event);
      if (lines === undefined) {
        lines = new Map();
        encoded.set(event, lines);
      }
      const key = `${type} ${cacheKey}`;
      const known = lines.get(key);
      if (known !== undefined) return known;
      const line = encodeLine(type, encodeObject(shownObject(event, type)));
      lines.set(key, line);
      return line;
    },
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
