import type { Instant } from './clock.ts';

interface Entry {
  readonly key: string;
  readonly at: Instant;
  /** Sequence number of the `set` call. Keys with the same deadline leave the heap in this order. */
  readonly order: number;
  /** The index in the heap. */
  position: number;
}

/** A binary heap of keys, ordered by deadline. Each key has one deadline. `set`, `delete` and `popDue` are O(log n). */
export class DeadlineHeap {
  readonly #heap: Entry[] = [];
  readonly #entries = new Map<string, Entry>();
  #order = 0;

  get(key: string): Instant | undefined {
    return this.#entries.get(key)?.at;
  }

  /** Sets the deadline of `key`. If `key` already has a deadline, replaces it. */
  set(key: string, at: Instant): void {
    this.delete(key);
    const entry = { key, at, order: this.#order++, position: this.#heap.length };
    this.#entries.set(key, entry);
    this.#rise(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return;
    // The last entry of the heap fills the gap. This entry may have to move up or down, but never both.
    last.position = entry.position;
    this.#sink(last);
    this.#rise(last);
  }

  get size(): number {
    return this.#heap.length;
  }

  get earliest(): Instant | undefined {
    return this.#heap[0]?.at;
  }

  /** Removes and returns the key with the earliest deadline, if that deadline has passed. */
  popDue(now: Instant): string | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return undefined;
    this.delete(first.key);
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #rise(entry: Entry): void {
    while (entry.position > 0) {
      const parent = this.#heap[(entry.position - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) break;
      this.#moveTo(entry, parent);
    }
    this.#heap[entry.position] = entry;
  }

  #sink(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.position + 1];
      const right = this.#heap[2 * entry.position + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) break;
      this.#moveTo(entry, child);
    }
    this.#heap[entry.position] = entry;
  }

  /** Swaps the positions of two entries. Stores only `other` in the heap: the caller stores `entry`. */
  #moveTo(entry: Entry, other: Entry): void {
    const { position } = other;
    this.#heap[entry.position] = other;
    other.position = entry.position;
    entry.position = position;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
