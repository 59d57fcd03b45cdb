import { expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { explainCandidates, rankCandidates } from '../../src/election/decision.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
} from '../support/election-builders.ts';

const held = makeInput().sees(makeLease('holder').renewedAt(0), 0);
const holder = makeCandidate('holder').createdAt(-5000).seenAt(0);

test.each<{ name: string; input: InputBuilder; want: Record<string, string | undefined> }>([
  {
    name: 'has the criterion by which it ranks below the holder',
    input: held.candidates(
      holder,
      makeCandidate('newer').versions('1.37.0').seenAt(0).renewedAt(900),
      makeCandidate('younger').createdAt(-1000).seenAt(0).renewedAt(900),
    ),
    want: { holder: undefined, newer: 'HigherEmulationVersion', younger: 'CreatedLater' },
  },
  {
    name: 'has that criterion in any order of the candidates',
    input: held.candidates(makeCandidate('newer').versions('1.37.0').seenAt(0).renewedAt(900), holder),
    want: { newer: 'HigherEmulationVersion', holder: undefined },
  },
  {
    name: 'is as good as the holder, which nothing but its age would put behind it',
    input: held.candidates(holder, makeCandidate('older').createdAt(-9000).seenAt(0).renewedAt(900)),
    want: { holder: undefined, older: 'AsGoodAsHolder' },
  },
  {
    name: 'takes no part, if its answer could have changed that',
    input: held.candidates(
      holder,
      makeCandidate('equal').seenAt(0),
      makeCandidate('silent').versions('1.37.0').seenAt(0).pingedAt(-6000),
    ),
    want: { holder: undefined, equal: 'Idle', silent: 'Unresponsive' },
  },
  {
    name: 'would be worse with any answer, so that it was not pinged',
    input: held.candidates(holder, makeCandidate('idle').versions('1.37.0').seenAt(0)),
    want: { holder: undefined, idle: 'HigherEmulationVersion' },
  },
  {
    name: 'would be worse with any answer, although it was pinged',
    input: held.candidates(holder, makeCandidate('asked').versions('1.37.0').seenAt(0).pingedAt(500)),
    want: { holder: undefined, asked: 'HigherEmulationVersion' },
  },
  {
    name: 'ranks, by its age alone, above the last holder of a deleted Lease, which gets it back',
    input: held
      .sees(undefined, 500)
      .candidates(
        makeCandidate('holder').createdAt(-5000).seenAt(0).pingedAt(600).renewedAt(700),
        makeCandidate('older').createdAt(-9000).seenAt(0).renewedAt(900),
      ),
    want: { holder: undefined, older: 'NotChosen' },
  },
  {
    name: 'has no readable version',
    input: held.candidates(holder, makeCandidate('none').versions('none').seenAt(0).renewedAt(900)),
    want: { holder: undefined, none: 'NotElectable' },
  },
  {
    name: 'ranks above the last holder of a deleted Lease, which gets it back nevertheless',
    input: held
      .sees(undefined, 500)
      .candidates(
        makeCandidate('holder').seenAt(0).pingedAt(600).renewedAt(700),
        makeCandidate('better').versions('1.35.0').seenAt(0).renewedAt(900),
      ),
    want: { holder: undefined, better: 'NotChosen' },
  },
])('a candidate that was not chosen $name', ({ input, want }) => {
  const accounts = explainCandidates(decideElection(input.build(), makeNow(1000)));
  expect(Object.fromEntries(accounts.map(({ name, lostBy }) => [name, lostBy]))).toEqual(want);
});

test('candidates are ranked: the chosen one, those that could lead, other live ones, and all others, the last two by name', () => {
  const live = (name: string, version: string, createdAt: number) =>
    makeCandidate(name).versions(version).createdAt(createdAt).seenAt(0).renewedAt(900);
  const silent = (name: string, createdAt: number) =>
    makeCandidate(name).createdAt(createdAt).seenAt(0).pingedAt(-6000);
  const input = held.candidates(
    ...[silent('silent-b', -9000), silent('silent-a', -8000), silent('silent-c', -7000)],
    ...[live('unreadable-a', 'none', -8000), live('unreadable-b', 'none', -9000)],
    ...[live('newest', '1.38.0', -9000), live('newer', '1.37.0', -8000), holder],
  );
  const ranked = rankCandidates(decideElection(input.build(), makeNow(1000)));
  expect(ranked.map(({ candidate }) => candidate.name)).toEqual([
    ...['holder', 'newer', 'newest'],
    ...['unreadable-a', 'unreadable-b', 'silent-a', 'silent-b', 'silent-c'],
  ]);
});
