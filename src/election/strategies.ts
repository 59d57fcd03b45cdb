import type { LeaseCandidate } from './model.ts';
import { versionOf } from './version.ts';

/** A way to choose a leader: a total order over candidates, the best first. CONTRIBUTING.md lists what a new one needs. */
export interface Strategy {
  /** Whether the candidate could lead under this strategy at all. */
  isElectable(candidate: LeaseCandidate): boolean;
  /** Negative when `a` is the better leader. Both must be electable; never 0 for two candidates of one Lease. */
  compare(a: LeaseCandidate, b: LeaseCandidate): number;
  /**
   * The same by versions alone; 0 for two that are equally good. Only who is better by this is worth waiting for, or
   * evicting a leader for (rules 5 and 6): age and name merely choose among those who would get a free Lease.
   */
  compareMerit(a: LeaseCandidate, b: LeaseCandidate): number;
  /** The first criterion by which `winner` comes before `loser`, for people to read. */
  explain(winner: LeaseCandidate, loser: LeaseCandidate): string;
}

type Criterion = readonly [name: string, compare: (a: LeaseCandidate, b: LeaseCandidate) => number];

const oldestVersionsFirst: readonly Criterion[] = [
  ['HigherEmulationVersion', (a, b) => compareParsed(a, b, 'emulation')],
  ['HigherBinaryVersion', (a, b) => compareParsed(a, b, 'binary')],
];

// Rule 5. The name comes last: it is unique within a Lease's candidates, so the order is total.
const oldestFirst: readonly Criterion[] = [
  ...oldestVersionsFirst,
  ['CreatedLater', (a, b) => compareCreation(a, b)],
  ['LaterName', (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)],
];

const oldestEmulationVersion: Strategy = {
  isElectable: (candidate) => {
    const isReadable = versionOf(candidate, 'binary') !== undefined;
    return isReadable && versionOf(candidate, 'emulation') !== undefined;
  },
  compare: (a, b) => compareBy(oldestFirst, a, b),
  compareMerit: (a, b) => compareBy(oldestVersionsFirst, a, b),
  explain: (winner, loser) => oldestFirst.find(([, compare]) => compare(winner, loser) !== 0)?.[0] ?? 'Same',
};

/** The strategies that this coordinator carries out, by name; every other is somebody else's to carry out (rule 4). */
export const strategies: ReadonlyMap<string, Strategy> = new Map([
  ['OldestEmulationVersion', oldestEmulationVersion],
]);

function compareBy(criteria: readonly Criterion[], a: LeaseCandidate, b: LeaseCandidate): number {
  for (const [, compare] of criteria) {
    const order = compare(a, b);
    if (order !== 0) return order;
  }
  return 0;
}

function compareParsed(a: LeaseCandidate, b: LeaseCandidate, which: 'binary' | 'emulation'): number {
  // Most candidates of a Lease are of few versions, so that most comparisons end here.
  if (a[`${which}Version`] === b[`${which}Version`]) return 0;
  const left = versionOf(a, which);
  const right = versionOf(b, which);
  if (!left || !right) throw new TypeError('only electable candidates can be compared');
  return left.compare(right);
}

function compareCreation(a: LeaseCandidate, b: LeaseCandidate): number {
  const left = a.creationTimestamp;
  const right = b.creationTimestamp;
  if (left === right) return 0;
  // A candidate that does not say when it was created cannot claim to be the older one.
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  return left < right ? -1 : 1;
}
