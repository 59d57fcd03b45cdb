import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';
import type { Lease } from './cluster-objects.ts';
import { type ChangeType, followObjects, type WatchedObject } from './followed-objects.ts';

export interface WatchedLease extends WatchedObject {
  readonly spec: Lease['spec'];
}

/** A LeaseCandidate with the fields that all versions of its API have. */
export interface WatchedCandidate extends WatchedObject {
  readonly spec: { readonly renewTime?: string; readonly pingTime?: string };
}

/** A Pod with its kubelet's report about its containers. */
export interface WatchedPod extends WatchedObject {
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly ready: boolean;
      readonly state: { readonly terminated?: { readonly containerID: string } };
      readonly lastState: { readonly terminated?: { readonly containerID: string } };
    }[];
  };
}

/** A change of an object. */
export interface Change<T extends WatchedObject> {
  readonly type: ChangeType;
  readonly object: T;
  /** By this process's monotonic clock, in milliseconds: for durations. */
  readonly at: number;
  /** In milliseconds since the Unix epoch: for comparison with times that others wrote. */
  readonly wallMs: number;
}

/** All changes of the objects of one resource, in all namespaces. */
export interface WatchedObjects<T extends WatchedObject> {
  /** All changes of one object so far, oldest first, including later objects of the same name. */
  history(namespace: string, name: string): readonly Change<T>[];
  /** The current object; undefined if there is none. */
  current(namespace: string, name: string): T | undefined;
  /** Resolves to the first matching change of one object, past or future; `since` skips that many of the earliest. */
  waitFor(
    namespace: string,
    name: string,
    matches: (object: T, type: ChangeType) => boolean,
    options?: { readonly since?: number; readonly timeoutMs?: number },
  ): Promise<Change<T>>;
  /** Calls `listener` with every future change of one object. */
  onChange(namespace: string, name: string, listener: (change: Change<T>) => void): void;
  stop(): void;
}

/** The changes and listeners of one object. With a thousand objects, a listener must not be called for all. */
interface Watched<T extends WatchedObject> {
  readonly history: Change<T>[];
  readonly listeners: Set<(change: Change<T>) => void>;
}

export function watchLeases(plane: CoordinationServer): Promise<WatchedObjects<WatchedLease>> {
  return watchObjects(plane, '/apis/coordination.k8s.io/v1/leases');
}

export function watchCandidates(
  plane: CoordinationServer,
  apiVersion: CandidateApiVersion = 'coordination.k8s.io/v1beta1',
): Promise<WatchedObjects<WatchedCandidate>> {
  return watchObjects(plane, resourcePaths.candidates(apiVersion, ''));
}

export function watchPods(plane: CoordinationServer): Promise<WatchedObjects<WatchedPod>> {
  return watchObjects(plane, resourcePaths.pods(''));
}

async function watchObjects<T extends WatchedObject>(
  plane: CoordinationServer,
  collection: string,
): Promise<WatchedObjects<T>> {
  const all = new Map<string, Watched<T>>();

  function watched(namespace: string, name: string): Watched<T> {
    const key = `${namespace}/${name}`;
    const known = all.get(key) ?? { history: [], listeners: new Set() };
    all.set(key, known);
    return known;
  }

  function see(type: ChangeType, object: T): void {
    const { history, listeners } = watched(object.metadata.namespace, object.metadata.name);
    const change = { type, object, at: performance.now(), wallMs: Date.now() };
    history.push(change);
    for (const listener of [...listeners]) listener(change);
  }

  const watch = await followObjects(plane, collection, see);

  return {
    history: (namespace, name) => watched(namespace, name).history,
    current(namespace, name) {
      const last = watched(namespace, name).history.at(-1);
      return last?.type === 'DELETED' ? undefined : last?.object;
    },
    waitFor(namespace, name, matches, { since = 0, timeoutMs = 60_000 } = {}) {
      const { history, listeners } = watched(namespace, name);
      const past = history.slice(since).find(({ object, type }) => matches(object, type));
      if (past) return Promise.resolve(past);
      // Created here, so that its stack contains the waiting test.
      const late = new Error(`${namespace}/${name} did not come to be as awaited within ${timeoutMs} ms`);
      return new Promise((resolve, reject) => {
        const listener = (change: Change<T>) => {
          if (!matches(change.object, change.type)) return;
          clearTimeout(timer);
          listeners.delete(listener);
          resolve(change);
        };
        const timer = setTimeout(() => {
          listeners.delete(listener);
          const seen = history.slice(-4).map(({ type, object }) => `${type} ${JSON.stringify(object.spec)}`);
          late.message += `; of its ${history.length} changes the last ones:\n${seen.join('\n')}`;
          const failure = watch.failure();
          if (failure !== undefined) late.cause = failure;
          reject(late);
        }, timeoutMs);
        listeners.add(listener);
      });
    },
    onChange: (namespace, name, listener) => void watched(namespace, name).listeners.add(listener),
    stop: () => watch.stop(),
  };
}
