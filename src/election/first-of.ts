/**
 * The first `most` of `items` in the order of `compare`, sorted; equal ones stay as they were. Where there are many more
 * it takes little longer than to look at each once.
 */
export function firstOf<T>(items: Iterable<T>, most: number, compare: (a: T, b: T) => number): readonly T[] {
  const first: T[] = [];
  for (const item of items) {
    const last = first.at(-1);
    if (first.length >= most && (last === undefined || compare(item, last) >= 0)) continue;
    let [from, to] = [0, first.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = first[middle];
      if (other === undefined || compare(item, other) < 0) to = middle;
      else from = middle + 1;
    }
    first.splice(from, 0, item);
    if (first.length > most) first.pop();
  }
  return first;
}
