// Builds the package for programs that only take part in an election, from the same sources as the whole package:
// node release/node-client/build.ts FOLDER. The result is ready for `npm pack` and `npm publish`.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from 'rolldown';

const repository = join(import.meta.dirname, '../..');
/** The manifest and the README of the package. */
const sources = join(repository, 'clients/node');
const require = createRequire(import.meta.url);

const YAML_FILE = 'yaml-parser.cjs';

/** The libraries inside the package; their licences require a copy of the text. */
const bundled = ['semver', 'yaml'];

/** The libraries that the user installs if needed. */
const optional: readonly string[] = Object.keys(
  (require(join(sources, 'package.json')) as { readonly peerDependencies: object }).peerDependencies,
);

const [folder] = parseArgs({ allowPositionals: true }).positionals;
if (folder === undefined) throw new Error('usage: node release/node-client/build.ts FOLDER');
await build(folder);

async function build(out: string): Promise<void> {
  rmSync(out, { recursive: true, force: true });
  // Two folders deep, like src/support/host.ts, which reads the version from ../../package.json.
  await bundle(
    {
      input: join(repository, 'src/index.ts'),
      external: [...optional],
      plugins: [useBundledYaml()],
      resolve: { alias: { semver: join(import.meta.dirname, 'semver-parser.ts') } },
    },
    { file: join(out, 'dist/lib/index.js'), format: 'esm' },
  );
  // In a file of its own: in a Pod there is no kubeconfig, and no program loads the parser.
  await bundle(
    // Not for the platform node: the variant for all platforms has ES modules, so that unused parts are left out.
    { input: join(import.meta.dirname, 'yaml-parser.ts'), platform: 'neutral' },
    { file: join(out, 'dist/lib', YAML_FILE), format: 'cjs' },
  );
  copyTypes(join(out, 'dist/types'));
  for (const file of ['package.json', 'README.md']) cpSync(join(sources, file), join(out, file));
  cpSync(join(repository, 'LICENSE'), join(out, 'LICENSE'));
  writeFileSync(join(out, 'THIRD-PARTY-LICENSES'), bundled.map(licenceOf).join('\n'));
}

async function bundle(input: InputOptions, output: OutputOptions): Promise<void> {
  await using built = await rolldown({ platform: 'node', ...input });
  await built.write({ minify: true, comments: { annotation: false, jsdoc: false, legal: true }, ...output });
}

/** src/ loads `yaml` by createRequire, which no bundler follows. */
function useBundledYaml(): Plugin {
  const loaded = /createRequire\(import\.meta\.url\)\((["'])yaml\1\)/;
  return {
    name: 'use-bundled-yaml',
    transform(code, id) {
      if (!id.endsWith('src/kubernetes/kubeconfig-file.ts')) return undefined;
      if (!loaded.test(code)) throw new Error(`${id} no longer loads yaml as expected: correct this plugin`);
      return code.replace(loaded, `createRequire(import.meta.url)('./${YAML_FILE}')`);
    },
  };
}

/** Copies the declarations that index.d.ts needs. */
function copyTypes(out: string): void {
  const all = mkdtempSync(join(tmpdir(), 'types-'));
  try {
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    const options = ['--project', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', all];
    execFileSync(process.execPath, [tsc, ...options], { cwd: repository, stdio: 'inherit' });
    for (const file of withImports(join(all, 'index.d.ts'), new Set())) {
      const target = join(out, relative(all, file));
      mkdirSync(dirname(target), { recursive: true });
      cpSync(file, target);
    }
  } finally {
    rmSync(all, { recursive: true });
  }
}

/** Adds a declaration file to `found`, and all that it imports from the package. */
function withImports(file: string, found: Set<string>): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/\bfrom '(\.[^']+)\.ts'/g)) {
    withImports(join(dirname(file), `${path}.d.ts`), found);
  }
  return found;
}

function licenceOf(name: string): string {
  const manifest = require.resolve(`${name}/package.json`);
  const { version } = require(manifest) as { readonly version: string };
  return `${name} ${version}\n\n${readFileSync(join(dirname(manifest), 'LICENSE'), 'utf8')}`;
}
