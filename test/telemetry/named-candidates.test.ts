import { describe, expect, test } from 'vitest';
import { decideElection } from '../../src/election/decide.ts';
import { MOST_NAMED, nameCandidates, nameSome } from '../../src/telemetry/named-candidates.ts';
import { makeCandidate, makeInput, makeNow } from '../support/election-builders.ts';

const live = (name: string, version: string) =>
  makeCandidate(name).versions(version).seenAt(0).renewedAt(900);
const silent = (name: string) => makeCandidate(name).versions('1.30.0').seenAt(-10_000).pingedAt(-9000);

/** Who is named of a decision about a free Lease. */
function named(candidates: readonly ReturnType<typeof live>[], most?: number) {
  const input = makeInput()
    .candidates(...candidates)
    .build();
  const decision = decideElection(input, makeNow(1000));
  return nameCandidates(decision, most);
}

describe('the candidates that are named of a decision (rule 9)', () => {
  test('are all of them while there are few', () => {
    const { named: all, more } = named([silent('a'), live('b', '1.36.0')]);
    expect(all.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(more).toBe(0);
  });

  test('are else the one chosen, those that came closest, and last those that took no part', () => {
    const candidates = [
      ...Array.from({ length: 6 }, (_, at) => silent(`s${at}`)),
      ...Array.from({ length: 6 }, (_, at) => live(`l${at}`, `1.36.${9 - at}`)),
      live('unfit', 'none'),
    ];
    const { named: some, more } = named(candidates);
    expect(some.map(({ name }) => name)).toEqual([
      ...['l5', 'l4', 'l3', 'l2', 'l1', 'l0'],
      'unfit',
      ...['s0', 's1', 's2'],
    ]);
    expect(some.map(({ lostBy }) => lostBy)).toEqual([
      undefined,
      ...Array.from({ length: 5 }, () => 'HigherEmulationVersion'),
      'NotElectable',
      ...Array.from({ length: 3 }, () => 'Unresponsive'),
    ]);
    expect(more).toBe(3);
  });

  test('are ten of twenty thousand', () => {
    const candidates = Array.from({ length: 20_000 }, (_, at) => live(`c${at}`, `1.36.${at % 97}`));
    const { named: some, more } = named(candidates);
    expect(some).toHaveLength(MOST_NAMED);
    expect(more).toBe(19_990);
    expect(some[0]?.lostBy).toBeUndefined();
  });
});

describe('names in a line', () => {
  test.each([
    { count: 1, want: 'n0' },
    { count: 10, want: 'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9' },
    { count: 12, want: 'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more' },
  ])('are ten at most: of $count', ({ count, want }) => {
    expect(nameSome(Array.from({ length: count }, (_, at) => `n${at}`))).toBe(want);
  });
});
