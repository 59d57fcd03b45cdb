import { sourceOf } from '../../src/coordination/candidate-sources.ts';
import { formatSeconds } from '../../src/coordination/micro-time.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock } from '../../src/support/clock.ts';
import type { JsonObject } from '../../src/support/json.ts';

export type SimResource = 'leases' | 'leasecandidates' | 'customcandidates' | 'pods' | 'namespaces';

/** A change, as a watch reports it. */
export interface SimChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: SimResource;
  readonly object: KubernetesObject;
  readonly revision: number;
  /** As a line of a watch; all watchers share it. */
  line?: Uint8Array;
}

const FIRST_REVISION = 100;

/** All objects of a simulated server: one revision per write, and the history from which watches resume. */
export class SimStore {
  readonly #clock: Clock;
  #objects: Record<SimResource, Map<string, KubernetesObject>> = {
    customcandidates: new Map(),
    leases: new Map(),
    leasecandidates: new Map(),
    pods: new Map(),
    namespaces: new Map(),
  };
  readonly #listeners = new Set<(change: SimChange) => void>();
  /** All changes after `#historyFrom`, one for each revision. */
  #history: SimChange[] = [];
  #historyFrom = FIRST_REVISION;
  #forgottenUpTo = 0;
  #uids = 0;
  revision = FIRST_REVISION;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(resource: SimResource, key: string): KubernetesObject | undefined {
    return this.#objects[resource].get(key);
  }

  list(resource: SimResource): readonly KubernetesObject[] {
    return [...this.#objects[resource].values()];
  }

  /** Returns a LeaseCandidate of either source. If both have one of this name: the native one. */
  candidate(key: string): KubernetesObject | undefined {
    return this.get('leasecandidates', key) ?? this.get('customcandidates', key);
  }

  /** Returns the LeaseCandidates of both sources. */
  candidates(): readonly KubernetesObject[] {
    return [...this.list('leasecandidates'), ...this.list('customcandidates')];
  }

  create(resource: SimResource, object: KubernetesObject): KubernetesObject {
    const uid = `uid-${++this.#uids}`;
    const creationTimestamp = formatSeconds(this.#clock.wallTime());
    return this.#put('ADDED', resource, {
      ...object,
      metadata: { ...object.metadata, uid, creationTimestamp },
    });
  }

  /** Stores `next` in place of `object`. As on a real server, a write without a change makes no new revision. */
  update(resource: SimResource, object: KubernetesObject, next: KubernetesObject): KubernetesObject {
    if (isSame(next, object)) return object;
    return this.#put('MODIFIED', resource, next);
  }

  remove(resource: SimResource, object: KubernetesObject): KubernetesObject {
    this.#objects[resource].delete(keyOf(object));
    return this.#tell('DELETED', resource, object);
  }

  /** Removes an object without an event, as a restore from a backup does. */
  lose(resource: SimResource, key: string): void {
    this.#objects[resource].delete(key);
  }

  /** Forgets the history: a watch cannot resume from before now (410). */
  compact(): void {
    this.#history = [];
    this.#forgottenUpTo = this.revision;
    this.#historyFrom = this.revision;
  }

  /** Takes a backup. Its restore undoes all later writes, including their revisions, without events. */
  backUp(): () => void {
    const { leases, leasecandidates, customcandidates, pods, namespaces } = this.#objects;
    const objects = {
      leases: new Map(leases),
      leasecandidates: new Map(leasecandidates),
      customcandidates: new Map(customcandidates),
      pods: new Map(pods),
      namespaces: new Map(namespaces),
    };
    const { revision } = this;
    return () => {
      this.#objects = objects;
      this.revision = revision;
      this.compact();
    };
  }

  /**
   * Reports all changes after `revision`, past and future, until the caller calls the returned function. As on a real
   * server, a future revision is waited for.
   */
  watch(revision: number, listener: (change: SimChange) => void): () => void {
    for (const change of this.since(revision)) listener(change);
    const laterOn = (change: SimChange) => {
      if (change.revision > revision) listener(change);
    };
    this.#listeners.add(laterOn);
    return () => this.#listeners.delete(laterOn);
  }

  /** Returns all changes after `revision` so far. */
  since(revision: number): readonly SimChange[] {
    if (revision < this.#forgottenUpTo) throw refusal(410, 'Expired', `revision ${revision} is too old`);
    return this.#history.slice(Math.max(0, revision - this.#historyFrom));
  }

  #put(type: 'ADDED' | 'MODIFIED', resource: SimResource, object: KubernetesObject): KubernetesObject {
    const stored = this.#tell(type, resource, object);
    this.#objects[resource].set(keyOf(stored), stored);
    return stored;
  }

  #tell(type: SimChange['type'], resource: SimResource, object: KubernetesObject): KubernetesObject {
    const revision = ++this.revision;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } };
    const change = { type, resource, object: stored, revision };
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
    return stored;
  }
}

/** Returns the source of a LeaseCandidate. */
export function candidateResourceOf({ apiVersion }: KubernetesObject): SimResource {
  return sourceOf(apiVersion) === 'custom' ? 'customcandidates' : 'leasecandidates';
}

/** In most cases, renewTime differs. */
function isSame(a: KubernetesObject, b: KubernetesObject): boolean {
  const [specA, specB] = [a['spec'] as JsonObject | undefined, b['spec'] as JsonObject | undefined];
  return specA?.['renewTime'] === specB?.['renewTime'] && JSON.stringify(a) === JSON.stringify(b);
}

/** An error response of the API server. */
export function refusal(status: number, reason: string, message: string): ApiError {
  return new ApiError({ method: 'SIM', path: '', status, reason, message });
}

export function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Applies an RFC 7386 merge patch: null removes, objects merge, any other value replaces. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch as JsonObject)) {
    if (value === null) delete merged[name];
    else merged[name] = applyMergePatch(merged[name], value);
  }
  return merged;
}
