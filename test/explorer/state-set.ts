/** The explored states, by 128-bit hashes. Each has its predecessor, and the index of the step from it. */
export class StateSet {
  #slots = new Int32Array(1 << 20).fill(-1);
  #hashes = new Int32Array(4 << 16);
  #parents = new Int32Array(1 << 16);
  #steps = new Uint16Array(1 << 16);
  #size = 0;
  readonly #hash = new Int32Array(4);

  get size(): number {
    return this.#size;
  }

  /** Returns the number of the state in order of addition; for a known state, the complement (~) of its number. */
  add(words: Int32Array, length: number, parent: number, step: number): number {
    const found = this.#find(words, length);
    if (found.index >= 0) return ~found.index;
    if (this.#size === this.#parents.length) this.#grow();
    const index = this.#size++;
    this.#hashes.set(this.#hash, 4 * index);
    this.#parents[index] = parent;
    this.#steps[index] = step;
    this.#slots[found.slot] = index;
    if (2 * this.#size > this.#slots.length) this.#rehash();
    return index;
  }

  /** Returns the steps that lead to a state, in order. */
  pathTo(state: number): number[] {
    const path: number[] = [];
    for (let at = state; at > 0; at = this.#parents[at] ?? 0) path.push(this.#steps[at] ?? 0);
    return path.reverse();
  }

  #find(words: Int32Array, length: number): { index: number; slot: number } {
    hash128(words, length, this.#hash);
    const [a, b, c, d] = this.#hash;
    const mask = this.#slots.length - 1;
    for (let slot = (a ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const index = this.#slots[slot] ?? -1;
      if (index < 0) return { index, slot };
      const at = 4 * index;
      const hashes = this.#hashes;
      if (hashes[at] === a && hashes[at + 1] === b && hashes[at + 2] === c && hashes[at + 3] === d)
        return { index, slot };
    }
  }

  #grow(): void {
    this.#hashes = larger(this.#hashes, new Int32Array(2 * this.#hashes.length));
    this.#parents = larger(this.#parents, new Int32Array(2 * this.#parents.length));
    this.#steps = larger(this.#steps, new Uint16Array(2 * this.#steps.length));
  }

  #rehash(): void {
    const slots = new Int32Array(2 * this.#slots.length).fill(-1);
    const mask = slots.length - 1;
    for (let index = 0; index < this.#size; index++) {
      let slot = (this.#hashes[4 * index] ?? 0) & mask;
      while ((slots[slot] ?? -1) >= 0) slot = (slot + 1) & mask;
      slots[slot] = index;
    }
    this.#slots = slots;
  }
}

function larger<T extends Int32Array | Uint16Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Four 32-bit lanes, mixed as in MurmurHash3. */
function hash128(words: Int32Array, length: number, into: Int32Array): void {
  let a = 0x9368e53c ^ length;
  let b = 0x586dcd20;
  let c = 0x1b873593;
  let d = 0x52dce729;
  for (let at = 0; at < length; at++) {
    const word = words[at] ?? 0;
    a = Math.imul(a ^ word, 0x239b961b);
    a = (a << 15) | (a >>> 17);
    b = Math.imul(b ^ (word + a), 0xab0e9789 | 0);
    b = (b << 16) | (b >>> 16);
    c = Math.imul(c ^ word ^ b, 0x38b34ae5);
    c = (c << 17) | (c >>> 15);
    d = Math.imul(d + word + c, 0xa1e38b93 | 0);
    d = (d << 18) | (d >>> 14);
  }
  into[0] = finish(a ^ d);
  into[1] = finish(b + a);
  into[2] = finish(c ^ b);
  into[3] = finish(d + c);
}

function finish(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
