import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { withTable } from './written-figures.ts';

describe('docs/figures.md', () => {
  test('has a place for the table of each command', async () => {
    const document = await readFile(new URL('../../../docs/figures.md', import.meta.url), 'utf8');
    for (const name of ['coordinators', 'any-cluster', 'participants', 'lead', 'sidecar', 'memory']) {
      expect(withTable(document, name, 'new table'), name).toContain('new table');
    }
  });
});
