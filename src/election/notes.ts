import type { Action, LeaseChange, NotesChange } from './decision.ts';
import type { ElectionInput } from './election-input.ts';
import type { Lease, LeaseNotes } from './model.ts';

/** A Lease as its fields and its notes have it together: a note counts where the field of its name is not set. */
export function withNotes(fields: Lease, notes: LeaseNotes | undefined): Lease {
  const { strategy, preferredHolder, isPreferredHolderOurs } = fields;
  if (!notes) return fields;
  const isPreferredHolderNoted = preferredHolder === undefined && notes.preferredHolder !== undefined;
  return {
    ...fields,
    notes,
    strategy: strategy ?? notes.strategy,
    isStrategyNoted: strategy === undefined && notes.strategy !== undefined,
    preferredHolder: preferredHolder ?? notes.preferredHolder,
    isPreferredHolderNoted,
    isPreferredHolderOurs: isPreferredHolderOurs || isPreferredHolderNoted,
  };
}

/** A Lease as its fields alone have it. */
export function withoutNotes(lease: Lease): Lease {
  const { notes: _, isStrategyNoted, isPreferredHolderNoted, ...fields } = lease;
  return {
    ...fields,
    ...(isStrategyNoted && { strategy: undefined }),
    ...(isPreferredHolderNoted && { preferredHolder: undefined, isPreferredHolderOurs: false }),
  };
}

/** The notes after a change to them; undefined when none is left. */
export function changedNotes(
  notes: LeaseNotes | undefined,
  change: NotesChange | undefined,
): LeaseNotes | undefined {
  const { strategy = notes?.strategy, preferredHolder = notes?.preferredHolder } = change ?? {};
  if (strategy == null && preferredHolder == null) return undefined;
  return { strategy: strategy ?? undefined, preferredHolder: preferredHolder ?? undefined };
}

/**
 * What a change of the Lease does to its notes: where the server drops fields they keep what the change writes into these,
 * elsewhere they go. As long as nothing is known of the server, a Lease that has notes has them kept.
 */
export function notesWith(
  { lease, dropsFields }: ElectionInput,
  change: LeaseChange,
): NotesChange | undefined {
  const notes: LeaseNotes = lease?.notes ?? { strategy: undefined, preferredHolder: undefined };
  const keepsNotes = dropsFields ?? lease?.notes !== undefined;
  const named = 'strategy' in change ? change.strategy : undefined;
  const strategy = named === undefined ? notes.strategy : keepsNotes ? named : undefined;
  const preferredHolder = preferredAfter(notes, change, keepsNotes);
  const changed = {
    ...(strategy !== notes.strategy && { strategy: strategy ?? null }),
    ...(preferredHolder !== notes.preferredHolder && { preferredHolder: preferredHolder ?? null }),
  };
  return Object.keys(changed).length > 0 ? changed : undefined;
}

function preferredAfter(
  { preferredHolder }: LeaseNotes,
  change: LeaseChange,
  keepsNotes: boolean,
): string | undefined {
  switch (change.kind) {
    case 'prefer':
      return keepsNotes ? change.preferredHolder : undefined;
    case 'grant':
    case 'clearPreferredHolder':
      return undefined;
    case 'strategy':
      return change.removesPreferredHolder ? undefined : preferredHolder;
    case 'fence':
      return preferredHolder;
  }
}

/**
 * Whether the server has dropped a field that an action has written: with its feature gate off it accepts those that a Lease
 * does not have yet, and leaves them out. Undefined where the action has written none.
 */
export function hasDroppedFields(action: Action, answer: Lease): boolean | undefined {
  if (action.kind === 'CreateLease') return isDropped(answer, action);
  if (action.kind !== 'UpdateLease' || !('strategy' in action.change)) return undefined;
  return isDropped(answer, action.change);
}

function isDropped(
  answer: Lease,
  written: { readonly strategy: string; readonly preferredHolder?: string },
): boolean {
  const { strategy, preferredHolder, isStrategyNoted, isPreferredHolderNoted } = answer;
  const isPreferredDropped =
    written.preferredHolder !== undefined &&
    (preferredHolder === undefined || isPreferredHolderNoted === true);
  return strategy === undefined || isStrategyNoted === true || isPreferredDropped;
}
