import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '../control-plane/control-plane.ts';

/** What every watched object has. */
interface WatchedObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
}

/** A Lease as the API server shows it, as far as these tests look at it. */
export interface LeaseObject extends WatchedObject {
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

/** A LeaseCandidate of v1beta1, likewise. */
export interface LeaseCandidateObject extends WatchedObject {
  readonly spec: {
    readonly leaseName: string;
    readonly renewTime?: string;
    readonly pingTime?: string;
  };
}

/** One version of an object, in the order in which the server made them. */
export interface Sighting<T extends WatchedObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  /** When it was seen here: milliseconds since the Unix epoch. */
  readonly seenAt: number;
}

/** Every version of every object of one collection, from when the watch began. */
export interface ObjectWatch<T extends WatchedObject> {
  readonly sightings: readonly Sighting<T>[];
  /** Those of the object called `name`, the latest last. */
  historyOf(name: string): readonly Sighting<T>[];
  /** The object called `name` as it was seen last; undefined when it does not exist. */
  latest(name: string): T | undefined;
  /** Calls `listener` with every later sighting of `name`; the returned function ends that. */
  onSighting(name: string, listener: (sighting: Sighting<T>) => void): () => void;
  /**
   * The first sighting of `name` that matches, be it past or still to come; `since` skips that many of its earliest.
   * @throws Error when none has come within `timeoutMs`, 30 s by default.
   */
  until(
    name: string,
    matches: (sighting: Sighting<T>) => boolean,
    describe: string,
    options?: { readonly since?: number; readonly timeoutMs?: number },
  ): Promise<Sighting<T>>;
  stop(): void;
}

const coordinationApi = '/apis/coordination.k8s.io';

export function watchLeases(plane: ControlPlane, namespace: string): Promise<ObjectWatch<LeaseObject>> {
  return watchObjects(plane, `${coordinationApi}/v1/namespaces/${namespace}/leases`);
}

export function watchCandidates(
  plane: ControlPlane,
  namespace: string,
): Promise<ObjectWatch<LeaseCandidateObject>> {
  return watchObjects(plane, `${coordinationApi}/v1beta1/namespaces/${namespace}/leasecandidates`);
}

/**
 * Watches a collection as the administrator. Versions are seen one by one, none is skipped: a server that ends a watch,
 * as it does where a client is too slow, is asked for what came next.
 */
async function watchObjects<T extends WatchedObject>(
  plane: ControlPlane,
  path: string,
): Promise<ObjectWatch<T>> {
  const { items, metadata } = await plane.request<{
    items: T[];
    metadata: { resourceVersion: string };
  }>('GET', path);
  const sightings: Sighting<T>[] = [];
  const histories = new Map<string, Sighting<T>[]>();
  const listeners = new Listeners<T>();

  function see(sighting: Sighting<T>): void {
    const { name } = sighting.object.metadata;
    sightings.push(sighting);
    const history = histories.get(name);
    if (history) history.push(sighting);
    else histories.set(name, [sighting]);
    listeners.tell(sighting);
  }
  for (const object of items) see({ type: 'ADDED', object, seenAt: Date.now() });

  let resourceVersion = metadata.resourceVersion;
  let stopCurrent = () => {};
  let isStopped = false;
  let failure: unknown;
  const ca = await readFile(plane.caFile, 'utf8');
  const watchOnce = async () => {
    const { lines, stop } = await openWatch(plane, `${path}?watch=1&resourceVersion=${resourceVersion}`, ca);
    stopCurrent = stop;
    // A connection that was reset ends it as well.
    const ended = once(lines, 'close').catch(() => {});
    lines.on('line', (line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: T };
      if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') throw new Error(`${path}: ${line}`);
      resourceVersion = object.metadata.resourceVersion;
      see({ type, object, seenAt: Date.now() });
    });
    return { ended };
  };
  let current = await watchOnce();
  const watching = (async () => {
    for (;;) {
      await current.ended;
      if (isStopped) return;
      current = await watchOnce();
    }
  })();
  watching.catch((error: unknown) => {
    failure = error;
  });

  return {
    sightings,
    historyOf: (name) => histories.get(name) ?? [],
    latest(name) {
      const last = histories.get(name)?.at(-1);
      return last?.type === 'DELETED' ? undefined : last?.object;
    },
    onSighting: (name, listener) => listeners.add(name, listener),
    until(name, matches, describe, { since = 0, timeoutMs = 30_000 } = {}) {
      const past = (histories.get(name) ?? []).slice(since).find(matches);
      if (past) return Promise.resolve(past);
      return new Promise((resolve, reject) => {
        const remove = listeners.add(name, (sighting) => {
          if (!matches(sighting)) return;
          clearTimeout(timer);
          remove();
          resolve(sighting);
        });
        const timer = setTimeout(() => {
          remove();
          const last = histories.get(name)?.at(-1);
          const state = last ? `${last.type} ${JSON.stringify(last.object)}` : 'never seen';
          const problem = `${name}: not within ${timeoutMs} ms: ${describe}; it is ${state}`;
          reject(new Error(problem, { cause: failure }));
        }, timeoutMs);
      });
    },
    stop() {
      isStopped = true;
      stopCurrent();
    },
  };
}

/** By name: with a thousand of them, asking each about every version would slow the watch down. */
class Listeners<T extends WatchedObject> {
  readonly #byName = new Map<string, Set<(sighting: Sighting<T>) => void>>();

  add(name: string, listener: (sighting: Sighting<T>) => void): () => void {
    const all = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, all.add(listener));
    return () => all.delete(listener);
  }

  tell(sighting: Sighting<T>): void {
    for (const listener of [...(this.#byName.get(sighting.object.metadata.name) ?? [])]) listener(sighting);
  }
}

async function openWatch(plane: ControlPlane, path: string, ca: string) {
  const outgoing = request(new URL(path, plane.url), {
    ca,
    agent: false,
    headers: { authorization: `Bearer ${plane.adminToken}`, accept: 'application/json' },
  });
  const incoming = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    outgoing.end();
  });
  // How it ends is told by the lines that end.
  outgoing.on('error', () => {});
  incoming.on('error', () => {});
  const lines = createInterface({ input: incoming });
  lines.on('error', () => lines.close());
  return { lines, stop: () => outgoing.destroy() };
}
