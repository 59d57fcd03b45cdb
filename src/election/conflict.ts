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

/** Tells one set of candidates, with what they ask for, from another. */
function partiesOf(candidates: readonly LeaseCandidate[]): string {
  const parties = candidates.map(({ uid, binaryVersion, preference }) =>
    JSON.stringify([uid, binaryVersion, preference]),
  );
  return parties.sort().join();
}
