import { type PingPurpose, pingTimeFor } from './candidate-observation.ts';
import type { Action, CreateLease, LeaseChange, PingCandidate } from './decision.ts';
import type { ElectionInput } from './election-input.ts';
import type { Lease } from './model.ts';
import { notesWith } from './notes.ts';
import type { Standing } from './standing.ts';
import type { View } from './view.ts';

/**
 * So many candidates are asked in one decision at the most, whatever for. The others have their turn in the decisions that
 * follow: more could not be sent meanwhile, and a decision must not take long (rule 9).
 */
export const MOST_ASKED_AT_ONCE = 5000;

/** A ping to each of `standings`. */
export function pingEach(
  view: View,
  standings: readonly Standing[],
  purpose: PingPurpose,
): readonly PingCandidate[] {
  return standings.map((standing) => pingTo(view, standing, purpose));
}

export function pingTo(
  { now }: View,
  { candidate, observation }: Standing,
  purpose: PingPurpose,
): PingCandidate {
  const { source, name, uid, resourceVersion } = candidate;
  const pingTime = pingTimeFor(candidate, observation, now);
  return { kind: 'PingCandidate', source, name, uid, resourceVersion, pingTime, purpose };
}

/** A Lease that is left alone must not keep a preferredHolder of ours: its holder would stop renewing for nothing. */
export function removeOwnPreference(view: View): readonly Action[] {
  const { lease, memory } = view.input;
  if (!lease || !hasOwnPreference(view)) return [];
  return [
    updateLease(view.input, lease, {
      kind: 'clearPreferredHolder',
      hasFailed: memory.written.preferredHolder !== undefined,
    }),
  ];
}

export function hasOwnPreference({ input: { lease } }: View): boolean {
  return lease?.preferredHolder !== undefined && lease.isPreferredHolderOurs;
}

/** Changes the Lease of `input`, its notes included. */
export function updateLease(
  input: ElectionInput,
  { uid, resourceVersion }: Pick<Lease, 'uid' | 'resourceVersion'>,
  change: LeaseChange,
): Action {
  const notes = notesWith(input, change);
  return { kind: 'UpdateLease', uid, resourceVersion, change, ...(notes && { notes }) };
}

/** Makes the Lease of `input`, with a note of the strategy where the server drops that. */
export function createLease(input: ElectionInput, strategy: string, grant: CreateLease['grant']): Action {
  return { kind: 'CreateLease', strategy, grant, ...(input.dropsFields && { notes: { strategy } }) };
}

/** Has the Lease name a strategy, unless it does; one that does not exist yet is made with it, without a holder. */
export function nameStrategy(view: View, strategy: string): readonly Action[] {
  const { lease } = view.tenure;
  if (!lease) return [createLease(view.input, strategy, undefined)];
  const isHolderAbsent = lease.holderIdentity === undefined;
  const removesPreferredHolder = hasOwnPreference(view);
  // A write that changes nothing would be followed by the next one at once, as there is no news of it.
  if (lease.strategy === strategy && !isHolderAbsent && !removesPreferredHolder) return [];
  return [
    updateLease(view.input, lease, { kind: 'strategy', strategy, isHolderAbsent, removesPreferredHolder }),
  ];
}
