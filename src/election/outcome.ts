import type { LeaseCandidate } from './model.ts';
import { resolveStrategy } from './resolve-strategy.ts';
import { strategies } from './strategies.ts';
import { parseVersion } from './version.ts';

/** What an election among a set of candidates comes to. */
export type Outcome =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'conflict'; readonly strategies: readonly string[] }
  /** A strategy that is not registered here: somebody else's controller decides. */
  | { readonly kind: 'thirdParty'; readonly strategy: string }
  | { readonly kind: 'noneElectable'; readonly strategy: string }
  | { readonly kind: 'leader'; readonly strategy: string; readonly leader: LeaseCandidate };

/**
 * The outcome of an election in which exactly `candidates` take part; their order does not matter. `incumbent`, if it is
 * one of them, leads unless another is better by version (rule 5).
 */
export function decideOutcome(candidates: readonly LeaseCandidate[], incumbent?: string): Outcome {
  const resolution = resolveStrategy(candidates);
  if (resolution.kind === 'none') return { kind: 'nobody' };
  if (resolution.kind === 'conflict') return resolution;
  const { strategy } = resolution;
  const order = strategies.get(strategy);
  if (!order) return { kind: 'thirdParty', strategy };
  let leader: LeaseCandidate | undefined;
  let present: LeaseCandidate | undefined;
  for (const candidate of candidates) {
    if (!order.isElectable(candidate)) continue;
    if (!leader || order.compare(candidate, leader) < 0) leader = candidate;
    if (candidate.name === incumbent) present = candidate;
  }
  if (!leader) return { kind: 'noneElectable', strategy };
  if (present && order.compareMerit(leader, present) === 0) leader = present;
  return { kind: 'leader', strategy, leader };
}

/**
 * Those of `absent` whose answers could still change the outcome among `present`; none when it is settled (rule 6). A
 * leader that is merely as good as the one found changes nothing: nobody waits for an equal.
 *
 * Adding one candidate, and adding all, stands for adding any: a better leader is better alone, a higher binaryVersion
 * is higher alone, a new first element is new alone, and a cycle that needs several is there with all of them.
 */
export function decisiveAmong(
  present: readonly LeaseCandidate[],
  absent: readonly LeaseCandidate[],
  incumbent?: string,
): readonly LeaseCandidate[] {
  if (absent.length === 0) return absent;
  const known = essentials(present, incumbent);
  const outcome = decideOutcome(known, incumbent);
  const isChangedBy = (added: readonly LeaseCandidate[]) =>
    !isSameOutcome(outcome, decideOutcome([...known, ...added], incumbent));
  const decisions = new Map<string, boolean>();
  const decisive = absent.filter((candidate) => {
    const { preference } = candidate;
    // Ordered lists that conflict may be reconciled by a few of those to come and set at odds again by the others.
    if (outcome.kind === 'conflict' && preference.kind === 'preferredStrategies') return true;
    // One that asks for the very strategy found cannot change it, only be the better leader.
    if (
      outcome.kind === 'leader' &&
      preference.kind === 'strategy' &&
      preference.strategy === outcome.strategy
    ) {
      return isBetter(candidate, outcome);
    }
    // Those that ask for the same with the same versions make the same difference.
    const kind = kindOf(candidate);
    const known = decisions.get(kind) ?? isChangedBy([candidate]);
    decisions.set(kind, known);
    return known;
  });
  return decisive.length === 0 && isChangedBy(essentials(absent)) ? absent : decisive;
}

/** True when both come to equally good leaders, or to nobody for the same reason. */
export function isSameOutcome(a: Outcome, b: Outcome): boolean {
  switch (a.kind) {
    case 'nobody':
      return b.kind === 'nobody';
    case 'conflict':
      return b.kind === 'conflict' && a.strategies.join() === b.strategies.join();
    case 'thirdParty':
    case 'noneElectable':
      return b.kind === a.kind && a.strategy === b.strategy;
    case 'leader':
      return (
        b.kind === 'leader' &&
        a.strategy === b.strategy &&
        strategies.get(a.strategy)?.compareMerit(a.leader, b.leader) === 0
      );
  }
}

function isBetter(candidate: LeaseCandidate, found: Extract<Outcome, { kind: 'leader' }>): boolean {
  const order = strategies.get(found.strategy);
  return order?.isElectable(candidate) === true && order.compareMerit(candidate, found.leader) < 0;
}

function kindOf({ preference, binaryVersion, emulationVersion }: LeaseCandidate): string {
  const wanted = preference.kind === 'strategy' ? preference.strategy : preference.strategies.join('\n');
  return `${preference.kind}\n${wanted}\n${binaryVersion}\n${emulationVersion}`;
}

/** So few that there is nothing to be gained by leaving some out. */
const FEW = 8;

/**
 * As few of `candidates` as stand for all of them, whoever else takes part: whoever has a say in the strategy, the best
 * by each strategy, and the incumbent. It keeps what thousands of candidates come to from being worked out for each one.
 */
export function essentials(
  candidates: readonly LeaseCandidate[],
  incumbent?: string,
): readonly LeaseCandidate[] {
  if (candidates.length <= FEW) return candidates;
  const lists = new Map<string, LeaseCandidate>();
  let highest: ReturnType<typeof parseVersion>;
  let named = new Map<string, LeaseCandidate>();
  const best = new Map<string, LeaseCandidate>();
  const kept = new Set<LeaseCandidate>();
  for (const candidate of candidates) {
    const { preference, binaryVersion, name } = candidate;
    if (name === incumbent) kept.add(candidate);
    for (const [strategy, order] of strategies) {
      if (!order.isElectable(candidate)) continue;
      const former = best.get(strategy);
      if (!former || order.compare(candidate, former) < 0) best.set(strategy, candidate);
    }
    if (preference.kind === 'preferredStrategies') {
      lists.set(preference.strategies.join('\n'), candidate);
      continue;
    }
    const version = parseVersion(binaryVersion);
    if (preference.strategy === '' || !version) continue;
    const rank = highest ? version.compare(highest) : 1;
    if (rank > 0) {
      highest = version;
      named = new Map();
    }
    if (rank >= 0) named.set(preference.strategy, candidate);
  }
  for (const group of [lists, named, best]) for (const candidate of group.values()) kept.add(candidate);
  return [...kept];
}
