import { describe, expect, test } from 'vitest';
import { candidateRow, compareForElection, type SampleProgram } from '../../src/demo/candidate-row.ts';
import type { Condition, LeaseState } from '../../src/demo/demo-state.ts';
import type { LeaseCandidate } from '../../src/election/model.ts';
import { makeCandidate, wallAt } from '../support/election-builders.ts';
import { makeLease } from './make-state.ts';

const leading: SampleProgram = { life: 'running', isLeading: true };
const following: SampleProgram = { life: 'running', isLeading: false };
const crashed: SampleProgram = { life: 'crashed', isLeading: false };
const paused: SampleProgram = { life: 'paused', isLeading: true };

const own = makeLease({ holder: 'sample-1' });
const other = makeLease({ holder: 'sample-2' });

describe('a row of the table', () => {
  test.each<{
    name: string;
    program: SampleProgram | undefined;
    lease: LeaseState | undefined;
    fields?: Partial<LeaseCandidate>;
    isFresh?: boolean;
    want: Condition;
  }>([
    { name: 'leads', program: leading, lease: own, want: 'leading' },
    // Its program stops a little after it has lost the Lease.
    { name: 'leads on without the Lease', program: leading, lease: other, want: 'leading' },
    {
      name: 'leads while another is preferred',
      program: leading,
      lease: { ...own, preferredHolder: 'sample-2' },
      want: 'yielding',
    },
    { name: 'holds the Lease and does not know yet', program: following, lease: own, want: 'elected' },
    {
      name: 'holds a Lease that has run out',
      program: following,
      lease: { ...own, remainingMs: 0 },
      want: 'idle',
    },
    {
      name: 'is preferred to the holder',
      program: following,
      lease: { ...other, preferredHolder: 'sample-1' },
      want: 'preferred',
    },
    {
      name: 'has not answered',
      program: following,
      lease: other,
      fields: { pingTime: wallAt(1) },
      want: 'pinged',
    },
    {
      name: 'has answered',
      program: following,
      lease: other,
      fields: { pingTime: wallAt(0) },
      isFresh: true,
      want: 'fresh',
    },
    {
      name: 'has never renewed',
      program: undefined,
      lease: undefined,
      fields: { renewTime: undefined },
      want: 'idle',
    },
    { name: 'does nothing', program: following, lease: undefined, want: 'idle' },
    { name: 'has crashed as the holder', program: crashed, lease: own, want: 'crashed' },
    { name: 'is paused as the leader', program: paused, lease: own, want: 'paused' },
    { name: 'is none of the demo and holds the Lease', program: undefined, lease: own, want: 'leading' },
    {
      name: 'is none of the demo and held a Lease that has run out',
      program: undefined,
      lease: { ...own, remainingMs: 0 },
      want: 'idle',
    },
  ])('says $want of one that $name', ({ program, lease, fields, isFresh = false, want }) => {
    const candidate = makeCandidate('sample-1')
      .renewedAt(0)
      .with({ ...fields })
      .build();
    expect(candidateRow(candidate, program, lease, isFresh).condition).toBe(want);
  });

  test('shows what is known of a candidate, and what is not as nothing', () => {
    const candidate = makeCandidate('sample-1').versions(undefined).wantsInOrder('a', 'b').build();
    expect(candidateRow(candidate, undefined, { ...other, preferredHolder: 'sample-1' }, false)).toEqual({
      name: 'sample-1',
      binaryVersion: '',
      emulationVersion: '',
      strategy: 'a > b',
      condition: 'preferred',
      isHolder: false,
      isPreferred: true,
    });
  });
});

test('the table begins with the best candidate and ends with those that could never lead', () => {
  const names = [
    makeCandidate('z-unreadable').emulating('new'),
    makeCandidate('newest'),
    makeCandidate('a-unreadable').versions(undefined),
    makeCandidate('older-binary').versions('1.35.0'),
    makeCandidate('newer-binary').emulating('1.35.0'),
  ]
    .map((candidate) => candidate.build())
    .toSorted(compareForElection)
    .map(({ name }) => name);
  expect(names).toEqual(['older-binary', 'newer-binary', 'newest', 'a-unreadable', 'z-unreadable']);
});
