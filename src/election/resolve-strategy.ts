import type { LeaseCandidate } from './model.ts';
import { type CandidateVersions, versionOf } from './version.ts';

/** What a set of candidates agrees on (rule 4). */
export type StrategyResolution =
  | { readonly kind: 'none' }
  | { readonly kind: 'resolved'; readonly strategy: string }
  | { readonly kind: 'conflict'; readonly strategies: readonly string[] };

/** So many different lists are reconciled at the most: a component has one for each of its versions. */
export const MOST_LISTS = 1000;

/**
 * The strategy of an election among `candidates`, in any order.
 *
 * Those that name one strategy (v1beta1, v1alpha2) follow the highest binaryVersion among them; ordered lists (v1alpha1)
 * are merged. A candidate whose strategy or binaryVersion cannot be read has no say.
 */
export function resolveStrategy(candidates: readonly LeaseCandidate[]): StrategyResolution {
  const lists = candidates.flatMap(({ preference }) =>
    preference.kind === 'preferredStrategies' && preference.strategies.length > 0
      ? [preference.strategies]
      : [],
  );
  return lists.length > 0 ? mergePreferences(lists) : followHighestBinary(candidates);
}

function followHighestBinary(candidates: readonly LeaseCandidate[]): StrategyResolution {
  let highest: CandidateVersions['binary'] | undefined;
  let named = new Set<string>();
  for (const candidate of candidates) {
    const { preference } = candidate;
    const version = versionOf(candidate, 'binary');
    if (preference.kind !== 'strategy' || preference.strategy === '' || !version) continue;
    const order = highest ? version.compare(highest) : 1;
    if (order > 0) {
      highest = version;
      named = new Set();
    }
    if (order >= 0) named.add(preference.strategy);
  }
  return fromRoots([...named]);
}

function mergePreferences(lists: readonly (readonly string[])[]): StrategyResolution {
  const firsts = new Set(lists.map(([first = '']) => first));
  const [only] = firsts;
  // Lists that agree on their first element agree, whatever they say further down.
  if (firsts.size === 1 && only !== undefined) return { kind: 'resolved', strategy: only };
  // To reconcile any number of them would take longer than a decision may.
  const isCrowd =
    lists.length > MOST_LISTS && new Set(lists.map((list) => list.join('\n'))).size > MOST_LISTS;
  if (isCrowd) return conflictBetween(firsts);

  const below = new Map<string, Set<string>>();
  const incoming = new Map<string, number>();
  for (const list of lists) {
    let belowPrevious: Set<string> | undefined;
    for (const strategy of list) {
      const count = incoming.get(strategy) ?? 0;
      const isNew = belowPrevious !== undefined && !belowPrevious.has(strategy);
      incoming.set(strategy, isNew ? count + 1 : count);
      belowPrevious?.add(strategy);
      belowPrevious = below.get(strategy) ?? new Set();
      below.set(strategy, belowPrevious);
    }
  }
  const roots = [...incoming.keys()].filter((strategy) => incoming.get(strategy) === 0);
  return hasCycle(below, incoming, roots) ? conflictBetween(below.keys()) : fromRoots(roots, below.keys());
}

/** Kahn's algorithm: a merged order has a cycle exactly when removing its first elements, again and again, leaves some. */
function hasCycle(
  below: ReadonlyMap<string, ReadonlySet<string>>,
  incoming: ReadonlyMap<string, number>,
  roots: readonly string[],
): boolean {
  const left = new Map(incoming);
  const queue = [...roots];
  let removed = 0;
  for (let strategy = queue.pop(); strategy !== undefined; strategy = queue.pop()) {
    removed++;
    for (const next of below.get(strategy) ?? []) {
      const count = (left.get(next) ?? 0) - 1;
      left.set(next, count);
      if (count === 0) queue.push(next);
    }
  }
  return removed < incoming.size;
}

function fromRoots(roots: readonly string[], all: Iterable<string> = roots): StrategyResolution {
  const [root] = roots;
  if (root === undefined) return { kind: 'none' };
  return roots.length === 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);
}

function conflictBetween(named: Iterable<string>): StrategyResolution {
  return { kind: 'conflict', strategies: [...named].sort() };
}
