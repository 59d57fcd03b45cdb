import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Folder, importMatrix } from './import-matrix.ts';
import { repository } from './imports.ts';

const PAGE = join(repository, 'docs/contributing/architecture.md');
const BEGIN = '<!-- Generated from lint/import-matrix.ts, by `npm run docs`. -->\n';
const END = '<!-- End of the generated part. -->\n';

type Matrix = Readonly<Record<string, Folder>>;

/** Returns the page with the drawing and the table of folders that match the matrix. */
export async function architecturePage(): Promise<{ readonly written: string; readonly wanted: string }> {
  const written = await readFile(PAGE, 'utf8');
  const [before, rest = ''] = written.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  const made = `${drawing(importMatrix)}\n${table(importMatrix)}`;
  return { written, wanted: `${before}${BEGIN}\n${made}\n${END}${after}` };
}

/** A box for each folder directly in src/. Omits an arrow that other arrows imply through a third folder. */
export function drawing(matrix: Matrix): string {
  const targets = new Map<string, Set<string>>();
  for (const [name, { folders = [] }] of Object.entries(matrix)) {
    const own = targets.get(top(name)) ?? new Set<string>();
    for (const folder of folders) if (top(folder) !== top(name)) own.add(top(folder));
    targets.set(top(name), own);
  }
  const reaches = (from: string, to: string): boolean =>
    [...(targets.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  const arrows = [...targets].flatMap(([from, own]) =>
    [...own]
      .filter((to) => ![...own].some((other) => other !== to && reaches(other, to)))
      .map((to) => `  ${idOf(from)} --> ${idOf(to)}\n`),
  );
  const boxes = [...targets.keys()].map((name) => `  ${idOf(name)}[${name}]\n`);
  return `\`\`\`mermaid\nflowchart TD\n${[...boxes, ...arrows].join('')}\`\`\`\n`;
}

/** A table of all folders: the purpose of each, and its allowed imports. */
export function table(matrix: Matrix): string {
  const rows = Object.entries(matrix).map(([name, { does, folders = [], packages = [] }]) => [
    `\`src/${name}${name.endsWith('.ts') ? '' : '/'}\``,
    does,
    [...folders, ...packages.map((each) => `\`${each}\``)].join(', ') || 'nothing',
  ]);
  return [['folder', 'its code', 'may import'], ['---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

function top(name: string): string {
  return name.split('/')[0] ?? name;
}

function idOf(name: string): string {
  return name.replace('.', '_');
}

if (import.meta.main) await writeFile(PAGE, (await architecturePage()).wanted);
