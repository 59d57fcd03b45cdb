import { parse, type SemVer } from 'semver';
import { GROUP, type LeaseCandidate } from './model.ts';

/** A total order of candidates, best first. CONTRIBUTING.md lists what a new strategy needs. */
export interface Strategy {
  isElectable(candidate: LeaseCandidate): boolean;
  /** Negative if `a` is the better leader. Both must be electable. Never 0 if their names differ. */
  compare(a: LeaseCandidate, b: LeaseCandidate): number;
  /** Compares without age and name: no election waits for a candidate that is better only by age or name (rule 6). */
  compareMerit(a: LeaseCandidate, b: LeaseCandidate): number;
  /** Compares only by the criteria for which a leader yields (rule 5). 0 if neither would yield to the other. */
  comparePreemption(a: LeaseCandidate, b: LeaseCandidate): number;
  /** Returns the name of the first criterion by which `winner` comes before `loser`. */
  explain(winner: LeaseCandidate, loser: LeaseCandidate): string;
}

/** A comparison, and the name of the reason if a candidate loses this comparison, for example `LowerPriority`. */
export type Criterion = readonly [name: string, compare: (a: LeaseCandidate, b: LeaseCandidate) => number];

export interface StrategyParts {
  readonly isElectable: Strategy['isElectable'];
  /** A leader yields to a candidate that is better by these criteria. Priority always comes before them. */
  readonly preempting?: readonly Criterion[];
  /** Further criteria. No leader yields because of them. An election waits for candidates that are better by them. */
  readonly choosing?: readonly Criterion[];
}

/** Under every strategy, priority is the first criterion, and age and name are the last (rules 5 and 16). */
const priority: Criterion = ['LowerPriority', (a, b) => b.priority.value - a.priority.value];
const ageAndName: readonly Criterion[] = [
  ['CreatedLater', (a, b) => compareCreation(a, b)],
  // Names are unique among the candidates of an election (rule 13), so the order is total.
  ['LaterName', (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)],
];

/** Creates a strategy. `comparePreemption` has the fewest criteria, `compareMerit` may add some, `compare` has all. */
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

/** Compares the versions of two candidates by semver. Negative if the version of `a` is lower. */
function compareVersions(a: LeaseCandidate, b: LeaseCandidate, which: Which, read = versionOf): number {
  // Most candidates of a Lease have equal versions, so most comparisons end here.
  if (a[`${which}Version`] === b[`${which}Version`]) return 0;
  const left = read(a, which);
  const right = read(b, which);
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
  // A candidate without a creationTimestamp counts as younger.
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  return left < right ? -1 : 1;
}

/** Kubernetes' own strategy: among equal priorities, the old version leads until its last replica is gone. */
export const oldestEmulationVersion = createStrategy({
  isElectable: (candidate) =>
    versionOf(candidate, 'binary') !== undefined && versionOf(candidate, 'emulation') !== undefined,
  preempting: [
    ['HigherEmulationVersion', (a, b) => compareVersions(a, b, 'emulation')],
    ['HigherBinaryVersion', (a, b) => compareVersions(a, b, 'binary')],
  ],
});

/** Causes the fewest leader changes in a rolling update: no leader yields because of a version (rule 5). */
export const newestVersion = createStrategy({
  isElectable: (candidate) =>
    versionOf(candidate, 'binary') !== undefined && emulationOf(candidate) !== undefined,
  choosing: [
    ['LowerBinaryVersion', (a, b) => compareVersions(b, a, 'binary')],
    ['LowerEmulationVersion', (a, b) => compareVersions(b, a, 'emulation', emulationOf)],
  ],
});

/** Returns the emulationVersion, or the binaryVersion if no emulationVersion is set. */
function emulationOf(candidate: LeaseCandidate): SemVer | undefined {
  return versionOf(candidate, candidate.emulationVersion === undefined ? 'binary' : 'emulation');
}

/** The strategies of this coordinator, by name. Any other strategy belongs to another controller (rule 4). */
export const strategies: ReadonlyMap<string, Strategy> = new Map([
  ['OldestEmulationVersion', oldestEmulationVersion],
  [`${GROUP}/NewestVersion`, newestVersion],
]);

type Which = 'binary' | 'emulation';

/** A cache of parsed versions: parsing is slow, and a cluster usually has only a few different versions. */
const known = new Map<string, SemVer | undefined>();
const MAX_KNOWN = 1000;
const LONGEST_KNOWN = 100;

/** Parses a strict semantic version; undefined if invalid. Rejects `v1.2.3`, which node-semver accepts. */
export function parseVersion(text: string | undefined): SemVer | undefined {
  if (text === undefined) return undefined;
  if (known.has(text)) return known.get(text);
  const version = /^\d\S*$/.test(text) ? (parse(text) ?? undefined) : undefined;
  if (known.size >= MAX_KNOWN) known.clear();
  if (text.length <= LONGEST_KNOWN) known.set(text, version);
  return version;
}

/** A second cache, for candidates with a version that is missing or invalid, or that `known` does not contain. */
const own = new WeakMap<LeaseCandidate, Readonly<Record<Which, SemVer | undefined>>>();

/** Returns the binaryVersion or emulationVersion of a candidate; undefined if it is missing or invalid (rule 5). */
export function versionOf(candidate: LeaseCandidate, which: Which): SemVer | undefined {
  const { binaryVersion, emulationVersion } = candidate;
  const version = known.get((which === 'binary' ? binaryVersion : emulationVersion) ?? '');
  if (version) return version;
  let versions = own.get(candidate);
  if (!versions) {
    versions = { binary: parseVersion(binaryVersion), emulation: parseVersion(emulationVersion) };
    own.set(candidate, versions);
  }
  return versions[which];
}

/**
 * Returns the `most` items that `compare` puts first, in sorted order; all items if there are fewer. The sort is
 * stable. If `most` is small, the function usually takes little more than one pass.
 */
export function firstOf<T>(items: Iterable<T>, most: number, compare: (a: T, b: T) => number): readonly T[] {
  const found: T[] = [];
  let last: T | undefined;
  for (const item of items) {
    if (last !== undefined && compare(item, last) >= 0) continue;
    found.push(item);
    // Sort only sometimes: keeping the list sorted would move many entries for each insertion.
    if (found.length < 2 * most) continue;
    found.sort(compare).length = most;
    last = found.at(-1);
  }
  return found.sort(compare).slice(0, most);
}
