/** First in, first out, in constant time: an array's own `shift()` moves everything that is left. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head++];
    // Dropping the consumed half only once it is half keeps the cost per item constant.
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }
}
