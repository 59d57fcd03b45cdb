import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { architecturePage } from '../../lint/architecture-doc.ts';
import { type Folder, importMatrix } from '../../lint/import-matrix.ts';
import { importProblems, repository } from '../../lint/imports.ts';

test('src/ has only the imports in the matrix, and all of them', async () => {
  expect(await importProblems(repository, importMatrix)).toEqual([]);
}, 60_000);

test('docs/contributing/architecture.md shows the folders of the matrix (npm run docs)', async () => {
  const { written, wanted } = await architecturePage();
  expect(written).toBe(wanted);
  expect(written).toContain('  coordination --> kubernetes\n');
});

test('no folder may import one that imports it, directly or indirectly', () => {
  const reached = (from: string, seen: Set<string> = new Set()): Set<string> => {
    for (const folder of importMatrix[from]?.folders ?? [])
      if (!seen.has(folder)) reached(folder, seen.add(folder));
    return seen;
  };
  const inCycles = Object.keys(importMatrix).filter((name) => reached(name).has(name));
  expect(inCycles).toEqual([]);
});

test('election/ may import only semver and support', () => {
  const { does: _, ...allowed } = importMatrix['election'] ?? { does: '' };
  expect(allowed).toEqual({ folders: ['support'], packages: ['semver'] });
});

describe('an import', () => {
  const matrix: Readonly<Record<string, Folder>> = {
    'main.ts': { does: 'starts', folders: ['upper'] },
    upper: { does: 'uses', folders: ['lower'], node: ['path'] },
    lower: { does: 'serves' },
  };
  const clean = {
    'main.ts': "import './upper/a.ts';",
    'upper/a.ts': "import { join } from 'node:path';\nimport '../lower/b.ts';\nimport './c.ts';\njoin('a');",
    'upper/c.ts': 'export {};',
    'lower/b.ts': 'export type B = 1;',
  };

  test.each<{
    readonly name: string;
    readonly files: Readonly<Record<string, string>>;
    readonly want: string[];
  }>([
    { name: 'that is allowed is no problem', files: {}, want: [] },
    {
      name: 'against the arrows is named',
      files: { 'lower/b.ts': "import { c } from '../upper/c.ts';\nexport const b = c;" },
      want: ['src/lower/b.ts -> src/upper/c.ts: lint/import-matrix.ts does not allow it'],
    },
    {
      name: 'of nothing but a type counts too',
      files: { 'lower/b.ts': "import type { C } from '../upper/c.ts';\nexport type B = C;" },
      want: ['src/lower/b.ts -> src/upper/c.ts: lint/import-matrix.ts does not allow it'],
    },
    {
      name: 'that is an export counts too',
      files: { 'lower/b.ts': "export * from '../upper/c.ts';" },
      want: ['src/lower/b.ts -> src/upper/c.ts: lint/import-matrix.ts does not allow it'],
    },
    {
      name: 'at run time counts too',
      files: { 'lower/b.ts': "await import('../upper/c.ts');" },
      want: ['src/lower/b.ts -> src/upper/c.ts: lint/import-matrix.ts does not allow it'],
    },
    {
      name: 'of a module of Node has to be allowed',
      files: { 'lower/b.ts': "import { readFileSync } from 'node:fs';\nreadFileSync('a');" },
      want: ['src/lower/b.ts -> fs: lint/import-matrix.ts does not allow it'],
    },
    {
      name: 'of a package has to be there',
      files: { 'lower/b.ts': "import { a } from 'no-such-package';\na();" },
      want: ['src/lower/b.ts -> no-such-package: there is no such module'],
    },
    {
      name: 'that closes a circle of files is named',
      files: { 'upper/c.ts': "import './a.ts';" },
      want: ['src/upper/a.ts -> src/upper/c.ts -> src/upper/a.ts: a cycle'],
    },
    {
      name: 'that is allowed and not needed any more is named',
      files: { 'upper/a.ts': "import '../lower/b.ts';\nimport './c.ts';" },
      want: ['upper -> node:path: lint/import-matrix.ts allows it, but no file imports it'],
    },
    {
      name: 'of a folder that the matrix does not know is named with the folder',
      files: { 'upper/c.ts': "import '../new/d.ts';", 'new/d.ts': 'export {};' },
      want: [
        'src/new/d.ts: lint/import-matrix.ts has no such folder',
        'src/upper/c.ts -> src/new/d.ts: lint/import-matrix.ts does not allow it',
      ],
    },
    {
      name: 'is missing of an unused file',
      files: { 'lower/dead.ts': 'export {};' },
      want: ['src/lower/dead.ts: no command and no caller of the library needs it'],
    },
  ])('$name', async ({ files, want }) => {
    const root = await mkdtemp(join(tmpdir(), 'imports-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    for (const [name, text] of Object.entries({ ...clean, ...files })) {
      const file = join(root, 'src', name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `${text}\n`);
    }
    const problems = await importProblems(root, matrix);
    expect(problems.filter((problem) => want.length === 0 || want.includes(problem))).toEqual(want);
  });
});
