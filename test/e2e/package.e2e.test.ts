import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { version } from '../../src/support/host.ts';
import { candidatePath } from '../control-plane/cluster-objects.ts';
import { startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import { eventually } from './coordinator.ts';

const run = promisify(execFile);
const examples = ['elect.ts', 'node/worker.ts'];
const repository = join(import.meta.dirname, '../..');

/** What `npm pack --json` says of the package that it has made. */
interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

describe('the package', () => {
  let folder: string;
  let packed: Packed;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'package-'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: repository,
    });
    // The build that comes before it may have written as well.
    [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [Packed];
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.filename}`], {
      cwd: folder,
    });
    for (const example of examples)
      await copyFile(join(repository, 'examples', example), join(folder, basename(example)));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test('holds the program, its licence, its changes, and nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
        'dist/index.d.ts',
        'dist/election-library.d.ts',
      ]),
    );
    const others = paths.filter((path) => !path.startsWith('dist/'));
    expect(others.toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'deploy/crd.yaml',
      'package.json',
    ]);
    expect(paths.filter((path) => /test|(?<!\.d)\.ts$|\.map$/.test(path))).toEqual([]);
  });

  test('can be installed into an empty project, where the example elects', async () => {
    const { stdout } = await run(process.execPath, ['elect.ts'], { cwd: folder });
    const documented = await readFile(join(repository, 'docs/reference/library.md'), 'utf8');
    expect(stdout).not.toBe('');
    expect(documented).toContain(stdout);
  });

  test('has the types that the examples need', async () => {
    const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
    const tsc = join(dirname(compiler), 'bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const types = ['--typeRoots', join(repository, 'node_modules/@types')];
    await run(
      process.execPath,
      [tsc, ...options, ...types, ...examples.map((example) => basename(example))],
      { cwd: folder },
    );
  });

  test('lets nobody import what is not exported', async () => {
    const deep = "await import('coordinated-leader-election/dist/election/decide.js');";
    const failure = await run(process.execPath, ['--input-type=module', '--eval', deep], {
      cwd: folder,
    }).catch((error: Error) => error.message);
    expect(failure).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  test.each(['coordinated-leader-election', 'kubectl-cle'])('brings the command %s', async (command) => {
    const { stdout } = await run(join(folder, 'node_modules/.bin', command), ['--version'], {
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
    });
    expect(stdout).toBe(`${version}\n`);
  });

  test('takes part in an election without a compiler of JavaScript and WebAssembly', async () => {
    const plane = await startEmbeddedPlane({ keepsData: false });
    onTestFinished(() => plane.stop());
    const program = join(folder, 'node_modules/coordinated-leader-election/dist/main.js');
    const where = ['--kubeconfig', plane.kubeconfig, '--listen', '127.0.0.1:0'];
    const child = spawn(process.execPath, [program, 'participate', 'web', '--identity', 'web-0', ...where], {
      env: { NODE_OPTIONS: '--jitless' },
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const candidate = candidatePath({ namespace: 'default', name: 'web-0' });
    await eventually(
      () => plane.request('GET', candidate).catch(() => undefined),
      'it has published its LeaseCandidate',
    );
  });
});
