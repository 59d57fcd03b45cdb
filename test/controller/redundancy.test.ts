import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noteRedundancy } from '../../src/controller/redundancy.ts';
import { surveyStandings, surveyTenure } from '../../src/election/view.ts';
import { makeCandidate, makeInput, makeNow, type ObservedBuilder } from '../support/election-builders.ts';

const MINUTE = 60_000;
const NOW = 100 * MINUTE;

interface Life {
  readonly from: number;
  readonly heard: number;
}

/** Compares each pair: both existed for ten minutes, and the other one was seen in the seven minutes before. */
function namesWithCompany(lives: readonly Life[]): readonly string[] {
  const isLong = ({ from, heard }: Life) => heard - from >= 10;
  return lives.flatMap((life, index) => {
    const company = lives.filter(
      (other) =>
        other !== life && isLong(other) && other.from <= life.heard - 10 && other.heard >= life.heard - 7,
    );
    return isLong(life) && company.length > 0 ? [`uid-of-${index}`] : [];
  });
}

function candidate({ from, heard }: Life, index: number): ObservedBuilder {
  const born = makeCandidate(String(index)).createdAt(from * MINUTE);
  return born
    .renewedAt(from * MINUTE)
    .seenAt(from * MINUTE)
    .renewedAt(heard * MINUTE);
}

function noted(candidates: readonly ObservedBuilder[], known = new Map<string, number>()) {
  const input = makeInput()
    .candidates(...candidates)
    .build();
  const standings = surveyStandings(input, surveyTenure(input, NOW), makeNow(NOW));
  const redundancy = new Map<string, number>();
  noteRedundancy(redundancy, standings, known, makeNow(NOW));
  return redundancy;
}

const someLife = fc
  .record({ from: fc.nat(30), length: fc.integer({ min: 1, max: 40 }) })
  .map(({ from, length }): Life => ({ from, heard: from + length }));

test('the redundant candidates are those that a check of each pair would find', () => {
  fc.assert(
    fc.property(fc.array(someLife, { maxLength: 6 }), (lives) => {
      expect([...noted(lives.map(candidate)).keys()].sort()).toEqual(namesWithCompany(lives));
    }),
    { numRuns: 500 },
  );
});

test('the companion of the oldest is the second oldest, not the one that was last seen', () => {
  const oldest = { from: 0, heard: 30 };
  const second = { from: 19, heard: 33 };
  const third = { from: 21, heard: 32 };
  expect([...noted([oldest, second, third].map(candidate)).keys()]).toContain('uid-of-0');
  expect([...noted([oldest, third].map(candidate)).keys()]).not.toContain('uid-of-0');
});

test('a redundant candidate stays redundant until its next renewal', () => {
  const alone = candidate({ from: 0, heard: 40 }, 0);
  expect(noted([alone], new Map([['uid-of-0', 40 * MINUTE]])).size).toBe(1);
  expect(noted([alone], new Map([['uid-of-0', 39 * MINUTE]])).size).toBe(0);
});

test('a candidate without a creation time counts for nothing', () => {
  const lives = [0, 1].map((index) => candidate({ from: 0, heard: 40 }, index));
  const [first] = lives;
  const ageless = makeCandidate('1')
    .with({ creationTimestamp: undefined })
    .renewedAt(0)
    .seenAt(0)
    .renewedAt(40 * MINUTE);
  expect(noted(lives).size).toBe(2);
  expect(noted(first ? [first, ageless] : []).size).toBe(0);
});

test('a candidate that this process has not seen renew was last heard of at its renewTime', () => {
  const lives = ['0', '1'].map((name) =>
    makeCandidate(name)
      .createdAt(0)
      .renewedAt(20 * MINUTE),
  );
  const found = noted(lives.map((life) => life.seenAt(40 * MINUTE)));
  expect([...found.values()]).toEqual([20 * MINUTE, 20 * MINUTE]);
});
