import { join } from 'node:path';
import { cruise, type ICruiseOptions, type ICruiseResult, type IFlattenedRuleSet } from 'dependency-cruiser';
import type { Folder } from './import-matrix.ts';

type Matrix = Readonly<Record<string, Folder>>;

/** The entry points of the program and the library. Every file of src/ must be reachable from them. */
const ENTRIES = '^src/(main|index|election-library)[.]ts$';

/** Returns all problems of the imports of src/ below `root`: one line each, empty if there are none. */
export async function importProblems(root: string, matrix: Matrix): Promise<readonly string[]> {
  const { modules, summary } = await cruiseImports(root, matrix);
  const files = modules.map(({ source }) => source).filter((file) => file.startsWith('src/'));
  const homeless = files
    .filter((file) => !(roomOf(file) in matrix))
    .map((file) => `${file}: lint/import-matrix.ts has no such folder`);
  const violations = summary.violations.map(({ type, rule, from, to, cycle = [] }) => {
    if (type === 'cycle') return `${[from, ...cycle.map(({ name }) => name)].join(' -> ')}: a cycle`;
    if (rule.name === 'unresolvable') return `${from} -> ${to}: there is no such module`;
    if (rule.name === 'unused') return `${to}: no command and no caller of the library needs it`;
    return `${from} -> ${to}: lint/import-matrix.ts does not allow it`;
  });
  const needed = new Set(
    modules.flatMap(({ source, dependencies }) =>
      dependencies.map(({ resolved }) => `${roomOf(source)} -> ${targetOf(resolved)}`),
    ),
  );
  const idle = Object.entries(matrix).flatMap(([name, folder]) =>
    allowedTargets(folder)
      .filter((target) => !needed.has(`${name} -> ${target}`))
      .map((target) => `${name} -> ${target}: lint/import-matrix.ts allows it, but no file imports it`),
  );
  return [...homeless, ...violations, ...idle].toSorted();
}

async function cruiseImports(root: string, matrix: Matrix): Promise<ICruiseResult> {
  const ruleSet: IFlattenedRuleSet = {
    allowed: Object.entries(matrix).map(([name, folder]) => ({
      from: { path: pathPattern(name) },
      to: { path: [name, ...allowedTargets(folder)].map(pathPattern) },
    })),
    allowedSeverity: 'error',
    forbidden: [
      { name: 'cycle', severity: 'error', from: {}, to: { circular: true } },
      { name: 'unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
      {
        name: 'unused',
        severity: 'error',
        from: { path: ENTRIES },
        // The page's files are read as files, and import each other.
        to: { path: '^src/', pathNot: [ENTRIES, '^src/status-page/page/'], reachable: false },
      },
    ],
  };
  const options: ICruiseOptions = {
    baseDir: root,
    validate: true,
    ruleSet,
    parser: 'swc',
    tsPreCompilationDeps: true,
    moduleSystems: ['es6'],
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '[.](css|html|svg)$' },
  };
  const resolution = {
    extensions: ['.ts', '.js'],
    exportsFields: ['exports'],
    conditionNames: ['import', 'node'],
  };
  const { output } = await cruise(['src'], options, resolution);
  if (typeof output === 'string') throw new TypeError('the imports were told as text');
  return output;
}

/** All targets that a folder may import besides itself, as {@link targetOf} names them. */
function allowedTargets({ folders = [], packages = [], node = [] }: Folder): readonly string[] {
  return [...folders, ...packages.map((name) => `npm:${name}`), ...node.map((name) => `node:${name}`)];
}

/** Matches the paths of a target, in the format of dependency-cruiser. */
function pathPattern(target: string): string {
  if (target.startsWith('node:')) return `^(node:)?${target.slice('node:'.length)}(/|$)`;
  if (target.startsWith('npm:')) return `^node_modules/${target.slice('npm:'.length)}/`;
  return target.endsWith('.ts') ? `^src/${target.replace('.', '[.]')}$` : `^src/${target}/[^/]+$`;
}

function targetOf(resolved: string): string {
  if (resolved.startsWith('src/')) return roomOf(resolved);
  const [, scope = '', name = ''] = /node_modules\/([^/]+)(?:\/([^/]+))?/.exec(resolved) ?? [];
  if (scope !== '') return `npm:${scope.startsWith('@') ? `${scope}/${name}` : scope}`;
  return `node:${resolved.replace(/^node:/, '').split('/')[0]}`;
}

/** The folder of a file of src/. A file directly in src/ counts as a folder. */
function roomOf(file: string): string {
  const path = file.slice('src/'.length);
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : path;
}

/** The repository that this file belongs to. */
export const repository = join(import.meta.dirname, '..');
