import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { version } from '../../src/support/host.ts';
import { candidatePath } from '../control-plane/cluster-objects.ts';
import { startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import { watchChild } from './child-output.ts';
import { eventually, startCoordinator } from './coordinator.ts';

const run = promisify(execFile);
const examples = ['elect.ts', 'node/worker.ts'];
const repository = join(import.meta.dirname, '../..');

/** What `npm pack --json` says of the package that it has made. */
interface Packed {
  readonly filename: string;
  /** Of the file, in bytes. */
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Makes a package of a folder. The build that comes before it may write to standard output as well. */
async function pack(source: string, target: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], { cwd: source });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [Packed];
  return packed;
}

/** Checks TypeScript files in a project, with no types but those of its packages and of Node. */
async function compile(folder: string, ...files: readonly string[]): Promise<void> {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = join(dirname(compiler), 'bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const types = ['--typeRoots', join(repository, 'node_modules/@types')];
  await run(process.execPath, [tsc, ...options, ...types, ...files], { cwd: folder });
}

describe('the package', () => {
  let folder: string;
  let packed: Packed;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'package-'));
    packed = await pack(repository, folder);
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
    await compile(folder, ...examples.map((example) => basename(example)));
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

describe('the package for programs that only take part', () => {
  const name = 'coordinated-leader-election-participant';
  let folder: string;
  let packed: Packed;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'participant-package-'));
    const source = join(folder, 'source');
    await run(process.execPath, [join(repository, 'release/node-client/build.ts'), source]);
    packed = await pack(source, folder);
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    const options = ['--offline', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, `./${packed.filename}`], { cwd: folder });
    const worker = await readFile(join(repository, 'examples/node/worker.ts'), 'utf8');
    await writeFile(join(folder, 'worker.ts'), worker.replace("'coordinated-leader-election'", `'${name}'`));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test('is less than 200 kB, and installs nothing beside itself', async () => {
    expect(packed.size).toBeLessThan(200_000);
    const installed = await readdir(join(folder, 'node_modules'));
    expect(installed.filter((each) => !each.startsWith('.'))).toEqual([name]);
  });

  test('has the licences of what is inside', async () => {
    const text = await readFile(join(folder, 'node_modules', name, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(text).toMatch(/^semver \d/m);
    expect(text).toMatch(/^yaml \d/m);
  });

  test('exports what the whole package exports', async () => {
    const names = async (url: string) => {
      const script = `console.log(Object.keys(await import('${url}')).sort().join())`;
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: folder,
      });
      return stdout;
    };
    expect(await names(name)).toBe(await names(new URL('../../src/index.ts', import.meta.url).href));
  });

  test('has all types that it needs, and checks the option metrics without prom-client', async () => {
    const metrics = `
      import { participate } from '${name}';
      const registry = { getSingleMetric: () => undefined, registerMetric() {} };
      void participate({ lease: 'a', binaryVersion: '1.0.0', metrics: registry }, async () => {});
      // @ts-expect-error this is no Registry
      void participate({ lease: 'a', binaryVersion: '1.0.0', metrics: {} }, async () => {});\n`;
    await writeFile(join(folder, 'metrics.ts'), metrics);
    await compile(folder, 'worker.ts', 'metrics.ts');
  });

  test('leads, with a kubeconfig in YAML, and releases', async () => {
    const plane = await startEmbeddedPlane({ keepsData: false });
    onTestFinished(() => plane.stop());
    const coordinator = await startCoordinator(plane.coordinatorKubeconfig);
    onTestFinished(() => coordinator.kill());
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, stringify(parse(await readFile(plane.kubeconfig, 'utf8'))));
    const child = spawn(process.execPath, ['worker.ts'], {
      cwd: folder,
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });
    const { output, ended } = watchChild(child);
    onTestFinished(() => void child.kill('SIGKILL'));
    await eventually(() => output().includes('leads, with the fencing token') || undefined, 'it leads');
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(output()).toContain('has released the Lease, and left');
  });

  test('says what to install for a kubeconfig with a credential plugin', async () => {
    const cluster = { name: 'a', cluster: { server: 'https://127.0.0.1:1' } };
    const user = { name: 'plugged', user: { exec: { apiVersion: 'v1', command: 'none' } } };
    const context = { name: 'a', context: { cluster: 'a', user: 'plugged' } };
    const config = { clusters: [cluster], users: [user], contexts: [context], 'current-context': 'a' };
    await writeFile(join(folder, 'plugged'), JSON.stringify(config));
    const script = `(await import('${name}')).loadKubeConfig({ kubeconfig: 'plugged' });`;
    const failure = await run(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: folder,
    }).catch((error: Error) => error.message);
    expect(failure).toContain('needs a credential plugin');
    expect(failure).toContain('npm install @kubernetes/client-node');
  });
});
