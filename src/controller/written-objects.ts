import type { LeaseKey } from '../coordination/lease-key.ts';
import { type Action, isLeaseWrite } from '../election/decision.ts';

/** An object that was written, or that a write to was refused for: the Lease itself, or one of its candidates. */
export type WrittenObject =
  | { readonly kind: 'lease' }
  | { readonly kind: 'candidate'; readonly name: string; readonly uid: string };

/** What an action writes. */
export function writtenBy(action: Action): WrittenObject {
  return isLeaseWrite(action) ? { kind: 'lease' } : { kind: 'candidate', name: action.name, uid: action.uid };
}

/** Something about each object that was written, until its Lease is forgotten. */
export class WrittenObjects<T> {
  readonly #byLease = new Map<LeaseKey, Map<string | undefined, T>>();

  get(key: LeaseKey, object: WrittenObject): T | undefined {
    return this.#byLease.get(key)?.get(idOf(object));
  }

  set(key: LeaseKey, object: WrittenObject, value: T): void {
    const byId = this.#byLease.get(key) ?? new Map<string | undefined, T>();
    this.#byLease.set(key, byId.set(idOf(object), value));
  }

  delete(key: LeaseKey, object: WrittenObject): void {
    const byId = this.#byLease.get(key);
    if (byId?.delete(idOf(object)) && byId.size === 0) this.#byLease.delete(key);
  }

  /** About how many objects there is something. */
  get size(): number {
    return this.#byLease.values().reduce((total, byId) => total + byId.size, 0);
  }

  forget(key: LeaseKey): void {
    this.#byLease.delete(key);
  }
}

/** The uid of a candidate; undefined for the Lease itself. */
function idOf(object: WrittenObject): string | undefined {
  return object.kind === 'candidate' ? object.uid : undefined;
}
