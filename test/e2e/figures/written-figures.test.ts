import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { withTable } from './written-figures.ts';

describe('docs/reference/figures.md', () => {
  test('has a place for the table of each command', async () => {
    const document = await readFile(new URL('../../../docs/reference/figures.md', import.meta.url), 'utf8');
    const names = ['coordinators', 'any-cluster', 'participants', 'operators', 'lead', 'sidecar', 'memory'];
    for (const name of names) {
      expect(withTable(document, name, 'new table'), name).toContain('new table');
    }
  });
});
