import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const SOURCE = new URL('../../../src/', import.meta.url);

describe('the mutants of the simulation', () => {
  test('have unique names', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(MUTANTS)('$name breaks code that there is, in one place each', ({ edits }) => {
    for (const { file, find, put } of edits) {
      const source = readFileSync(new URL(file, SOURCE), 'utf8');
      expect(source.split(find).length - 1, `${find} in ${file}`).toBe(1);
      expect(put).not.toBe(find);
    }
  });
});
