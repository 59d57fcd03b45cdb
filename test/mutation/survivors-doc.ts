import { readFile, writeFile } from 'node:fs/promises';
import { lastResults } from './report.ts';
import { withResults } from './survivors-page.ts';

export const page = new URL('../../docs/contributing/mutation-survivors.md', import.meta.url);

if (import.meta.main) await writeFile(page, withResults(await readFile(page, 'utf8'), await lastResults()));
