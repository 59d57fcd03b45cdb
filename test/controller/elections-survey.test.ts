import { describe, expect, test } from 'vitest';
import { surveyElections } from '../../src/controller/elections-survey.ts';
import { surveyCandidates, surveyTenure } from '../../src/election/survey.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
} from '../support/election-builders.ts';

const at = 6000;

function survey(builder: InputBuilder) {
  const input = builder.build();
  const tenure = surveyTenure(input, at);
  const standings = surveyCandidates(input, tenure, makeNow(at));
  return surveyElections([{ key: 'kube-system/scheduler', input, tenure, standings, reason: undefined }]);
}

const idle = (name: string) => makeCandidate(name).seenAt(0);
const silent = (name: string) => idle(name).pingedAt(0);
const gone = (name: string) => makeCandidate(name).deleting().seenAt(0);
const expired = (name: string) => makeCandidate(name).renewedAt(-3_600_000).seenAt(0);
const held = makeInput().sees(makeLease('holder'), 0);

describe('a Lease', () => {
  test.for([
    { name: 'held by its only candidate', input: held.candidates(idle('holder')), want: 0 },
    {
      name: 'held, with one that nobody has asked yet',
      input: held.candidates(idle('holder'), idle('next')),
      want: 0,
    },
    {
      name: 'held, with all others silent',
      input: held.candidates(idle('holder'), silent('a'), silent('b')),
      want: 1,
    },
    {
      name: 'held, with one of the others silent',
      input: held.candidates(idle('holder'), silent('a'), idle('b')),
      want: 0,
    },
    {
      name: 'held, with the only other one silent for so long that it is not valid any more',
      input: held.candidates(idle('holder'), expired('a')),
      want: 1,
    },
    {
      name: 'held by somebody who is no candidate, with the only candidate silent',
      input: held.candidates(silent('a')),
      want: 1,
    },
    { name: 'without a Lease, all silent', input: makeInput().candidates(silent('a')), want: 1 },
    {
      name: 'without a Lease, one silent',
      input: makeInput().candidates(silent('a'), idle('b')),
      want: 0,
    },
  ])('has a successor unless those who could be it are silent: $name', ({ input, want }) => {
    expect(survey(input).withoutSuccessor).toBe(want);
  });

  test('has no candidates where only finalizers keep those that there were', () => {
    const left = makeInput().candidates(gone('a'), gone('b'));
    expect(survey(left)).toMatchObject({ leases: 0, unled: [], candidates: { Deleting: 2 } });
    const alive = makeInput().candidates(gone('a'), idle('b'));
    expect(survey(alive)).toMatchObject({ leases: 1, unled: [{ key: 'kube-system/scheduler' }] });
  });
});
