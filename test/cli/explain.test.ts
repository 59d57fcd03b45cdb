import { expect, test } from 'vitest';
import { stepLines } from '../../src/cli/explain.ts';
import { plain } from '../../src/cli/output.ts';
import type { Rehearsal } from '../../src/inspection/rehearsal.ts';

const over: Rehearsal = {
  steps: [],
  holder: '',
  reason: 'LeaderOptimal',
  isSettled: true,
  handOvers: 0,
  tookMs: 0,
};

test.each<{ name: string; rehearsal: Partial<Rehearsal>; want: string }>([
  { name: 'a candidate leads', rehearsal: { holder: 'a' }, want: 'a leads in the end (LeaderOptimal).' },
  {
    name: 'there is no leader',
    rehearsal: { reason: 'NoLiveCandidates' },
    want: 'No candidate leads in the end (NoLiveCandidates).',
  },
  {
    name: 'there is no candidate, but plain electors compete for the Lease',
    rehearsal: { reason: 'NoCandidates' },
    want: 'No candidate leads in the end (NoCandidates); a program that takes Leases by itself may lead.',
  },
  {
    name: 'another controller decides',
    rehearsal: { reason: 'ThirdPartyStrategy' },
    want: 'Another controller chooses the leader in the end (ThirdPartyStrategy).',
  },
  {
    name: "it is the coordinators' own lock",
    rehearsal: { reason: 'CoordinatorLease' },
    want: 'Another coordinator takes the Lease by itself (CoordinatorLease).',
  },
  {
    name: 'the Lease of a dead holder has not expired',
    rehearsal: { holder: 'dead', isSettled: false, tookMs: 3_780_000 },
    want: 'The election is not settled after 63m, and dead holds the Lease (LeaderOptimal).',
  },
])('describes the end when $name', ({ rehearsal, want }) => {
  expect(stepLines({ ...over, ...rehearsal }, plain)).toEqual([`  ${want}`]);
});
