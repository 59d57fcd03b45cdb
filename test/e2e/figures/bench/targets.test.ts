import { describe, expect, test } from 'vitest';
import type { ContestantName } from './contestant.ts';
import type { Measure, Sample } from './measures.ts';
import { isMet, shortfalls, type Target, targets, targetTable } from './targets.ts';

function sample(contestant: ContestantName, measure: Measure, leases: number, ...values: number[]): Sample {
  return { contestant, measure, leases, round: 0, values };
}

function target(measure: Measure, leases = 300): Target {
  const found = targets.find((each) => each.measure === measure && each.leases === leases);
  if (!found) throw new Error(`there is no target for ${measure}`);
  return found;
}

describe('a target', () => {
  test.each([
    { name: 'met in milliseconds', ours: 45, limit: 10, want: true },
    { name: 'met as a multiple of the limit', ours: 140, limit: 100, want: true },
    { name: 'missed in both', ours: 160, limit: 100, want: false },
  ])('of a release is $name', ({ ours, limit, want }) => {
    const samples = [
      sample('this controller', 'release', 300, ours),
      sample('the limit', 'release', 300, limit),
    ];
    expect(isMet(samples, target('release'))).toBe(want);
  });

  test('of first elections is nothing but a multiple of the limit', () => {
    const samples = [sample('this controller', 'first', 300, 20), sample('the limit', 'first', 300, 10)];
    expect(isMet(samples, target('first'))).toBe(false);
  });

  test('of a cold start is a multiple of later elections', () => {
    const samples = [sample('this controller', 'cold', 300, 14), sample('this controller', 'warm', 300, 10)];
    expect(isMet(samples, target('cold'))).toBe(true);
  });

  test('is not missed where nothing was measured', () => {
    expect(isMet([], target('release'))).toBeUndefined();
  });

  test('is the median of rounds', () => {
    const rounds = [30, 90, 40].map((wait, round) => ({
      ...sample('this controller', 'release', 300, wait),
      round,
    }));
    expect(isMet(rounds, target('release'))).toBe(true);
  });
});

describe('the table of targets', () => {
  const lineOf = (samples: readonly Sample[], what: string) =>
    targetTable(samples)
      .split('\n')
      .find((line) => line.includes(what));

  test('tells of all contestants, the target, and by what multiple it is missed', () => {
    const samples = [
      sample('built-in', 'release', 300, 9000),
      sample('this controller', 'release', 300, 160),
      sample('the limit', 'release', 300, 100),
    ];
    expect(lineOf(samples, 'clean release')).toBe(
      '| clean release to the new holder, 300 x 5 | p99 9.0 s | p99 160 ms | p99 100 ms | <= 50 ms or p99 <= 1.5 x the limit | no, 1.60 x |',
    );
  });

  test('counts Leases that nobody took up', () => {
    const samples = [
      sample('built-in', 'death', 1000, 100, Number.POSITIVE_INFINITY),
      sample('this controller', 'death', 1000, 100, 101),
    ];
    expect(lineOf(samples, 'missed')).toBe('| ... of these, missed, 1000 x 5 | 1 | 0 |  | 0 | yes |');
  });

  test('says what was not measured', () => {
    expect(lineOf([], 'start to ready')).toContain('| not measured |');
  });
});

describe('what has fallen behind its target by more than half', () => {
  const release = (ours: number, limit: number) => [
    sample('this controller', 'release', 300, ours),
    sample('the limit', 'release', 300, limit),
  ];

  const withOneOf = (wait: number) => (each: Sample) => ({
    ...each,
    values: [...Array.from({ length: 99 }, () => each.values[0] ?? 0), wait],
  });

  test('is named with both figures', () => {
    expect(shortfalls(release(460, 200))).toEqual([
      'clean release to the new holder, 300 x 5: p90 460 ms, 2.30 times the limit (200 ms); the target is 1.5, more than 2.25 fails',
    ]);
  });

  test.each([
    { name: 'a multiple that is not that far behind', samples: release(440, 200) },
    {
      name: 'a multiple of hardly anything, where the time itself is not that far behind',
      samples: release(70, 4),
    },
    { name: 'a time where the multiple is met', samples: release(4000, 3000) },
    { name: 'one wait in a hundred', samples: release(10, 10).map(withOneOf(1000)) },
    { name: 'nothing at all', samples: [] },
    { name: 'a start that takes long', samples: [sample('this controller', 'ready', 300, 60_000)] },
    { name: 'a process that is busy', samples: [sample('this controller', 'steadyCpus', 300, 0.9)] },
  ])('is not $name', ({ samples }) => {
    expect(shortfalls(samples)).toEqual([]);
  });

  test.each([
    {
      name: 'writes per election',
      samples: [sample('this controller', 'firstWrites', 300, 4.6)],
      want: '4.60',
    },
    { name: 'writes at rest', samples: [sample('this controller', 'steadyWrites', 300, 2)], want: '2' },
    {
      name: 'a first election of a process',
      samples: [sample('this controller', 'cold', 300, 50), sample('this controller', 'warm', 300, 20)],
      want: '2.50 times what it is later (20 ms)',
    },
    {
      name: 'a Lease that nobody took up',
      samples: [sample('this controller', 'death', 300, 5, Number.POSITIVE_INFINITY)],
      want: '1 without a leader',
    },
  ])('may be $name, at the largest size that was played', ({ samples, want }) => {
    expect(shortfalls(samples).join()).toContain(want);
  });
});
