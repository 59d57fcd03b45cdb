import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DeadlineHeap } from '../../src/support/deadline-heap.ts';

const key = fc.integer({ min: 0, max: 30 }).map(String);

const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('set' as const), key, at: fc.integer({ min: 0, max: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pop' as const), now: fc.integer({ min: 0, max: 20 }) }),
  },
);

/** The same by brute force. A key that is set again goes behind the other keys with its deadline. */
class SortedDeadlines {
  #entries: { key: string; at: number }[] = [];

  set(key: string, at: number): void {
    this.delete(key);
    this.#entries.push({ key, at });
    this.#entries.sort((a, b) => a.at - b.at);
  }

  delete(key: string): void {
    this.#entries = this.#entries.filter((entry) => entry.key !== key);
  }

  popDue(now: number): string | undefined {
    const [first] = this.#entries;
    if (first === undefined || first.at > now) return undefined;
    this.delete(first.key);
    return first.key;
  }

  get earliest(): number | undefined {
    return this.#entries[0]?.at;
  }

  get(key: string): number | undefined {
    return this.#entries.find((entry) => entry.key === key)?.at;
  }
}

test('keys come out by deadline, and keys with the same deadline in insertion order', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 150, size: 'max' }), (commands) => {
      const heap = new DeadlineHeap();
      const sorted = new SortedDeadlines();
      for (const next of commands) {
        if (next.do === 'set') {
          heap.set(next.key, next.at);
          sorted.set(next.key, next.at);
        } else if (next.do === 'delete') {
          heap.delete(next.key);
          sorted.delete(next.key);
        } else {
          expect(heap.popDue(next.now)).toBe(sorted.popDue(next.now));
        }
        expect(heap.earliest).toBe(sorted.earliest);
        if (next.do !== 'pop') expect(heap.get(next.key)).toBe(sorted.get(next.key));
      }
      for (let popped = sorted.popDue(20); popped !== undefined; popped = sorted.popDue(20)) {
        expect(heap.popDue(20)).toBe(popped);
      }
      expect(heap.popDue(20)).toBeUndefined();
    }),
    { seed: 4355, numRuns: 500 },
  );
});
