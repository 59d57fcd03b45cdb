import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leasePatch, newLease, pingPatch } from '../../src/coordination/lease-patch.ts';
import type { CreateLease, LeaseChange, NotesChange } from '../../src/election/decision.ts';
import { OLDEST, wallAt } from '../support/election-builders.ts';

const META = { uid: 'u', resourceVersion: '7' };
const TIME = '2026-01-01T00:00:01.000001Z';
const grant: NonNullable<CreateLease['grant']> = {
  holder: 'b',
  renewTime: wallAt(1000) + 1n,
  former: 'a',
  hasFormerLapsed: true,
  revises: undefined,
  isPreemption: true,
  leaseDurationSeconds: 10,
};

/** RFC 7386, in the simplest form. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const result: Record<string, unknown> = isObject ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

const changes: readonly {
  name: string;
  change: LeaseChange;
  wantSet: object;
  wantRemoved: readonly string[];
}[] = [
  {
    name: 'a grant',
    change: { kind: 'grant', grant, leaseTransitions: 4, strategy: OLDEST },
    wantSet: {
      holderIdentity: 'b',
      leaseDurationSeconds: 10,
      acquireTime: TIME,
      renewTime: TIME,
      leaseTransitions: 4,
      strategy: OLDEST,
    },
    wantRemoved: ['preferredHolder'],
  },
  {
    name: 'a grant that returns the Lease to a holder that may still lead, which is not a first grant (rules 8 and 12)',
    change: { kind: 'grant', grant: { ...grant, isReturn: true }, leaseTransitions: 4, strategy: OLDEST },
    wantSet: {
      holderIdentity: 'b',
      leaseDurationSeconds: 10,
      acquireTime: '2026-01-01T00:00:01.000000Z',
      renewTime: TIME,
      leaseTransitions: 4,
      strategy: OLDEST,
    },
    wantRemoved: ['preferredHolder'],
  },
  {
    name: 'a preference',
    change: { kind: 'prefer', preferredHolder: 'b', strategy: OLDEST },
    wantSet: { preferredHolder: 'b', strategy: OLDEST },
    wantRemoved: [],
  },
  {
    name: 'a preference taken back',
    change: { kind: 'clearPreferredHolder', hasFailed: false },
    wantSet: {},
    wantRemoved: ['preferredHolder'],
  },
  {
    name: 'a strategy',
    change: { kind: 'strategy', strategy: 'x/y', isHolderAbsent: false, removesPreferredHolder: false },
    wantSet: { strategy: 'x/y' },
    wantRemoved: [],
  },
  {
    name: 'a strategy without a holder field',
    change: { kind: 'strategy', strategy: 'x/y', isHolderAbsent: true, removesPreferredHolder: false },
    wantSet: { strategy: 'x/y', holderIdentity: '' },
    wantRemoved: [],
  },
  {
    name: 'a strategy in place of our preference',
    change: { kind: 'strategy', strategy: 'x/y', isHolderAbsent: false, removesPreferredHolder: true },
    wantSet: { strategy: 'x/y' },
    wantRemoved: ['preferredHolder'],
  },
  {
    name: 'a release, as client-go writes it',
    change: { kind: 'release', renewTime: grant.renewTime },
    wantSet: { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: TIME, renewTime: TIME },
    wantRemoved: [],
  },
  {
    name: 'a fence',
    change: { kind: 'fence', renewTime: grant.renewTime, leaseDurationSeconds: 15, leaseTransitions: 4 },
    wantSet: {
      holderIdentity: 'fence.coordinated-leader-election.dev',
      leaseDurationSeconds: 15,
      acquireTime: TIME,
      renewTime: TIME,
      leaseTransitions: 4,
    },
    wantRemoved: [],
  },
];

describe('notes (rule 14)', () => {
  test.each<{ notes: NotesChange; want: object }>([
    {
      notes: { strategy: OLDEST, preferredHolder: 'b' },
      want: {
        'coordinated-leader-election.dev/strategy': OLDEST,
        'coordinated-leader-election.dev/preferred-holder': 'b',
      },
    },
    {
      notes: { preferredHolder: null },
      want: { 'coordinated-leader-election.dev/preferred-holder': null },
    },
  ])('are annotations: $notes', ({ notes, want }) => {
    const change: LeaseChange = { kind: 'clearPreferredHolder', hasFailed: false };
    expect(leasePatch({ kind: 'UpdateLease', ...META, change, notes })).toEqual({
      metadata: { ...META, annotations: want },
      spec: { preferredHolder: null },
    });
    expect(
      newLease('n', 'l', { kind: 'CreateLease', strategy: OLDEST, grant: undefined, notes }),
    ).toMatchObject({
      metadata: { namespace: 'n', name: 'l', annotations: want },
    });
  });
});

describe.each(changes)('$name', ({ change, wantSet, wantRemoved }) => {
  const patch = leasePatch({ kind: 'UpdateLease', ...META, change });
  const removed = Object.fromEntries(wantRemoved.map((field) => [field, null]));

  test('sends only the changed fields, the uid and the resourceVersion', () => {
    expect(patch).toEqual({ metadata: META, spec: { ...wantSet, ...removed } });
  });

  test('keeps all other fields of the Lease', () => {
    const unknown = fc.dictionary(
      // The removal of a JSON key __proto__ is not tested here.
      fc.string().filter((name) => name !== '__proto__'),
      fc.jsonValue().filter((value) => value !== null),
    );
    fc.assert(
      fc.property(unknown, unknown, unknown, (fields, meta, spec) => {
        const lease = {
          ...fields,
          metadata: { ...meta, name: 'x', ...META },
          spec: { ...spec, holderIdentity: 'a', preferredHolder: 'c', strategy: OLDEST },
        };
        const expected: Record<string, unknown> = { ...lease.spec, ...wantSet };
        for (const field of wantRemoved) delete expected[field];
        expect(mergePatch(lease, patch)).toEqual({ ...lease, spec: expected });
      }),
    );
  });
});

describe('a ping', () => {
  const patch = pingPatch({
    kind: 'PingCandidate',
    source: 'native',
    name: 'a',
    ...META,
    pingTime: wallAt(1000) + 1n,
    purpose: 'election',
  });

  test('sends only pingTime, the uid and the resourceVersion', () => {
    expect(patch).toEqual({ metadata: META, spec: { pingTime: TIME } });
  });

  test('keeps the candidate’s own fields', () => {
    const candidate = {
      metadata: { ...META, labels: { x: 'y' } },
      spec: { leaseName: 'x', future: { a: 1 } },
    };
    expect(mergePatch(candidate, patch)).toEqual({
      ...candidate,
      spec: { ...candidate.spec, pingTime: TIME },
    });
  });
});

describe('a new Lease', () => {
  test('has its holder, with equal times', () => {
    expect(newLease('default', 'x', { kind: 'CreateLease', strategy: OLDEST, grant })).toMatchObject({
      metadata: { namespace: 'default', name: 'x' },
      spec: {
        holderIdentity: 'b',
        leaseTransitions: 0,
        acquireTime: TIME,
        renewTime: TIME,
        leaseDurationSeconds: 10,
      },
    });
  });

  test('without a holder has an empty one, because the built-in controller needs the field', () => {
    const lease = newLease('default', 'x', { kind: 'CreateLease', strategy: 'x/y', grant: undefined });
    expect(lease['spec']).toEqual({ holderIdentity: '', strategy: 'x/y' });
  });
});
