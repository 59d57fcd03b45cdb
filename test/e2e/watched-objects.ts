import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../control-plane/control-plane.ts';

/** An object as the API server shows it to whoever watches. */
export interface WatchedObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A Lease, with the fields that tests look at. */
export interface WatchedLease extends WatchedObject {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly preferredHolder?: string;
    readonly strategy?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

/** One thing that happened to an object. */
export interface Change<T extends WatchedObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  /** On this process's monotonic clock, in milliseconds. */
  readonly at: number;
}

/** Everything that happens to the objects of one resource, in every namespace. */
export interface WatchedObjects<T extends WatchedObject> {
  /** Every change of one object so far, the oldest first; a later object of the same name is in there too. */
  history(namespace: string, name: string): readonly Change<T>[];
  /** The object as it is now; undefined while there is none. */
  current(namespace: string, name: string): T | undefined;
  /** The first change of one object that matches, be it past or still to come; `since` skips that many of the earliest. */
  waitFor(
    namespace: string,
    name: string,
    matches: (object: T, type: Change<T>['type']) => boolean,
    options?: { readonly since?: number; readonly timeoutMs?: number },
  ): Promise<Change<T>>;
  /** Calls `listener` with every change from now on. */
  onChange(listener: (change: Change<T>) => void): void;
  stop(): void;
}

interface WatchLine<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

/**
 * Watches one resource by requests of its own, so that what a test sees does not depend on the very code it tests.
 * `collection` is a path like `/apis/coordination.k8s.io/v1/leases`. Resolves once the API server answers.
 */
export async function watchObjects<T extends WatchedObject>(
  plane: ControlPlane,
  collection: string,
): Promise<WatchedObjects<T>> {
  const histories = new Map<string, Change<T>[]>();
  const listeners = new Set<(change: Change<T>) => void>();
  const stopping = new AbortController();

  const historyOf = (key: string) => {
    const known = histories.get(key) ?? [];
    histories.set(key, known);
    return known;
  };

  function take({ type, object }: WatchLine<T>): void {
    if (type === 'BOOKMARK' || type === 'ERROR') return;
    const history = historyOf(`${object.metadata.namespace}/${object.metadata.name}`);
    const last = history.at(-1);
    // A watch that starts again begins with what there is, most of which is known.
    if (
      last?.object.metadata.resourceVersion === object.metadata.resourceVersion &&
      last.type !== 'DELETED' &&
      type !== 'DELETED'
    )
      return;
    const change = { type, object, at: performance.now() };
    history.push(change);
    for (const listener of listeners) listener(change);
  }

  const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
  void (async () => {
    while (!stopping.signal.aborted) {
      await watchOnce(plane, collection, take, resolve, stopping.signal).catch(reject);
      await sleep(200, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  await answered;

  return {
    history: (namespace, name) => historyOf(`${namespace}/${name}`),
    current(namespace, name) {
      const last = historyOf(`${namespace}/${name}`).at(-1);
      return last === undefined || last.type === 'DELETED' ? undefined : last.object;
    },
    waitFor(namespace, name, matches, { since = 0, timeoutMs = 60_000 } = {}) {
      const history = historyOf(`${namespace}/${name}`);
      const past = history.slice(since).find(({ object, type }) => matches(object, type));
      if (past) return Promise.resolve(past);
      // Made here, so that its stack leads to the test that waits.
      const failure = new Error(`${namespace}/${name} did not come to be as awaited within ${timeoutMs} ms`);
      return new Promise((resolve, reject) => {
        const listener = (change: Change<T>) => {
          const { metadata } = change.object;
          if (metadata.namespace !== namespace || metadata.name !== name) return;
          if (!matches(change.object, change.type)) return;
          clearTimeout(timer);
          listeners.delete(listener);
          resolve(change);
        };
        const timer = setTimeout(() => {
          listeners.delete(listener);
          const seen = history.slice(-4).map(({ type, object }) => `${type} ${JSON.stringify(object.spec)}`);
          failure.message += `; of its ${history.length} changes the last ones:\n${seen.join('\n')}`;
          reject(failure);
        }, timeoutMs);
        listeners.add(listener);
      });
    },
    onChange: (listener) => void listeners.add(listener),
    stop: () => stopping.abort(),
  };
}

/** One watch until it ends, for whatever reason: API servers end them after a while. */
function watchOnce<T>(
  plane: ControlPlane,
  collection: string,
  take: (line: WatchLine<T>) => void,
  onAnswer: () => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(`${collection}?watch=1`, plane.url), {
      ca: readFileSync(plane.caFile),
      agent: false,
      signal,
      headers: { authorization: `Bearer ${plane.adminToken}`, accept: 'application/json' },
    });
    outgoing.once('error', () => resolve());
    outgoing.once('response', (incoming) => {
      if (incoming.statusCode !== 200) {
        reject(new Error(`watching ${collection}: ${incoming.statusCode}`));
        return;
      }
      onAnswer();
      incoming.once('error', () => resolve());
      incoming.once('close', () => resolve());
      createInterface({ input: incoming })
        .on('line', (line) => take(JSON.parse(line) as WatchLine<T>))
        .on('error', () => resolve());
    });
    outgoing.end();
  });
}
