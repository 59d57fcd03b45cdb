import { seededRandom } from '../support/seeded-random.ts';

/** A random generator that depends only on a seed and a name. The draws of one actor do not change those of another. */
export class Chance {
  readonly random: () => number;
  readonly #seed: number;

  constructor(seed: number, name: string) {
    this.#seed = seed;
    let hash = 0x811c9dc5 ^ seed;
    for (let index = 0; index < name.length; index++) {
      hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
    }
    this.random = seededRandom(hash);
  }

  /** Returns another generator of the same seed. */
  for(name: string): Chance {
    return new Chance(this.#seed, name);
  }

  /** Returns a whole number from 0 to `max` - 1. */
  upTo(max: number): number {
    return Math.floor(this.random() * max);
  }

  between(from: number, to: number): number {
    return from + this.upTo(to - from);
  }

  is(probability: number): boolean {
    return this.random() < probability;
  }

  pick<T>(from: readonly [T, ...T[]]): T;
  pick<T>(from: readonly T[]): T | undefined;
  pick<T>(from: readonly T[]): T | undefined {
    return from[this.upTo(from.length)];
  }
}
