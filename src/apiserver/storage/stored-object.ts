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
