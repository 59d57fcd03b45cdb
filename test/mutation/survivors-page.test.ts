import { describe, expect, test } from 'vitest';
import { type FileResult, MARK, mistakesIn, type Survivor, withResults } from './survivors-page.ts';

const bound: Survivor = {
  mutator: 'EqualityOperator',
  code: 'a < b',
  replacement: 'a <= b',
};
const either: Survivor = {
  mutator: 'LogicalOperator',
  code: 'a || b',
  replacement: 'a && b',
};
const word: Survivor = { mutator: 'StringLiteral', code: "'Live'", replacement: '""' };

const result = (file: string, ...survivors: readonly Survivor[]): FileResult => ({
  file,
  noticed: 10 - survivors.length,
  mutants: 10,
  survivors,
});

const empty = `# Mutants\n\nWords.\n\n${MARK}`;
const judged = (page: string) => page.replaceAll('| ? |', '| no two are equal |');

describe('the page of the mutants that survive', () => {
  test('has each with what it changes, a mark where nobody has judged it, and the sums', () => {
    const page = withResults(empty, [result('x/a.ts', bound, word)]);
    expect(page).toMatch(/^# Mutants\n\nWords\.\n\n/);
    expect(page).toContain('8 of 10 mutants: 80.0 %.');
    expect(page).toContain('### x/a.ts');
    expect(page).toContain('| `a < b` | `a <= b` | EqualityOperator | ? |');
    expect(page).toContain('| `\'Live\'` | `""` | StringLiteral | ? |');
  });

  test('keeps the reasons, and the tables of files that were not tried', () => {
    const first = judged(withResults(empty, [result('x/a.ts', bound), result('x/b.ts', either)]));
    const next = withResults(first, [result('x/a.ts', word, bound)]);
    expect(next).toContain('| `a < b` | `a <= b` | EqualityOperator | no two are equal |');
    expect(next).toContain('| `a \\|\\| b` | `a && b` | LogicalOperator | no two are equal |');
    expect(next).toContain('17 of 20 mutants');
    expect(withResults(next, [])).toBe(next);
  });

  test('has no table for a file of which all are noticed', () => {
    const page = withResults(judged(withResults(empty, [result('x/a.ts', bound)])), [result('x/a.ts')]);
    expect(page).not.toContain('###');
    expect(page).toContain('| `x/a.ts` | 10 | 10 | 100.0 |');
  });
});

describe('what is wrong with the page is', () => {
  const page = judged(withResults(empty, [result('x/a.ts', bound, bound), result('x/b.ts', either)]));

  test.each<{ name: string; results: readonly FileResult[]; want: readonly string[] }>([
    { name: 'nothing where each survivor has a reason', results: [result('x/a.ts', bound, bound)], want: [] },
    {
      name: 'a survivor that it does not have',
      results: [result('x/b.ts', either, bound)],
      want: ['x/b.ts: survives, unjudged: | `a < b` | `a <= b` | EqualityOperator'],
    },
    {
      name: 'one that does not survive any more, where there was more than one of that kind',
      results: [result('x/a.ts', bound)],
      want: ['x/a.ts: does not survive any more: | `a < b` | `a <= b` | EqualityOperator'],
    },
    {
      name: 'a survivor in a file that it does not have',
      results: [result('x/c.ts', bound)],
      want: ['x/c.ts: survives, unjudged: | `a < b` | `a <= b` | EqualityOperator'],
    },
  ])('$name', ({ results, want }) => {
    expect(mistakesIn(page, results)).toEqual(want);
  });

  test('a reason that is missing', () => {
    const unjudged = withResults(empty, [result('x/a.ts', bound)]);
    expect(mistakesIn(unjudged, [result('x/a.ts', bound)])).toHaveLength(1);
  });
});
