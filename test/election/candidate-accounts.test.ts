import { expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { explainCandidates } from '../../src/election/decision.ts';
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
