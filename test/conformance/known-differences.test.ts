import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { documentFile, withDifferences } from './known-differences-doc.ts';

test('the documentation lists every known difference (npm run docs)', () => {
  const document = readFileSync(documentFile, 'utf8');
  expect(document).toBe(withDifferences(document));
  expect(document).toContain('| what | why | versions |');
});
