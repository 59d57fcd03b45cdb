/**
 * What waits to be written, by namespaces in turn, and in each in the order in which it came. When it is full, whoever has
 * the most waiting is the one to lose something.
 */
export class EventBacklog<T> {
  readonly #most: number;
  /** The namespace whose turn it is comes first; none is empty. */
  readonly #byNamespace = new Map<string, T[]>();
  #size = 0;

  /** @param most how much may wait */
  constructor(most: number) {
    this.#most = most;
  }

  /** How much waits. */
  get size(): number {
    return this.#size;
  }

  /** Takes one in; returns whether that cost another one, or this one, its place. */
  push(namespace: string, item: T): 'kept' | 'dropped' {
    const items = this.#byNamespace.get(namespace) ?? [];
    items.push(item);
    this.#byNamespace.set(namespace, items);
    this.#size++;
    if (this.#size <= this.#most) return 'kept';
    this.#dropLatestOfLongest();
    return 'dropped';
  }

  /** Removes and returns the next one. */
  shift(): T | undefined {
    for (const [namespace, items] of this.#byNamespace) {
      this.#byNamespace.delete(namespace);
      const item = items.shift();
      if (items.length > 0) this.#byNamespace.set(namespace, items);
      this.#size--;
      return item;
    }
    return undefined;
  }

  #dropLatestOfLongest(): void {
    let [longest = ['', []]] = this.#byNamespace;
    for (const entry of this.#byNamespace) if (entry[1].length > longest[1].length) longest = entry;
    const [namespace, items] = longest;
    items.pop();
    if (items.length === 0) this.#byNamespace.delete(namespace);
    this.#size--;
  }
}
