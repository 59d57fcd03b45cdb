import { describe, expect, test } from 'vitest';
import type { Action, LeaseChange, NotesChange } from '../../src/election/decision.ts';
import type { LeaseNotes } from '../../src/election/model.ts';
import {
  changedNotes,
  hasDroppedFields,
  notesWith,
  withNotes,
  withoutNotes,
} from '../../src/election/notes.ts';
import { makeInput, makeLease, OLDEST, wallAt } from '../support/election-builders.ts';

const OTHER = 'x.example/other';
const grant = {
  holder: 'b',
  renewTime: wallAt(0),
  former: 'a',
  hasFormerLapsed: false,
  revises: undefined,
  isPreemption: false,
  leaseDurationSeconds: 10,
} as const;
const granting: LeaseChange = { kind: 'grant', grant, leaseTransitions: 1, strategy: OLDEST };
const preferring: LeaseChange = { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST };
const naming = (removesPreferredHolder: boolean): LeaseChange => ({
  kind: 'strategy',
  strategy: OLDEST,
  isHolderAbsent: false,
  removesPreferredHolder,
});
const clearing: LeaseChange = { kind: 'clearPreferredHolder', hasFailed: false };
const fencing: LeaseChange = {
  kind: 'fence',
  renewTime: wallAt(0),
  leaseDurationSeconds: 15,
  leaseTransitions: 1,
};

describe('the effect of a change of a Lease on its notes (rule 14)', () => {
  const both = { strategy: OTHER, preferredHolder: 'c' };
  const named = { strategy: OLDEST, preferredHolder: undefined };

  test.each<{
    change: LeaseChange;
    dropsFields: boolean | undefined;
    notes?: LeaseNotes;
    want: NotesChange | undefined;
  }>([
    // A server that drops fields.
    { change: granting, dropsFields: true, want: { strategy: OLDEST } },
    { change: granting, dropsFields: true, notes: both, want: { strategy: OLDEST, preferredHolder: null } },
    { change: granting, dropsFields: true, notes: named, want: undefined },
    { change: preferring, dropsFields: true, want: { strategy: OLDEST, preferredHolder: 'b' } },
    { change: preferring, dropsFields: true, notes: named, want: { preferredHolder: 'b' } },
    { change: naming(false), dropsFields: true, notes: both, want: { strategy: OLDEST } },
    {
      change: naming(true),
      dropsFields: true,
      notes: both,
      want: { strategy: OLDEST, preferredHolder: null },
    },
    { change: clearing, dropsFields: true, notes: both, want: { preferredHolder: null } },
    { change: fencing, dropsFields: true, notes: both, want: undefined },
    // A server that keeps fields.
    { change: granting, dropsFields: false, want: undefined },
    { change: granting, dropsFields: false, notes: both, want: { strategy: null, preferredHolder: null } },
    { change: preferring, dropsFields: false, notes: both, want: { strategy: null, preferredHolder: null } },
    { change: naming(false), dropsFields: false, notes: both, want: { strategy: null } },
    { change: clearing, dropsFields: false, notes: both, want: { preferredHolder: null } },
    { change: clearing, dropsFields: false, notes: named, want: undefined },
    // A server that is unknown so far.
    { change: preferring, dropsFields: undefined, want: undefined },
    { change: preferring, dropsFields: undefined, notes: named, want: { preferredHolder: 'b' } },
    {
      change: granting,
      dropsFields: undefined,
      notes: both,
      want: { strategy: OLDEST, preferredHolder: null },
    },
  ])(
    '$change.kind, of $notes, if the server drops fields: $dropsFields',
    ({ change, dropsFields, notes, want }) => {
      const lease = makeLease('a').strategy(undefined);
      const input = makeInput()
        .sees(notes ? lease.noting(notes) : lease, 0)
        .build();
      expect(notesWith({ ...input, dropsFields }, change)).toEqual(want);
      expect(notesWith({ ...input, lease: undefined, dropsFields: false }, change)).toBeUndefined();
    },
  );

  test.each<{ notes?: LeaseNotes; change?: NotesChange; want: LeaseNotes | undefined }>([
    { want: undefined },
    { notes: both, want: both },
    { notes: both, change: { strategy: null }, want: { strategy: undefined, preferredHolder: 'c' } },
    { notes: both, change: { preferredHolder: null }, want: { strategy: OTHER, preferredHolder: undefined } },
    { notes: both, change: { strategy: null, preferredHolder: null }, want: undefined },
    { change: { strategy: OLDEST }, want: { strategy: OLDEST, preferredHolder: undefined } },
    { change: { preferredHolder: 'b' }, want: { strategy: undefined, preferredHolder: 'b' } },
  ])('makes $want of $notes and $change', ({ notes, change, want }) => {
    expect(changedNotes(notes, change)).toEqual(want);
  });
});

