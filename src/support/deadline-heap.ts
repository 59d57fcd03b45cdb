import type { Instant } from './clock.ts';

interface Entry {
  readonly key: string;
  readonly at: Instant;
  /** Breaks ties: keys with the same deadline leave the heap in the order in which they entered it. */
  readonly order: number;
}

/** A heap of keys by deadline, with one deadline per key (rule 9). Every operation is O(log n) or better. */
export class DeadlineHeap {
  readonly #entries: Entry[] = [];
  readonly #positions = new Map<string, number>();
  #order = 0;

  /** Returns the deadline of `key`; undefined if it has none. */
  get(key: string): Instant | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#entries[position]?.at;
  }

  /** Sets the deadline of `key`. Replaces an earlier one. */
  set(key: string, at: Instant): void {
    this.delete(key);
    this.#entries.push({ key, at, order: this.#order++ });
    this.#rise(this.#entries.length - 1);
  }

  delete(key: string): void {
    const position = this.#positions.get(key);
    if (position === undefined) return;
    this.#positions.delete(key);
    const last = this.#entries.pop();
    if (last === undefined || last.key === key) return;
    this.#entries[position] = last;
    // The last entry fills the gap. It may have to move up or down, but never both.
    this.#sink(position);
    this.#rise(position);
  }

  get size(): number {
    return this.#entries.length;
  }

  get earliest(): Instant | undefined {
    return this.#entries[0]?.at;
  }

  /** Removes and returns the key with the earliest deadline, if that deadline has passed. */
  popDue(now: Instant): string | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.at > now) return undefined;
    this.delete(first.key);
    return first.key;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#positions.clear();
  }

  #rise(from: number): void {
    let position = from;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (!this.#isBefore(position, parent)) break;
      this.#swap(position, parent);
      position = parent;
    }
    this.#place(position);
  }

  #sink(from: number): void {
    let position = from;
    for (;;) {
      const left = 2 * position + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(child, position)) break;
      this.#swap(position, child);
      position = child;
    }
    this.#place(position);
  }

  #isBefore(first: number, second: number): boolean {
    const a = this.#entries[first];
    const b = this.#entries[second];
    if (a === undefined || b === undefined) return false;
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swap(first: number, second: number): void {
    const a = this.#entries[first];
    const b = this.#entries[second];
    if (a === undefined || b === undefined) return;
    this.#entries[first] = b;
    this.#entries[second] = a;
    this.#place(first);
    this.#place(second);
  }

  #place(position: number): void {
    const entry = this.#entries[position];
    if (entry !== undefined) this.#positions.set(entry.key, position);
  }
}
