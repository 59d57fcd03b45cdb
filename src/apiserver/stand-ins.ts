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
 * What a kube-controller-manager and etcd's leases do for these resources in a whole cluster: namespaces that are deleted
 * are emptied and go, objects whose owners are gone are deleted, Events expire.
 */
export interface StandIns {
  stop(): void;
}

const EVENT_LIFE_MS = 3_600_000;
const EXPIRY_ROUND_MS = 60_000;
const EVENTS = 'events';
const NAMESPACES = 'namespaces';

/** So few in a row that watchers can follow: their history is bounded. */
const MAX_IN_A_ROW = 50;

export interface StandInOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly slices: Slices;
  readonly resources: readonly ResourceDefinition[];
  /** Called when something cannot be stored, as on a full disk; it is tried again after the next write. */
  readonly onError: (error: unknown) => void;
}

/** Starts to act on what is in the store. */
export function startStandIns({ store, clock, slices, resources, onError }: StandInOptions): StandIns {
  const namespaced = [...new Set(resources.filter((each) => each.isNamespaced).map((each) => each.storage))];
  const collector = new GarbageCollector({ store, clock, resources });
  const positions = new Map<string, number>();
  let isStopped = false;
  let isAwake = false;
  let isRunning = false;
  let cancelRound = () => {};
  let cancelExpiry = () => {};

  /** After the write that woke it has been answered: it must not change the store while that write goes on. */
  function wake(): void {
    if (isAwake) return;
    isAwake = true;
    if (!isRunning) cancelRound = clock.setTimer(() => void goRounds(), 0);
  }

  async function goRounds(): Promise<void> {
    isRunning = true;
    while (isAwake && !isStopped) {
      isAwake = false;
      // Nobody knows how far a round came that failed.
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

  /** Removes what is in a namespace and waits for nothing. */
  function* empty(storage: string, namespace: string): Steps<void> {
    for (const [index, { key }] of store.list(storage, namespace).entries()) {
      yield index % MAX_IN_A_ROW === MAX_IN_A_ROW - 1 ? 'rest' : undefined;
      const object = store.get(storage, key)?.object;
      if (isStopped || object === undefined) continue;
      if ((object.metadata.finalizers ?? []).length === 0) store.remove(storage, key);
    }
  }

  /** Tells the collector what was written since the last round. What is not known any more may be anything, as at the start. */
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

/** Undefined: not all of them are known. */
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

/** Lets an empty namespace go, as far as nothing else holds it. */
function finalizeNamespace(store: ObjectStore, name: string): void {
  const namespace = store.get(NAMESPACES, name)?.object;
  if (namespace?.metadata.deletionTimestamp === undefined) return;
  const next = emptied(namespace);
  const isHeld = isHeldBySpec(next) || (next.metadata.finalizers ?? []).length > 0;
  if (!isHeld) store.remove(NAMESPACES, name);
  else if (next !== namespace) store.put(NAMESPACES, next);
}

/**
 * When an object was last written, in milliseconds since the Unix epoch, by the server's own times: those that an Event
 * tells are its client's, and may be ahead.
 */
function lastWriteMs({ metadata }: ApiObject, nowMs: number): number {
  const { creationTimestamp, managedFields = [] } = metadata;
  const times = [creationTimestamp, ...managedFields.map(({ time }) => time)];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => time <= nowMs));
}