describe('a Lease with notes (rule 14)', () => {
  const fields = makeLease('a').strategy(undefined).build();

  test('equals its fields without them, and again after their removal', () => {
    for (const lease of [fields, makeLease('a').preferring('c').build()]) {
      const noted = withNotes(lease, { strategy: OTHER, preferredHolder: 'b' });
      expect(withoutNotes(noted)).toEqual(lease);
      expect(withoutNotes(withNotes(lease, undefined))).toEqual(lease);
    }
  });

  test('shows which of the two comes from a note', () => {
    const told = (notes: LeaseNotes) => {
      const { isStrategyNoted, isPreferredHolderNoted } = withNotes(fields, notes);
      return [isStrategyNoted, isPreferredHolderNoted];
    };
    expect(told({ strategy: OTHER, preferredHolder: undefined })).toEqual([true, false]);
    expect(told({ strategy: undefined, preferredHolder: 'b' })).toEqual([false, true]);
  });

  test('has a preferredHolder of ours only if a note or field ownership says so', () => {
    expect(withNotes(fields, { strategy: OTHER, preferredHolder: undefined }).isPreferredHolderOurs).toBe(
      false,
    );
    expect(withNotes(fields, { strategy: undefined, preferredHolder: 'b' }).isPreferredHolderOurs).toBe(true);
  });
});

describe('an answer shows whether the server drops fields (rule 14)', () => {
  const META = { uid: 'u', resourceVersion: '1' };
  const updating = (change: LeaseChange): Action => ({ kind: 'UpdateLease', ...META, change });
  const kept = makeLease('a');
  const dropped = makeLease('a').strategy(undefined);

  test.each<{
    name: string;
    action: Action;
    before?: typeof kept;
    answer: typeof kept;
    want: boolean | undefined;
  }>([
    {
      name: 'a new Lease keeps its strategy',
      action: { kind: 'CreateLease', strategy: OLDEST, grant: undefined },
      answer: kept,
      want: false,
    },
    {
      name: 'a new Lease loses its strategy',
      action: { kind: 'CreateLease', strategy: OLDEST, grant: undefined },
      answer: dropped,
      want: true,
    },
    { name: 'a grant keeps its strategy', action: updating(granting), answer: kept, want: false },
    {
      name: 'only a note has it',
      action: updating(granting),
      answer: dropped.noting({ strategy: OLDEST }),
      want: true,
    },
    { name: 'a preference is kept', action: updating(preferring), answer: kept.preferring('b'), want: false },
    {
      name: 'a preference is dropped, if the strategy existed',
      action: updating(preferring),
      answer: kept,
      want: true,
    },
    {
      name: 'only a note has the preference',
      action: updating(preferring),
      answer: kept.noting({ preferredHolder: 'b' }),
      want: true,
    },
    { name: 'a removal says nothing', action: updating(clearing), answer: dropped, want: undefined },
    { name: 'a fence says nothing', action: updating(fencing), answer: dropped, want: undefined },
    {
      name: 'a deletion says nothing',
      action: { kind: 'DeleteCandidate', source: 'native', name: 'a', ...META },
      answer: dropped,
      want: undefined,
    },
    {
      name: 'a grant keeps an existing strategy, which means nothing: it may be from when the gate was on',
      action: updating(granting),
      before: kept,
      answer: kept,
      want: undefined,
    },
    {
      name: 'a grant keeps a strategy that was only in a note',
      action: updating(granting),
      before: dropped.noting({ strategy: OLDEST }),
      answer: kept,
      want: false,
    },
    {
      name: 'a preference is kept, if only the strategy existed before',
      action: updating(preferring),
      before: kept,
      answer: kept.preferring('b'),
      want: false,
    },
    {
      name: 'a preference is dropped, if the strategy existed before',
      action: updating(preferring),
      before: kept,
      answer: kept,
      want: true,
    },
  ])('when $name', ({ action, before = dropped, answer, want }) => {
    expect(hasDroppedFields(action, { before: before.build(), after: answer.build() })).toBe(want);
  });
});
