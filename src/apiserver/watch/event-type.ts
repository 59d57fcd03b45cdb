import type { ApiObject } from '../schema/api-object.ts';
import type { StoreEvent } from '../storage/stored-objects.ts';

/** What an event is to one watcher: objects come into what it selects, and go out of it. */
export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

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
