import type { Instant } from '../../support/clock.ts';
import { DeadlineHeap } from '../../support/deadline-heap.ts';

/** Further apart than any two instants of one process, in milliseconds. */
const LEVEL_MS = 1e13;

/**
 * Keys in the order in which they are fairly served (rule 9): namespaces in turn, so that none holds up the others; in
 * each the keys of the lowest level first, and of those the one that has waited since the earliest moment.
 */
export class FairKeys {
  /** The namespace whose turn it is comes first. */
  readonly #namespaces = new Map<string, DeadlineHeap>();

  /** Takes a key in, or moves it. */
  set(key: string, namespace: string, level: number, since: Instant): void {
    const keys = this.#namespaces.get(namespace) ?? new DeadlineHeap();
    keys.set(key, level * LEVEL_MS + since);
    this.#namespaces.set(namespace, keys);
  }

  delete(key: string, namespace: string): void {
    const keys = this.#namespaces.get(namespace);
    keys?.delete(key);
    if (keys?.earliest === undefined) this.#namespaces.delete(namespace);
  }

  /** Removes and returns the next key. */
  shift(): string | undefined {
    for (const [namespace, keys] of this.#namespaces) {
      this.#namespaces.delete(namespace);
      const key = keys.popDue(Number.POSITIVE_INFINITY);
      if (keys.earliest !== undefined) this.#namespaces.set(namespace, keys);
      return key;
    }
    return undefined;
  }

  clear(): void {
    this.#namespaces.clear();
  }
}
