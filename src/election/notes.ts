import type { Action, LeaseChange, NotesChange, UpdateLease } from './decision.ts';
import type { Lease, LeaseNotes } from './model.ts';
import type { ElectionInput } from './view.ts';

/** Returns a Lease with its fields and notes combined: a note counts only if the field of the same name is not set. */
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

export function withoutNotes(lease: Lease): Lease {
  const { notes: _, isStrategyNoted, isPreferredHolderNoted, ...fields } = lease;
  return {
    ...fields,
    ...(isStrategyNoted && { strategy: undefined }),
    ...(isPreferredHolderNoted && { preferredHolder: undefined, isPreferredHolderOurs: false }),
  };
}

export function changedNotes(notes?: LeaseNotes, change?: NotesChange): LeaseNotes | undefined {
  const { strategy = notes?.strategy, preferredHolder = notes?.preferredHolder } = change ?? {};
  if (strategy == null && preferredHolder == null) return undefined;
  return { strategy: strategy ?? undefined, preferredHolder: preferredHolder ?? undefined };
}

/** Returns the changes to the notes that the write of `change` must contain (rule 14); undefined if there are none. */
export function notesWith(input: ElectionInput, change: LeaseChange): NotesChange | undefined {
  const { lease, dropsFields } = input;
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

function preferredAfter(notes: LeaseNotes, change: LeaseChange, keepsNotes: boolean): string | undefined {
  switch (change.kind) {
    case 'prefer':
      return keepsNotes ? change.preferredHolder : undefined;
    case 'grant':
    case 'clearPreferredHolder':
      return undefined;
    case 'strategy':
      return change.removesPreferredHolder ? undefined : notes.preferredHolder;
    case 'fence':
    case 'release':
      return notes.preferredHolder;
  }
}

/** A Lease that an action has written: its state at the decision, and its state in the server's answer. */
export interface WrittenLease {
  readonly before: Lease | undefined;
  readonly after: Lease;
}

/** Returns whether the server drops strategy and preferredHolder; undefined if the answer is not conclusive (rule 14). */
export function hasDroppedFields(action: Action, { before, after }: WrittenLease): boolean | undefined {
  const written = fieldsIn(action);
  const kept = withoutNotes(after);
  if (written.some((field) => kept[field] === undefined)) return true;
  const had = before && withoutNotes(before);
  return written.some((field) => had?.[field] === undefined) ? false : undefined;
}

/** True if an action has written a note for each of its fields that the server dropped. */
export function hasNotedWhatIsDropped(action: UpdateLease, after: Lease): boolean {
  const kept = withoutNotes(after);
  return fieldsIn(action).every((field) => kept[field] !== undefined || action.notes?.[field] != null);
}

/** Returns the fields that an action writes and that some servers drop. */
function fieldsIn(action: Action): readonly (keyof LeaseNotes)[] {
  if (action.kind === 'CreateLease') return ['strategy'];
  if (action.kind !== 'UpdateLease' || !('strategy' in action.change)) return [];
  return action.change.kind === 'prefer' ? ['strategy', 'preferredHolder'] : ['strategy'];
}
