import type { Clock } from '../support/clock.ts';
import type { Steps } from '../support/event-loop.ts';
import type { JsonObject } from '../support/json.ts';
import { apiVersionOf, type ResourceDefinition } from './kinds/definition.ts';
import { FOREGROUND, ORPHAN, removeStored } from './operations/delete.ts';
import { withMetadata } from './operations/request.ts';
import type { ApiObject } from './schema/api-object.ts';
import type { ObjectStore } from './storage/object-store.ts';

export interface GarbageCollectorOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly resources: readonly ResourceDefinition[];
}

/** The storage and the key of an object in the store. */
interface Place {
  readonly storage: string;
  readonly key: string;
}

/** An owner is absent, present, or deleted in the foreground and waiting for its dependents. */
type OwnerState = 'absent' | 'present' | 'waiting';

/** The number of writes before a pause, which lets watchers keep up: their history is bounded. */
const MAX_WRITES_IN_A_ROW = 50;
const NAMESPACES = 'namespaces';

/**
 * Does the work of kube-controller-manager's garbage collector for the served kinds. Deletes objects whose owners are
 * gone, and handles the finalizers `orphan` and `foregroundDeletion`. If the kind of an owner is not served, such as a
 * Pod, the owner counts as present. Namespaces can be owners, but are never collected.
 */
export class GarbageCollector {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #resources: readonly ResourceDefinition[];
  readonly #kinds = new Map<string, ResourceDefinition>();
  /** The objects with ownerReferences, by storage and key. */
  readonly #owned = new Map<string, Place & { readonly references: readonly JsonObject[] }>();
  /** The dependents, by the uid of the owner. */
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #due = new Map<string, Place>();

  constructor({ store, clock, resources }: GarbageCollectorOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#resources = resources;
    for (const definition of resources) {
      for (const version of definition.versions) {
        this.#kinds.set(`${apiVersionOf(definition, version)} ${definition.kind}`, definition);
      }
    }
  }

  /** Notes that the object at a place was created, changed or deleted. */
  noteChange(place: Place): void {
    const id = idOf(place);
    const before = this.#owned.get(id)?.references ?? [];
    const after = this.#objectAt(place)?.metadata.ownerReferences ?? [];
    this.#due.set(id, place);
    if (isSame(before, after)) return;
    for (const { uid } of before) this.#dependents.get(String(uid))?.delete(id);
    for (const reference of before) this.#ownerIsDue(reference, place);
    if (after.length === 0) this.#owned.delete(id);
    else this.#owned.set(id, { ...place, references: after });
    for (const { uid } of after) {
      const dependents = this.#dependents.get(String(uid)) ?? new Map<string, Place>();
      this.#dependents.set(String(uid), dependents.set(id, place));
    }
  }

  /** Notes that the object with this uid was deleted. */
  noteRemoval(uid: string): void {
    for (const [id, place] of this.#dependentsOf(uid)) this.#due.set(id, place);
    this.#dependents.delete(uid);
  }

  /** Queues all objects with owners, because some changes are unknown: an owner may be gone. */
  noteGap(): void {
    for (const { storage, key } of [...this.#owned.values()]) this.noteChange({ storage, key });
  }

  /** Handles all noted changes. The caller must also note the collector's own writes. */
  *collect(): Steps<void> {
    let restedAt = this.#store.revision;
    for (const [id, place] of this.#due) {
      this.#due.delete(id);
      const isRestDue = this.#store.revision - restedAt >= MAX_WRITES_IN_A_ROW;
      if (isRestDue) restedAt = this.#store.revision;
      yield isRestDue ? 'rest' : undefined;
      this.#settle(place);
    }
  }

  #settle(place: Place): void {
    const object = this.#objectAt(place);
    if (object === undefined) return;
    const { deletionTimestamp, finalizers = [], uid = '' } = object.metadata;
    if (deletionTimestamp === undefined) this.#collectIfUnowned(place, object);
    else if (finalizers.includes(ORPHAN)) this.#orphanDependents(place, uid);
    else if (finalizers.includes(FOREGROUND)) this.#awaitDependents(place, uid);
  }

  /** Removes the owner from its dependents, in one write per dependent, and then removes the finalizer. */
  #orphanDependents(owner: Place, uid: string): void {
    let written = 0;
    for (const [id, place] of this.#dependentsOf(uid)) {
      const object = this.#objectAt(place);
      const { ownerReferences = [] } = object?.metadata ?? {};
      const left = ownerReferences.filter((reference) => reference['uid'] !== uid);
      if (object !== undefined && left.length < ownerReferences.length) {
        this.#store.put(place.storage, withMetadata(object, { ownerReferences: orNone(left) }));
        written += 1;
      }
      this.#dependents.get(uid)?.delete(id);
      if (written < MAX_WRITES_IN_A_ROW) continue;
      this.#due.set(idOf(owner), owner);
      return;
    }
    this.#release(owner, ORPHAN);
  }

  /** Queues the dependents for deletion. Removes the finalizer when no dependent blocks the deletion of its owner. */
  #awaitDependents(owner: Place, uid: string): void {
    let isBlocked = false;
    for (const [id, place] of this.#dependentsOf(uid)) {
      const object = this.#objectAt(place);
      if (object === undefined) continue;
      if (object.metadata.deletionTimestamp === undefined) this.#due.set(id, place);
      const { ownerReferences = [] } = object.metadata;
      isBlocked ||= ownerReferences.some(
        (each) => each['uid'] === uid && each['blockOwnerDeletion'] === true,
      );
    }
    if (!isBlocked) this.#release(owner, FOREGROUND);
  }

