import type { Clock } from '../support/clock.ts';
import type { Slices, Steps } from '../support/event-loop.ts';
import { GarbageCollector } from './garbage-collector.ts';
import type { ResourceDefinition } from './kinds/definition.ts';
import { emptied, isHeldBySpec } from './kinds/namespaces.ts';
import type { ApiObject } from './schema/api-object.ts';
import type { History } from './storage/history.ts';
import type { ObjectStore } from './storage/object-store.ts';
import type { StoreEvent } from './storage/stored-objects.ts';

/**
 * Replaces parts of kube-controller-manager and of etcd's leases, for these resources: empties and removes deleted
 * namespaces, deletes objects whose owners are gone, and expires Events.
 */
export interface StandIns {
  stop(): void;
}

const EVENT_LIFE_MS = 3_600_000;
const EXPIRY_ROUND_MS = 60_000;
const EVENTS = 'events';
const NAMESPACES = 'namespaces';

/** Maximum number of deletions before a pause, so that watchers can keep up: their history is bounded. */
const MAX_IN_A_ROW = 50;

export interface StandInOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly slices: Slices;
  readonly resources: readonly ResourceDefinition[];
  /** Called if a write cannot be stored, for example on a full disk. The stand-ins retry after the next write. */
  readonly onError: (error: unknown) => void;
}

/** Starts the stand-ins for a store. */
export function startStandIns({ store, clock, slices, resources, onError }: StandInOptions): StandIns {
  const namespaced = [...new Set(resources.filter((each) => each.isNamespaced).map((each) => each.storage))];
  const collector = new GarbageCollector({ store, clock, resources });
  const positions = new Map<string, number>();
  let isStopped = false;
  let isAwake = false;
  let isRunning = false;
  let cancelRound = () => {};
  let cancelExpiry = () => {};

  /** Schedules a round after the current write is answered. A round must not change the store during that write. */
  function wake(): void {
    if (isAwake) return;
    isAwake = true;
    if (!isRunning) cancelRound = clock.setTimer(() => void goRounds(), 0);
  }

  async function goRounds(): Promise<void> {
    isRunning = true;
    while (isAwake && !isStopped) {
      isAwake = false;
      // A failed round may have stopped at any point, so the next round starts over.
      if (!(await attempt(round()))) positions.clear();
    }
    isRunning = false;
  }

  async function attempt(steps: Steps<void>): Promise<boolean> {
    try {
      await slices.run(steps);
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  function* round(): Steps<void> {
    for (const storage of [...namespaced, NAMESPACES]) yield* noteChanges(storage);
    for (const step of collector.collect()) {
      yield step;
      if (isStopped) return;
    }
    for (const { key, object } of store.list(NAMESPACES)) {
      if (object.metadata.deletionTimestamp === undefined) continue;
      for (const storage of namespaced) yield* empty(storage, key);
      const isEmpty = namespaced.every((storage) => store.list(storage, key).length === 0);
      if (isEmpty && !isStopped) finalizeNamespace(store, key);
    }
  }

  /** Removes the objects of a namespace that have no finalizers. */
  function* empty(storage: string, namespace: string): Steps<void> {
    for (const [index, { key }] of store.list(storage, namespace).entries()) {
      yield index % MAX_IN_A_ROW === MAX_IN_A_ROW - 1 ? 'rest' : undefined;
      const object = store.get(storage, key)?.object;
      if (isStopped || object === undefined) continue;
      if ((object.metadata.finalizers ?? []).length === 0) store.remove(storage, key);
    }
  }

  /** Reports the writes since the last round to the collector. If some writes are unknown, reports every object. */
  function* noteChanges(storage: string): Steps<void> {
    const history = store.history(storage);
    const events = eventsSince(history, positions.get(storage));
    positions.set(storage, history.end);
    if (events === undefined) collector.noteGap();
    const keys = events?.map(({ stored }) => stored.key) ?? store.list(storage).map(({ key }) => key);
    for (const key of new Set(keys)) {
      yield;
      collector.noteChange({ storage, key });
    }
    for (const { type, stored } of events ?? []) {
      if (type === 'DELETED') collector.noteRemoval(stored.object.metadata.uid ?? '');
    }
  }

  function* expiry(): Steps<void> {
    const nowMs = Number(clock.wallTime() / 1000n);
    for (const { key } of store.list(EVENTS)) {
      yield;
      const object = store.get(EVENTS, key)?.object;
      if (isStopped || object === undefined) continue;
      if (lastWriteMs(object, nowMs) < nowMs - EVENT_LIFE_MS) store.remove(EVENTS, key);
    }
  }

  async function expireEvents(): Promise<void> {
    await attempt(expiry());
    if (!isStopped) cancelExpiry = clock.setTimer(() => void expireEvents(), EXPIRY_ROUND_MS);
  }

  const unsubscribe = [...namespaced, NAMESPACES].map((storage) => store.onChange(storage, wake));
  wake();
  void expireEvents();
  return {
    stop() {
      isStopped = true;
      for (const each of unsubscribe) each();
      cancelRound();
      cancelExpiry();
    },
  };
}

/** Returns the events from a position on; undefined if some of them are unknown. */
function eventsSince(history: History, position: number | undefined): readonly StoreEvent[] | undefined {
  if (position === undefined) return undefined;
  const events: StoreEvent[] = [];
  for (let next = position; next < history.end; next += 1) {
    const event = history.at(next);
    if (event === 'expired') return undefined;
    if (event !== undefined) events.push(event);
  }
  return events;
}

/** Removes an empty namespace. If other finalizers remain, removes only the finalizer `kubernetes`. */
function finalizeNamespace(store: ObjectStore, name: string): void {
  const namespace = store.get(NAMESPACES, name)?.object;
  if (namespace?.metadata.deletionTimestamp === undefined) return;
  const next = emptied(namespace);
  const isHeld = isHeldBySpec(next) || (next.metadata.finalizers ?? []).length > 0;
  if (!isHeld) store.remove(NAMESPACES, name);
  else if (next !== namespace) store.put(NAMESPACES, next);
}

/**
 * Returns the time of the last write to an object, in milliseconds since the Unix epoch. Uses only the server's own
 * times: the client sets the times in an Event, and they may be in the future.
 */
function lastWriteMs({ metadata }: ApiObject, nowMs: number): number {
  const { creationTimestamp, managedFields = [] } = metadata;
  const times = [creationTimestamp, ...managedFields.map(({ time }) => time)];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => time <= nowMs));
}
