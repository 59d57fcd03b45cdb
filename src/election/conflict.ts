import type { LeaseCandidate } from './model.ts';
import { possibleCandidates, type View } from './view.ts';

/** The parties of the conflict that the candidates of `view` would be in: who they are, and what they ask for. */
export function conflictParties(view: View): string {
  return partiesOf(possibleCandidates(view));
}

/** The conflict that was reported last, while it is still among the same parties. */
export function knownConflict(view: View): string | undefined {
  const { conflict } = view.input.memory;
  return conflict !== undefined && conflict === conflictParties(view) ? conflict : undefined;
}

/**
 * Tells one set of candidates, with what they ask for, from another, in whatever order they are: by sums of two hashes of
 * each. A crowd of them would take long to be sorted.
 */
function partiesOf(candidates: readonly LeaseCandidate[]): string {
  let [sum, otherSum] = [0, 0];
  for (const { uid, binaryVersion, preference } of candidates) {
    let hash = hashOf(uid, hashOf(binaryVersion ?? '', START));
    if (preference.kind === 'strategy') hash = hashOf(preference.strategy, hash);
    else for (const strategy of preference.strategies) hash = hashOf(strategy, ~hash);
    sum = (sum + hash) | 0;
    otherSum = (otherSum + Math.imul(hash ^ (hash >>> 15), OTHER_PRIME)) | 0;
  }
  return `${candidates.length} ${sum} ${otherSum}`;
}

// FNV-1a.
const START = 0x811c9dc5;
const PRIME = 0x01000193;
const OTHER_PRIME = 0x85ebca6b;

/** Goes on from `from`, so that "ab" and "c" come to something else than "a" and "bc". */
function hashOf(text: string, from: number): number {
  let hash = from ^ text.length;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}
