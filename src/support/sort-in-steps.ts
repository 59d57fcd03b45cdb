import type { Steps } from './slices.ts';

/** So many are sorted in one step, at first, and so many merged later. */
const AT_ONCE = 2048;

/** The same order as that of `toSorted`, of texts of which there may be very many. */
export function* sortInSteps(texts: readonly string[]): Steps<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let from = 0; from < texts.length; from += AT_ONCE) {
    runs.push(texts.slice(from, from + AT_ONCE).sort());
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergeInSteps(runs[at] ?? [], runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeInSteps(one: readonly string[], other: readonly string[]): Steps<readonly string[]> {
  const merged: string[] = [];
  let [at, otherAt] = [0, 0];
  while (merged.length < one.length + other.length) {
    const [next, otherNext] = [one[at], other[otherAt]];
    if (next !== undefined && (otherNext === undefined || next <= otherNext)) {
      merged.push(next);
      at += 1;
    } else if (otherNext !== undefined) {
      merged.push(otherNext);
      otherAt += 1;
    }
    if (merged.length % AT_ONCE === 0) yield;
  }
  return merged;
}