  #collectIfUnowned(place: Place, object: ApiObject): void {
    const { ownerReferences = [], finalizers = [], uid = '' } = object.metadata;
    if (place.storage === NAMESPACES || ownerReferences.length === 0) return;
    const states = ownerReferences.map((reference) => this.#stateOf(reference, object));
    if (states.every((state) => state === 'present')) return;
    const left = ownerReferences.filter((_, index) => states[index] === 'present');
    if (left.length > 0) {
      this.#store.put(place.storage, withMetadata(object, { ownerReferences: left }));
      return;
    }
    const dependents = [...this.#dependentsOf(uid).values()];
    const isForeground = states.includes('waiting') && dependents.length > 0;
    if (isForeground && dependents.some((each) => this.#isWaiting(this.#objectAt(each)))) {
      // Without this, dependents in a cycle would wait for each other forever.
      const unblocked = ownerReferences.map((each) => ({ ...each, blockOwnerDeletion: false }));
      this.#store.put(place.storage, withMetadata(object, { ownerReferences: unblocked }));
    }
    const live = this.#store.get(place.storage, place.key);
    if (live === undefined) return;
    const own = finalizers.includes(ORPHAN)
      ? 'Orphan'
      : finalizers.includes(FOREGROUND)
        ? 'Foreground'
        : 'Background';
    const context = { store: this.#store, clock: this.#clock };
    removeStored(context, place.storage, live, {
      isDryRun: false,
      propagation: isForeground ? 'Foreground' : own,
    });
  }

  /** Removes a finalizer from an object that is being deleted. Removes the object if it has no other finalizer. */
  #release({ storage, key }: Place, finalizer: string): void {
    const object = this.#objectAt({ storage, key });
    if (object === undefined) return;
    const left = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
    const next = withMetadata(object, { finalizers: orNone(left) });
    const isHeld = this.#resources.some((each) => each.storage === storage && each.isHeld?.(next));
    if (left.length > 0 || isHeld) this.#store.put(storage, next);
    else this.#store.remove(storage, key);
  }

  #stateOf(reference: JsonObject, dependent: ApiObject): OwnerState {
    const place = this.#ownerPlace(reference, dependent.metadata.namespace);
    if (place === undefined) return 'present';
    const owner = this.#objectAt(place);
    if (owner === undefined || owner.metadata.uid !== reference['uid']) return 'absent';
    return this.#isWaiting(owner) ? 'waiting' : 'present';
  }

  #isWaiting(object: ApiObject | undefined): boolean {
    const { deletionTimestamp, finalizers = [] } = object?.metadata ?? {};
    return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND);
  }

  #ownerIsDue(reference: JsonObject, { key }: Place): void {
    const owner = this.#ownerPlace(reference, key.includes('/') ? key.slice(0, key.indexOf('/')) : undefined);
    if (owner !== undefined) this.#due.set(idOf(owner), owner);
  }

  /**
   * Returns the place of an owner of an object in this namespace. Undefined: the owner's kind is not served, or the owner
   * cannot own the object.
   */
  #ownerPlace({ apiVersion, kind, name }: JsonObject, namespace: string | undefined): Place | undefined {
    const definition = this.#kinds.get(`${apiVersion} ${kind}`);
    if (definition === undefined) return undefined;
    const { storage, isNamespaced } = definition;
    if (!isNamespaced) return { storage, key: String(name) };
    return namespace === undefined ? undefined : { storage, key: `${namespace}/${name}` };
  }

  #dependentsOf(uid: string): ReadonlyMap<string, Place> {
    return new Map(this.#dependents.get(uid) ?? []);
  }

  #objectAt({ storage, key }: Place): ApiObject | undefined {
    return this.#store.get(storage, key)?.object;
  }
}

function idOf({ storage, key }: Place): string {
  return `${storage} ${key}`;
}

function isSame(before: readonly JsonObject[], after: readonly JsonObject[]): boolean {
  if (before.length !== after.length) return false;
  return before.length === 0 || JSON.stringify(before) === JSON.stringify(after);
}

function orNone<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
