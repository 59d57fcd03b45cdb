import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';

interface Row {
  /** The folder of src/ of the code, or a file directly in src/. */
  readonly at: string;
  readonly code: string;
}

const CLOCK = 'Time and timers come from a Clock';
const PROPERTY = 'lint/nursery/noJsRestrictedProperties';
const GLOBAL = 'lint/style/noRestrictedGlobals';

const stopped: readonly (Row & { readonly want: string })[] = [
  { at: 'controller/', code: 'Date.now();', want: PROPERTY },
  { at: 'controller/', code: 'export const { now } = Date;', want: PROPERTY },
  { at: 'controller/', code: 'performance.now();', want: PROPERTY },
  { at: 'controller/', code: 'Math.random();', want: PROPERTY },
  { at: 'controller/', code: 'AbortSignal.timeout(1);', want: PROPERTY },
  { at: 'controller/', code: 'export const a = new Date();', want: CLOCK },
  { at: 'controller/', code: 'export const a = new Date;', want: CLOCK },
  { at: 'controller/', code: 'export const a = Date();', want: CLOCK },
  { at: 'controller/', code: "import { setTimeout } from 'node:timers/promises';", want: CLOCK },
  { at: 'controller/', code: "import { performance } from 'node:perf_hooks';", want: CLOCK },
  { at: 'controller/', code: 'setTimeout(() => {}, 1);', want: GLOBAL },
  { at: 'controller/', code: 'setInterval(() => {}, 1);', want: GLOBAL },
  { at: 'controller/', code: 'setImmediate(() => {});', want: GLOBAL },
  { at: 'controller/', code: 'globalThis.setTimeout(() => {}, 1);', want: GLOBAL },
  { at: 'cli/', code: 'setTimeout(() => {}, 1);', want: GLOBAL },

  { at: 'cli/', code: 'export const { argv } = process;', want: GLOBAL },
  { at: 'support/system-clock.ts', code: 'process.hrtime.bigint();', want: GLOBAL },
  { at: 'index.ts', code: 'export const path = process.env;', want: GLOBAL },
  { at: 'index.ts', code: "import { env } from 'node:process';", want: 'Only main.ts touches the process' },

  { at: 'controller/', code: 'export const a: any = 1;', want: 'lint/suspicious/noExplicitAny' },
  { at: 'controller/', code: 'export const a = [1][0]!;', want: 'lint/style/noNonNullAssertion' },
  { at: 'controller/', code: 'async function f() {}\nf();', want: 'lint/nursery/noFloatingPromises' },
  {
    at: 'controller/',
    code: 'async function f() {}\nif (f()) f;',
    want: 'lint/nursery/noMisusedPromises',
  },
  { at: 'controller/', code: '// @ts-ignore\nexport const a = 1;', want: 'lint/suspicious/noTsIgnore' },
  { at: 'controller/', code: "console.log('a');", want: 'lint/suspicious/noConsole' },
  {
    at: 'controller/',
    code: 'export const a = 1;\n'.repeat(401),
    want: 'lint/style/noExcessiveLinesPerFile',
  },
];

const allowed: readonly Row[] = [
  { at: 'controller/', code: 'export const a = new Date(0).toISOString() + Date.parse("2026-01-01");' },
  { at: 'controller/', code: 'export function f(process: () => void) {\n  process();\n}' },
  {
    at: 'support/system-clock.ts',
    code: 'Date.now();\nperformance.now();\nMath.random();\nsetTimeout(() => {}, 1);',
  },
  { at: 'support/host.ts', code: 'export const { env } = process;' },
  { at: 'support/host.ts', code: "process.emitWarning('careful');" },
  {
    at: 'main.ts',
    code: 'process.exitCode = process.argv.length + Date.now();',
  },
];

interface Finding {
  readonly category: string;
  readonly message: string;
  readonly location: { readonly path: string };
}

/** A row with its folder: rows for the same file are in different trees. */
interface PlacedRow extends Row {
  readonly tree: number;
  readonly path: string;
}

const REPOSITORY = join(import.meta.dirname, '../..');
const CONFIGURATION = ['biome.json', 'lint', 'package.json'];
const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');

/** Lints every row at its path, with this repository's configuration, in as few runs as possible. */
async function findingsByRow(rows: readonly Row[]): Promise<ReadonlyMap<Row, readonly string[]>> {
  const root = await mkdtemp(join(tmpdir(), 'lint-effects-'));
  try {
    const placed = rows.map((row, index) => place(row, index, rows));
    await Promise.all(
      placed.map(async ({ tree, path, code }) => {
        const file = join(root, String(tree), path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, `${code}\n`);
      }),
    );
    const trees = [...new Set(placed.map(({ tree }) => tree))];
    const linted = await Promise.all(trees.map((tree) => lint(join(root, String(tree)))));
    return new Map(
      rows.map((row, index) => {
        const { tree, path } = placed[index] as PlacedRow;
        const findings = linted[trees.indexOf(tree)]?.filter(({ location }) => location.path === path) ?? [];
        return [row, findings.map(({ category, message }) => `${category}: ${message}`)];
      }),
    );
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

function place(row: Row, index: number, rows: readonly Row[]): PlacedRow {
  if (row.at.endsWith('/')) return { ...row, tree: 0, path: `src/${row.at}row-${index}.ts` };
  const tree = rows.slice(0, index).filter(({ at }) => at === row.at).length;
  return { ...row, tree, path: `src/${row.at}` };
}

async function lint(folder: string): Promise<readonly Finding[]> {
  for (const name of CONFIGURATION) {
    await cp(join(REPOSITORY, name), join(folder, name), { recursive: true });
  }
  const args = [BIOME, 'lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none'];
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => resolve(stdout));
  const report: { diagnostics: readonly Finding[] } = JSON.parse(await promise);
  return report.diagnostics;
}

let findings: ReadonlyMap<Row, readonly string[]>;

beforeAll(async () => {
  findings = await findingsByRow([...stopped, ...allowed]);
});

describe('the linter', () => {
  test.each(stopped)('stops in src/$at: $code', (row) => {
    expect(findings.get(row)).toContainEqual(expect.stringContaining(row.want));
  });

  // Other rules may report these snippets, too, but these must not.
  test.each(allowed)('lets stand in src/$at: $code', (row) => {
    const effects = [GLOBAL, PROPERTY, 'plugin'];
    expect(
      findings.get(row)?.filter((finding) => effects.some((effect) => finding.startsWith(effect))),
    ).toEqual([]);
  });
});
