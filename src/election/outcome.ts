import type { SemVer } from 'semver';
import type { LeaseCandidate } from './model.ts';
import { strategies, versionOf } from './strategies.ts';

export type Outcome =
  /** There is no candidate, or no candidate has a vote about the strategy (rule 4). */
  | { readonly kind: 'none' }
  | { readonly kind: 'conflict'; readonly strategies: readonly string[] }
  /** This coordinator does not implement the strategy, so another controller decides. */
  | { readonly kind: 'thirdParty'; readonly strategy: string }
  | { readonly kind: 'noneElectable'; readonly strategy: string }
  | { readonly kind: 'leader'; readonly strategy: string; readonly leader: LeaseCandidate };

export type Leader = Extract<Outcome, { kind: 'leader' }>;

/** Returns the outcome among `candidates`. An electable `incumbent` wins unless it must yield (rule 5). */
export function decideOutcome(candidates: readonly LeaseCandidate[], incumbent?: string): Outcome {
  return outcomeIn(tally(candidates, incumbent));
}

function outcomeIn(found: Tally): Outcome {
  const resolution = agreementIn(found);
  if (resolution.kind !== 'resolved') return resolution;
  const { strategy } = resolution;
  const order = strategies.get(strategy);
  if (!order) return { kind: 'thirdParty', strategy };
  const best = found.best.get(strategy);
  if (!best) return { kind: 'noneElectable', strategy };
  const present = found.present.find((candidate) => order.isElectable(candidate));
  const isKept = present && order.comparePreemption(best, present) === 0;
  return { kind: 'leader', strategy, leader: isKept ? present : best };
}

/**
 * Returns the candidates in `absent` whose answers could still change the outcome among `present`. Ignores candidates
 * that could win only by age or name: no election waits for them (rule 6). Tests each candidate alone. If none is
 * decisive, tests all together (some lists of strategies conflict only together), and returns all or none.
 */
export function decisiveAmong(
  present: readonly LeaseCandidate[],
  absent: readonly LeaseCandidate[],
  incumbent?: string,
): readonly LeaseCandidate[] {
  if (absent.length === 0) return absent;
  const found = tally(present, incumbent);
  const known = membersOf(found);
  const outcome = outcomeIn(found);
  const changesStrategy = strategyTest(found, known, outcome);
  const decisive = absent.filter(
    (candidate) => changesStrategy(candidate) || couldLead(candidate, outcome, incumbent),
  );
  if (decisive.length > 0) return decisive;
  const withAll = decideOutcome([...known, ...absent], incumbent);
  return isSameOutcome(outcome, withAll) ? decisive : absent;
}

/** Maximum number of lists that one strategyTest reads in total. After that, each untested list counts as decisive. */
const MAX_LISTS_TRIED = 50_000;

/** Returns a function that tests whether a candidate could change the strategy or the conflict of `known`. */
function strategyTest(
  { lists, firsts, highest, named }: Tally,
  known: readonly LeaseCandidate[],
  outcome: Outcome,
): (candidate: LeaseCandidate) => boolean {
  const found = 'strategy' in outcome ? outcome.strategy : undefined;
  // If all lists begin with the same strategy, another list that begins with it changes nothing, and needs no test.
  const areAgreed = firsts.values().every((first) => first === found);
  const tried = new Map<string, boolean>();
  let left = MAX_LISTS_TRIED;
  const isChangedByList = (candidate: LeaseCandidate): boolean => {
    left -= known.length;
    if (left < 0) return true;
    const resolution = resolveStrategy([...known, candidate]);
    return resolution.kind !== 'resolved' || resolution.strategy !== found;
  };
  return (candidate) => {
    const { preference } = candidate;
    if (preference.kind === 'preferredStrategies') {
      if (preference.strategies.length === 0) return false;
      // In a conflict, count each list as decisive: it may resolve the conflict, or cause another one.
      if (outcome.kind === 'conflict') return true;
      if (areAgreed && listOf(candidate)[0] === found) return false;
      const key = preference.strategies.join('\n');
      const isChanged = tried.get(key) ?? isChangedByList(candidate);
      tried.set(key, isChanged);
      return isChanged;
    }
    const hasSay = lists.size === 0 && preference.strategy !== '';
    const version = hasSay ? versionOf(candidate, 'binary') : undefined;
    if (!version) return false;
    const rank = highest ? version.compare(highest) : 1;
    return rank > 0 ? preference.strategy !== found : rank === 0 && !named.has(preference.strategy);
  };
}

