import type { Action, LeaseChange, NotesChange, UpdateLease } from './decision.ts';
import type { Lease, LeaseNotes } from './model.ts';
import type { ElectionInput } from './view.ts';

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

/** A Lease that an action has written, as that was decided on it, and as the server has answered. */
export interface WrittenLease {
  readonly before: Lease | undefined;
  readonly after: Lease;
}

/**
 * Whether the server drops fields, by its answer to an action: with its feature gate off it accepts those that a Lease does
 * not have yet, and leaves them out. What the Lease had already it keeps with any gate. Undefined where nothing can be told.
 */
export function hasDroppedFields(action: Action, { before, after }: WrittenLease): boolean | undefined {
  const written = fieldsIn(action);
  if (!written) return undefined;
  const kept = withoutNotes(after);
  if (written.some((field) => kept[field] === undefined)) return true;
  const had = before && withoutNotes(before);
  return written.some((field) => had?.[field] === undefined) ? false : undefined;
}

/** Whether an action has written a note of each field of its own that the server has left out. */
export function hasNotedWhatIsDropped(action: UpdateLease, after: Lease): boolean {
  const kept = withoutNotes(after);
  return (fieldsIn(action) ?? []).every(
    (field) => kept[field] !== undefined || action.notes?.[field] != null,
  );
}

type NotedField = 'strategy' | 'preferredHolder';

/** The fields that a server may drop and that an action writes. */
function fieldsIn(action: Action): readonly NotedField[] | undefined {
  if (action.kind === 'CreateLease') return ['strategy'];
  if (action.kind !== 'UpdateLease' || !('strategy' in action.change)) return undefined;
  return action.change.kind === 'prefer' ? ['strategy', 'preferredHolder'] : ['strategy'];
}
