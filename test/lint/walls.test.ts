import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';

interface Row {
  /** The folder of src/ that the code stands in, or a file of src/ itself. */
  readonly at: string;
  readonly code: string;
}

const PURE = 'src/election/ imports only itself';
const ENTRY = 'Nobody imports main.ts, cli/ or demo/';
const CLOCK = 'Time and timers come from a Clock';
const PROPERTY = 'lint/nursery/noJsRestrictedProperties';
const GLOBAL = 'lint/style/noRestrictedGlobals';

const stopped: readonly (Row & { readonly want: string })[] = [
  { at: 'election/', code: "import { sleep } from '../support/clock.ts';", want: PURE },
  { at: 'election/', code: "import type { Lease } from '../coordination/lease.ts';", want: PURE },
  { at: 'election/', code: "import { readFile } from 'node:fs/promises';", want: PURE },
  { at: 'election/', code: "import { z } from 'zod';", want: PURE },
  { at: 'election/', code: "export * from '../settings/run-settings.ts';", want: PURE },
  { at: 'election/', code: "await import('../settings/run-settings.ts');", want: PURE },
  { at: 'election/strategies/', code: "import '../../support/clock.ts';", want: PURE },
  { at: 'election/strategies/', code: "import '../../election/rank.ts';", want: PURE },

  { at: 'controller/', code: "import { x } from '../main.ts';", want: ENTRY },
  { at: 'controller/', code: "import type { X } from '../cli/program.ts';", want: ENTRY },
  { at: 'controller/', code: "await import('../cli/run.ts');", want: ENTRY },
  { at: 'cli/', code: "import '../main.ts';", want: ENTRY },
  { at: 'cli/', code: "import '../demo/demo.ts';", want: ENTRY },
  { at: 'apiserver/', code: "import type { X } from '../demo/demo.ts';", want: ENTRY },
  { at: 'index.ts', code: "import './cli/program.ts';", want: ENTRY },
  { at: 'index.ts', code: "export { x } from './main.ts';", want: ENTRY },

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

  { at: 'coordination/', code: "import '../kubernetes/client.ts';", want: 'src/coordination/ translates' },
  { at: 'kubernetes/', code: "import '../controller/workqueue.ts';", want: 'src/kubernetes/ talks' },
  { at: 'controller/', code: "import '@kubernetes/client-node';", want: 'Only src/kubernetes/' },
  { at: 'main.ts', code: "import { Agent } from 'undici';", want: 'Only src/kubernetes/' },
  { at: 'main.ts', code: "import { Command } from 'commander';", want: 'Only src/cli/' },
  { at: 'controller/', code: "import type { Logger } from 'pino';", want: 'Only src/telemetry/' },
  { at: 'controller/', code: "import { Counter } from 'prom-client';", want: 'Only src/telemetry/' },
  { at: 'controller/', code: "import { trace } from '@opentelemetry/api';", want: 'Only src/telemetry/' },

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
    code: 'export const a = 1;\n'.repeat(301),
    want: 'lint/style/noExcessiveLinesPerFile',
  },
];

const allowed: readonly Row[] = [
  {
    at: 'election/',
    code: "import semver from 'semver';\nimport { a } from './rank.ts';\nsemver.compare(a, a);",
  },
  { at: 'election/', code: "import './strategies/oldest.ts';" },
  { at: 'election/strategies/', code: "import '../rank.ts';\nimport './oldest.ts';" },
  {
    at: 'cli/',
    code: "import { Command } from 'commander';\nimport './run.ts';\nimport '../settings/run-settings.ts';\nnew Command().parse();",
  },
  { at: 'controller/', code: 'export const a = new Date(0).toISOString() + Date.parse("2026-01-01");' },
  { at: 'controller/', code: 'export function f(process: () => void) {\n  process();\n}' },
  { at: 'controller/', code: "import '../telemetry/logger.ts';\nimport '../kubernetes/client.ts';" },
  {
    at: 'kubernetes/',
    code: "import '@kubernetes/client-node';\nimport 'undici';\nimport '../coordination/lease.ts';",
  },
  {
    at: 'demo/',
    code: "import './frame.ts';\nimport '../controller/lease-key.ts';\nimport '../apiserver/api-server.ts';",
  },
  { at: 'telemetry/', code: "import 'pino';\nimport 'prom-client';" },
  {
    at: 'support/system-clock.ts',
    code: 'Date.now();\nperformance.now();\nMath.random();\nsetTimeout(() => {}, 1);',
  },
  {
    at: 'main.ts',
    code: "import './cli/program.ts';\nawait import('./demo/demo.ts');\nprocess.exitCode = process.argv.length + Date.now();",
  },
];

interface Finding {
  readonly category: string;
  readonly message: string;
  readonly location: { readonly path: string };
}

/** A row in its place: rows for one and the same file stand in different trees. */
interface PlacedRow extends Row {
  readonly tree: number;
  readonly path: string;
}

const REPOSITORY = join(import.meta.dirname, '../..');
const CONFIGURATION = ['biome.json', 'lint', 'package.json'];
const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');

/** Lints every row, each where it says, under this repository's own configuration, with as few runs as that takes. */
async function findingsByRow(rows: readonly Row[]): Promise<ReadonlyMap<Row, readonly string[]>> {
  const root = await mkdtemp(join(tmpdir(), 'lint-walls-'));
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

  // Other rules have their say about these snippets too; a wall must not.
  test.each(allowed)('lets stand in src/$at: $code', (row) => {
    const walls = [GLOBAL, PROPERTY, 'plugin'];
    expect(findings.get(row)?.filter((finding) => walls.some((wall) => finding.startsWith(wall)))).toEqual(
      [],
    );
  });
});
