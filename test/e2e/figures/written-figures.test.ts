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

  test('keeps all but the table that is written', () => {
    const document =
      'before\n<!-- one -->\nold\n<!-- end of one -->\n<!-- two -->\nother\n<!-- end of two -->\n';
    expect(withTable(document, 'one', 'new')).toBe(
      'before\n<!-- one -->\n\nnew\n\n<!-- end of one -->\n<!-- two -->\nother\n<!-- end of two -->\n',
    );
  });

  test('is not written without a place for the table', () => {
    expect(() => withTable('nothing', 'one', 'new')).toThrow('has no place for one');
  });
});
