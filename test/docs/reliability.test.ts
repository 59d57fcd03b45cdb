import { describe, expect, test } from 'vitest';
import { MUTANTS } from '../simulation/mutants/mutants.ts';
import { reliabilityPage } from '../simulation/reliability-doc.ts';

describe('docs/contributing/attacks.md', () => {
  test('has the bounds of the faults as the simulation has them', async () => {
    const { written, wanted } = await reliabilityPage();
    expect(written, 'run `npm run docs`').toBe(wanted);
  });

  test('has each mutant of the simulation', async () => {
    const { written } = await reliabilityPage();
    expect(MUTANTS.map(({ name }) => name).filter((name) => !written.includes(`(${name})`))).toEqual([]);
  });
});