function listOf({ preference }: LeaseCandidate): readonly string[] {
  return preference.kind === 'preferredStrategies' ? preference.strategies : [];
}

/** True if the candidate is electable by the outcome's strategy and beats the leader, if any. Ignores age and name. */
function couldLead(candidate: LeaseCandidate, outcome: Outcome, incumbent: string | undefined): boolean {
  if (outcome.kind !== 'leader' && outcome.kind !== 'noneElectable') return false;
  const order = strategies.get(outcome.strategy);
  if (!order?.isElectable(candidate)) return false;
  if (outcome.kind === 'noneElectable') return true;
  const { leader } = outcome;
  // An incumbent need not yield to each better candidate: under NewestVersion, only to a higher priority (rule 5).
  const compare = leader.name === incumbent ? order.comparePreemption : order.compareMerit;
  return compare(candidate, leader) < 0;
}

/** True if both outcomes have the same kind, the same strategies and, if they have leaders, equally good leaders. */
export function isSameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.kind === 'none') return b.kind === 'none';
  if (a.kind === 'conflict') return b.kind === 'conflict' && a.strategies.join() === b.strategies.join();
  if (!('strategy' in b) || a.kind !== b.kind || a.strategy !== b.strategy) return false;
  const isLed = a.kind === 'leader' && b.kind === 'leader';
  return !isLed || strategies.get(a.strategy)?.compareMerit(a.leader, b.leader) === 0;
}

/**
 * After this many conflicting strategies, a tally ignores further ones. They would not change the kind of the outcome:
 * two strategies already conflict.
 */
const MAX_AT_ODDS = 1000;

/** Up to this number of candidates, essentials() keeps all of them. */
const FEW = 8;

/**
 * Returns the candidates that matter: those that decide the strategy, the best one under each strategy, and the incumbent.
 * The others do not change the outcome, even if more candidates are added later. So later comparisons in a decision can
 * omit the others.
 */
export function essentials(
  candidates: readonly LeaseCandidate[],
  incumbent?: string,
): readonly LeaseCandidate[] {
  return candidates.length <= FEW ? candidates : membersOf(tally(candidates, incumbent));
}

function membersOf({ present, lists, named, best }: Tally): readonly LeaseCandidate[] {
  const kept = new Set<LeaseCandidate>(present);
  for (const group of [lists, named, best]) for (const candidate of group.values()) kept.add(candidate);
  return [...kept];
}

type Tally = ReturnType<typeof tally>;

