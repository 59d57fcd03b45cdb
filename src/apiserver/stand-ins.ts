import type { Clock } from '../support/clock.ts';
import { withMetadata } from './operations/context.ts';
import type { ApiObject } from './schema/api-object.ts';
import type { ObjectStore } from './storage/object-store.ts';

/**
 * What a kube-controller-manager and etcd's leases do for these resources in a whole cluster: namespaces that are deleted
 * are emptied and go, finalizers of the garbage collector are settled, Events expire.
 */
export interface StandIns {
  stop(): void;
}

const GARBAGE_COLLECTION: readonly string[] = ['orphan', 'foregroundDeletion'];
const EVENT_LIFE_MS = 3_600_000;
const EXPIRY_ROUND_MS = 60_000;
const EVENTS = 'events';
const NAMESPACES = 'namespaces';

/** Starts to act on what is in the store; `namespaced` names the storages whose objects are in namespaces. */
export function startStandIns(store: ObjectStore, clock: Clock, namespaced: readonly string[]): StandIns {
  const positions = new Map<string, number>();
  let isAwake = false;
  let cancelRound = () => {};
  let cancelExpiry = () => {};

  /** After the write that woke it has been answered: it must not change the store while that write goes on. */
  function wake(): void {
    if (isAwake) return;
    isAwake = true;
    cancelRound = clock.setTimer(() => {
      isAwake = false;
      for (const storage of namespaced)
        for (const key of changed(storage)) settleFinalizers(store, storage, key);
      purgeNamespaces(store, namespaced);
    }, 0);
  }

  /** The keys of what was written since this was last asked; all of them where nobody knows any more, as at the start. */
  function changed(storage: string): readonly string[] {
    const history = store.history(storage);
    const from = positions.get(storage);
    positions.set(storage, history.end);
    const keys = new Set<string>();
    for (let position = from ?? history.end; position < history.end; position += 1) {
      const event = history.at(position);
      if (event === 'expired') return allKeys(store, storage);
      if (event !== undefined) keys.add(event.stored.key);
    }
    return from === undefined ? allKeys(store, storage) : [...keys];
  }

  function expireEvents(): void {
    cancelExpiry = clock.setTimer(expireEvents, EXPIRY_ROUND_MS);
    const limitMs = Number(clock.wallTime() / 1000n) - EVENT_LIFE_MS;
    for (const { key, object } of store.list(EVENTS)) {
      if (lastSeenMs(object) < limitMs) store.remove(EVENTS, key);
    }
  }

  const unsubscribe = [...namespaced, NAMESPACES].map((storage) => store.onChange(storage, wake));
  wake();
  expireEvents();
  return {
    stop() {
      for (const each of unsubscribe) each();
      cancelRound();
      cancelExpiry();
    },
  };
}

function allKeys(store: ObjectStore, storage: string): readonly string[] {
  return store.list(storage).map(({ key }) => key);
}

function settleFinalizers(store: ObjectStore, storage: string, key: string): void {
  const object = store.get(storage, key)?.object;
  if (object?.metadata.deletionTimestamp === undefined) return;
  const { finalizers = [] } = object.metadata;
  const left = finalizers.filter((each) => !GARBAGE_COLLECTION.includes(each));
  if (left.length === finalizers.length) return;
  if (left.length === 0) store.remove(storage, key);
  else store.put(storage, withMetadata(object, { finalizers: left }));
}

function purgeNamespaces(store: ObjectStore, namespaced: readonly string[]): void {
  for (const { key, object } of store.list(NAMESPACES)) {
    if (object.metadata.deletionTimestamp === undefined) continue;
    let isEmpty = true;
    for (const storage of namespaced) {
      for (const each of store.list(storage, key)) {
        if ((each.object.metadata.finalizers ?? []).length === 0) store.remove(storage, each.key);
        else isEmpty = false;
      }
    }
    if (isEmpty) store.remove(NAMESPACES, key);
  }
}

/** When an Event last happened, in milliseconds since the Unix epoch. */
function lastSeenMs({ metadata, ...event }: ApiObject): number {
  const series = event['series'] as { lastObservedTime?: string } | undefined;
  const times = [
    series?.lastObservedTime,
    event['lastTimestamp'],
    event['eventTime'],
    metadata.creationTimestamp,
  ];
  return Math.max(...times.map((time) => (typeof time === 'string' ? Date.parse(time) : 0)));
}
