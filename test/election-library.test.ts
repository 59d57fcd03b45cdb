import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import * as library from '../src/election-library.ts';

const page = join(import.meta.dirname, '../docs/reference/library.md');
const example = join(import.meta.dirname, '../examples/elect.ts');

/** The output of the example. */
async function outputOfExample(): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  try {
    await import('../examples/elect.ts');
    return log.mock.calls.map(([line]) => `${line}\n`).join('');
  } finally {
    log.mockRestore();
  }
}

/** Returns `text` with `block` in place of the code block after a marker. */
function withBlock(text: string, marker: string, language: string, block: string): string {
  const [before, rest = ''] = text.split(`<!-- ${marker} -->\n`);
  const after = rest.replace(/^\n```[\s\S]*?\n```\n/, '');
  return `${before}<!-- ${marker} -->\n\n\`\`\`${language}\n${block}\`\`\`\n${after}`;
}

test('docs/reference/library.md contains the example, and its output (npm test -- test/election-library.test.ts -u)', async () => {
  const written = await readFile(page, 'utf8');
  const withExample = withBlock(written, 'examples/elect.ts', 'ts', await readFile(example, 'utf8'));
  const output = await outputOfExample();
  const wanted = withBlock(withExample, 'output of examples/elect.ts', 'text', output);
  await expect(wanted).toMatchFileSnapshot(page);
  expect(output).toContain('LeaseMissing');
  expect(output).toContain('GrantRevised');
});

test('docs/reference/library.md describes each function and constant of the library', async () => {
  const text = await readFile(page, 'utf8');
  const reference = text.slice(0, text.indexOf('## An example'));
  expect(Object.keys(library).filter((name) => !reference.includes(`\`${name}`))).toEqual([]);
});

test('the example imports only the library', async () => {
  const source = await readFile(example, 'utf8');
  const imported = [...source.matchAll(/from '([^']+)'/g)].map(([, name]) => name);
  expect(imported).toEqual(['coordinated-leader-election/election']);
});
