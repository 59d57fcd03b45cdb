// Writes the known differences into docs/reference/embedded-server.md: `npm run docs`.
import { readFileSync, writeFileSync } from 'node:fs';
import { knownDifferences } from './known-differences.ts';

export const documentFile = new URL('../../docs/reference/embedded-server.md', import.meta.url);

/** Returns the document with the current differences. */
export function withDifferences(document: string): string {
  const rows = knownDifferences.map(
    ({ title, reason, minors }) =>
      `| ${title} | ${reason} | ${minors?.map((minor) => `1.${minor}`).join(', ') ?? 'all'} |`,
  );
  const table = ['| what | why | versions |', '|---|---|---|', ...rows].join('\n');
  return document.replace(
    /(<!-- differences[^>]*-->\n)[\s\S]*(<!-- \/differences -->)/,
    (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`,
  );
}

if (import.meta.main) writeFileSync(documentFile, withDifferences(readFileSync(documentFile, 'utf8')));
