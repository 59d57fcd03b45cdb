import type { LeaseCandidate } from './model.ts';
import { resolveStrategy } from './resolve-strategy.ts';
import { strategies } from './strategies.ts';

/** What an election among a set of candidates comes to. */
export type Outcome =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'conflict'; readonly strategies: readonly string[] }
  /** A strategy that is not registered here: somebody else's controller decides. */
  | { readonly kind: 'thirdParty'; readonly strategy: string }
  | { readonly kind: 'noneElectable'; readonly strategy: string }
  | { readonly kind: 'leader'; readonly strategy: string; readonly leader: LeaseCandidate };

/** The outcome of an election in which exactly `candidates` take part; their order does not matter. */
export function decideOutcome(candidates: readonly LeaseCandidate[]): Outcome {
  const resolution = resolveStrategy(candidates);
  if (resolution.kind === 'none') return { kind: 'nobody' };
  if (resolution.kind === 'conflict') return resolution;
  const { strategy } = resolution;
  const order = strategies.get(strategy);
  if (!order) return { kind: 'thirdParty', strategy };
  let leader: LeaseCandidate | undefined;
  for (const candidate of candidates) {
    if (order.isElectable(candidate) && (!leader || order.compare(candidate, leader) < 0)) leader = candidate;
  }
  return leader ? { kind: 'leader', strategy, leader } : { kind: 'noneElectable', strategy };
}

/**
 * True when no answer still to come could change the outcome: it is the same for `present` alone and with any of
 * `absent` added (rule 6).
 *
 * Adding one candidate, and adding all, stands for adding any: a better leader is better alone, a higher binaryVersion
 * is higher alone, a new first element is new alone, and a cycle that needs several is there with all of them.
 */
export function isSettled(present: readonly LeaseCandidate[], absent: readonly LeaseCandidate[]): boolean {
  if (absent.length === 0) return true;
  const outcome = decideOutcome(present);
  // Ordered lists that conflict may be reconciled by a few of those to come and set at odds again by the others.
  if (
    outcome.kind === 'conflict' &&
    absent.some(({ preference }) => preference.kind === 'preferredStrategies')
  ) {
    return false;
  }
  const isStillSo = (added: readonly LeaseCandidate[]) =>
    isSameOutcome(outcome, decideOutcome([...present, ...added]));
  // One that asks for the very strategy found cannot change it, and whether it would lead, all of them together tell.
  const cannotChangeStrategy = ({ preference }: LeaseCandidate) =>
    outcome.kind === 'leader' && preference.kind === 'strategy' && preference.strategy === outcome.strategy;
  return (
    isStillSo(absent) &&
    absent.every((candidate) => cannotChangeStrategy(candidate) || isStillSo([candidate]))
  );
}

/** True when both come to the same leader, or to nobody for the same reason. */
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
      return b.kind === 'leader' && a.strategy === b.strategy && a.leader.name === b.leader.name;
  }
}