/** Finds the candidates that determine the outcome, in one pass. */
function tally(candidates: readonly LeaseCandidate[], incumbent?: string) {
  // The incumbent, if it is one of `candidates`.
  const present: LeaseCandidate[] = [];
  // One candidate for each different ordered list, and the first elements of the lists.
  const lists = new Map<string, LeaseCandidate>();
  const firsts = new Set<string>();
  // `highest`: the highest binaryVersion of the candidates that ask for a single strategy, not for a list. `named`: the
  // strategies that the candidates with this version ask for. Each strategy has one of these candidates as its value.
  let highest: SemVer | undefined;
  let highestText: string | undefined;
  let named = new Map<string, LeaseCandidate>();
  // The best candidate under each strategy.
  const best = new Map<string, LeaseCandidate>();
  const orders = [...strategies];
  for (const candidate of candidates) {
    const { preference, binaryVersion } = candidate;
    if (candidate.name === incumbent) present.push(candidate);
    for (const [strategy, order] of orders) {
      const first = best.get(strategy);
      if (order.isElectable(candidate) && (!first || order.compare(candidate, first) < 0))
        best.set(strategy, candidate);
    }
    if (preference.kind === 'preferredStrategies') {
      const [first] = preference.strategies;
      if (first === undefined) continue;
      // If there are more than MAX_LISTS lists, they are not merged, so only the first strategy of each list matters.
      const isNew = lists.size <= MAX_LISTS || (firsts.size < MAX_AT_ODDS && !firsts.has(first));
      if (!isNew) continue;
      firsts.add(first);
      lists.set(preference.strategies.join('\n'), candidate);
      continue;
    }
    if (preference.strategy === '' || binaryVersion === undefined) continue;
    if (binaryVersion !== highestText) {
      const version = versionOf(candidate, 'binary');
      const rank = version && (highest ? version.compare(highest) : 1);
      if (rank === undefined || rank < 0) continue;
      if (rank > 0) named = new Map();
      highest = version;
      highestText = binaryVersion;
    }
    if (named.size < MAX_AT_ODDS || named.has(preference.strategy)) named.set(preference.strategy, candidate);
  }
  return { present, lists, firsts, highest, named, best };
}

/** The strategy on which candidates agree, or the reason why they agree on none (rule 4). */
export type StrategyResolution =
  | Extract<Outcome, { kind: 'none' | 'conflict' }>
  | { readonly kind: 'resolved'; readonly strategy: string };

/** Maximum number of different lists that are merged. A usual component has one list for each of its few versions. */
export const MAX_LISTS = 1000;

/**
 * Returns the strategy of an election among `candidates`, or why there is none. The order of `candidates` does not
 * matter. If some have ordered lists (coordination.k8s.io/v1alpha1), only these lists decide. Otherwise, the candidates
 * with the highest valid binaryVersion select the strategy. A candidate without a strategy has no influence.
 */
export function resolveStrategy(candidates: readonly LeaseCandidate[]): StrategyResolution {
  return agreementIn(tally(candidates));
}

function agreementIn({ lists, firsts, named }: Tally): StrategyResolution {
  if (lists.size === 0) return fromRoots([...named.keys()]);
  const [only] = firsts;
  // Lists with the same first element agree. The other elements do not matter.
  if (firsts.size === 1 && only !== undefined) return { kind: 'resolved', strategy: only };
  // Merging more than MAX_LISTS lists would take longer than a decision may take.
  return lists.size > MAX_LISTS ? conflictBetween(firsts) : mergePreferences([...lists.values()].map(listOf));
}

function mergePreferences(lists: readonly (readonly string[])[]): StrategyResolution {
  const below = new Map<string, Set<string>>();
  for (const list of lists) {
    let belowPrevious = new Set<string>();
    for (const strategy of list) {
      belowPrevious.add(strategy);
      belowPrevious = below.get(strategy) ?? new Set();
      below.set(strategy, belowPrevious);
    }
  }
  const incoming = new Map<string, number>();
  for (const each of below.values()) {
    for (const strategy of each) incoming.set(strategy, (incoming.get(strategy) ?? 0) + 1);
  }
  const roots = [...below.keys()].filter((strategy) => !incoming.has(strategy));
  // Kahn's algorithm: repeatedly remove strategies that are below no remaining strategy. The rest, if any, has a cycle.
  const removed = [...roots];
  for (const strategy of removed) {
    for (const next of below.get(strategy) ?? []) {
      const left = (incoming.get(next) ?? 0) - 1;
      incoming.set(next, left);
      if (left === 0) removed.push(next);
    }
  }
  return removed.length < below.size ? conflictBetween(below.keys()) : fromRoots(roots, below.keys());
}

function fromRoots(roots: readonly string[], all: Iterable<string> = roots): StrategyResolution {
  const [root] = roots;
  if (root === undefined) return { kind: 'none' };
  return roots.length === 1 ? { kind: 'resolved', strategy: root } : conflictBetween(all);
}

function conflictBetween(named: Iterable<string>): StrategyResolution {
  return { kind: 'conflict', strategies: [...named].sort() };
}
