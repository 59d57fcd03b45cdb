import type { LeaseCandidate } from './model.ts';
import { versionOf } from './version.ts';

/** A way to choose a leader: a total order over candidates, the best first. CONTRIBUTING.md lists what a new one needs. */
export interface Strategy {
  /** Whether the candidate could lead under this strategy at all. */
  isElectable(candidate: LeaseCandidate): boolean;
  /** Negative when `a` is the better leader. Both must be electable; never 0 for two candidates of one Lease. */
  compare(a: LeaseCandidate, b: LeaseCandidate): number;
  /**
   * The same by what is worth waiting for (rule 6), which never includes age and name; 0 for two that are equally good.
   * Nobody waits for an equal.
   */
  compareMerit(a: LeaseCandidate, b: LeaseCandidate): number;
  /** The same by what is worth taking the Lease from a leader for (rule 5); 0 where neither would have to give way. */
  comparePreemption(a: LeaseCandidate, b: LeaseCandidate): number;
  /** The first criterion by which `winner` comes before `loser`, for people to read. */
  explain(winner: LeaseCandidate, loser: LeaseCandidate): string;
}

/** What candidates are compared by, and the word for having lost by it. */
export type Criterion = readonly [name: string, compare: (a: LeaseCandidate, b: LeaseCandidate) => number];

/** What one strategy has that others have not. */
export interface StrategyParts {
  readonly isElectable: Strategy['isElectable'];
  /** Criteria that a leader gives way for, behind priority, which it always gives way for. */
  readonly preempting?: readonly Criterion[];
  /** Criteria behind those, that choose among candidates for a free Lease, and whose best is waited for. */
  readonly choosing?: readonly Criterion[];
}

/** Priority comes before all else, and age and name after it, under every strategy (rules 5 and 16). */
const priority: Criterion = ['LowerPriority', (a, b) => b.priority.value - a.priority.value];
const ageAndName: readonly Criterion[] = [
  ['CreatedLater', (a, b) => compareCreation(a, b)],
  // Unique within a Lease's candidates, so that the order is total.
  ['LaterName', (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)],
];

/** Makes a strategy. Each of its three orders goes on where the one before ends, so that they never contradict each other. */
export function createStrategy({ isElectable, preempting = [], choosing = [] }: StrategyParts): Strategy {
  const evicting = [priority, ...preempting];
  const awaited = [...evicting, ...choosing];
  const all = [...awaited, ...ageAndName];
  return {
    isElectable,
    compare: (a, b) => compareBy(all, a, b),
    compareMerit: (a, b) => compareBy(awaited, a, b),
    comparePreemption: (a, b) => compareBy(evicting, a, b),
    explain: (winner, loser) => all.find(([, compare]) => compare(winner, loser) !== 0)?.[0] ?? 'Same',
  };
}

/** Compares versions of two candidates by semver's precedence; negative when that of `a` is lower. */
export function compareVersions(a: LeaseCandidate, b: LeaseCandidate, which: 'binary' | 'emulation'): number {
  // Most candidates of a Lease are of few versions, so that most comparisons end here.
  if (a[`${which}Version`] === b[`${which}Version`]) return 0;
  const left = versionOf(a, which);
  const right = versionOf(b, which);
  if (!left || !right) throw new TypeError('only electable candidates can be compared');
  return left.compare(right);
}

function compareBy(criteria: readonly Criterion[], a: LeaseCandidate, b: LeaseCandidate): number {
  for (const [, compare] of criteria) {
    const order = compare(a, b);
    if (order !== 0) return order;
  }
  return 0;
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
