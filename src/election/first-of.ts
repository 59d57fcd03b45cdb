/**
 * The first `most` of `items` in the order of `compare`, sorted; equal ones stay as they were. Where there are many more
 * it takes little longer than to look at each once.
 */
export function firstOf<T>(items: Iterable<T>, most: number, compare: (a: T, b: T) => number): readonly T[] {
  const found: T[] = [];
  let last: T | undefined;
  for (const item of items) {
    if (last !== undefined && compare(item, last) >= 0) continue;
    found.push(item);
    // Sorted only now and then: to keep them sorted would move all of them for each one that comes.
    if (found.length < 2 * most) continue;
    found.sort(compare).length = most;
    last = found.at(-1);
  }
  return found.sort(compare).slice(0, most);
}
