import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/support/host.ts';
import { binary } from '../control-plane/binaries.ts';
import { containerOf, deploymentIn } from './chart-deployment.ts';
import { type Helm, objectsIn, release, startHelm } from './helm.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');

test('the workflows are ones that actionlint accepts', async () => {
  const folder = join(repository, '.github/workflows');
  const files = (await readdir(folder)).map((file) => join(folder, file));
  const { stdout } = await run(await binary('actionlint'), files, { cwd: repository });
  expect(stdout).toBe('');
});

describe('the files of a release', () => {
  const image = `ghcr.io/owner/name@sha256:${'a'.repeat(64)}`;
  const archive = 'kubectl-cle-linux-amd64.tar.gz';
  const chart = `${release.name}-${version}.tgz`;
  let folder: string;
  let assets: string;
  let helm: Helm;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'release-'));
    assets = join(folder, 'assets');
    helm = await startHelm();
    const [app, node] = await Promise.all([makeApp(join(folder, 'app')), makeNode(join(folder, 'node'))]);
    await run(process.execPath, [
      join(repository, 'release/assets/main.ts'),
      ...['--out', assets, '--image', image, '--charts', 'oci://ghcr.io/owner/charts'],
      ...['--app', app, '--node', `linux-amd64=${node}`, '--helm', await binary('helm')],
    ]);
  });

  afterAll(async () => {
    await helm?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test('are these, each with its checksum', async () => {
    const files = ['cle.yaml', chart, 'crd.yaml', 'install.yaml', archive];
    expect((await readdir(assets)).sort()).toEqual(['SHA256SUMS', ...files]);
    const sums = await Promise.all(
      files.map(async (file) => {
        const content = await readFile(join(assets, file));
        return `${createHash('sha256').update(content).digest('hex')}  ${file}\n`;
      }),
    );
    expect(await readFile(join(assets, 'SHA256SUMS'), 'utf8')).toBe(sums.join(''));
  });

  test('have the image of the release: the chart by default, and install.yaml', async () => {
    const { stdout, stderr } = await helm.run([
      'template',
      release.name,
      join(assets, chart),
      '--skip-tests',
    ]);
    expect(stderr).toBe('');
    const manifest = await readFile(join(assets, 'install.yaml'), 'utf8');
    for (const text of [stdout, manifest]) {
      expect(containerOf(deploymentIn(objectsIn(text)))).toMatchObject({ image });
    }
  });

  test('have a chart that helm lint --strict accepts, with a README that knows where it is', async () => {
    const { code, stdout } = await helm.run(['lint', '--strict', join(assets, chart)]);
    expect(code, stdout).toBe(0);
    const readme = await helm.run(['show', 'readme', join(assets, chart)]);
    expect(readme.stdout).toContain(`oci://ghcr.io/owner/charts/${release.name} --version ${version}`);
    expect(readme.stdout).toContain(image.replace('@', '"` | ').split(' ', 1)[0]);
    expect(readme.stdout).not.toMatch(/\]\(\.\.|<registry>/);
  });

  test('have a plugin that krew installs from its manifest, and that kubectl finds', async () => {
    const env = {
      HOME: folder,
      KREW_NO_UPGRADE_CHECK: '1',
      PATH: `${join(folder, '.krew/bin')}:/usr/bin:/bin`,
    };
    await run(
      await binary('krew'),
      ['install', `--manifest=${join(assets, 'cle.yaml')}`, `--archive=${join(assets, archive)}`],
      { env },
    );
    const { stdout } = await run('kubectl-cle', ['--version'], { env });
    expect(stdout).toBe(`${version}\n`);
    expect((await run('kubectl-cle', ['--help'], { env })).stdout).toContain('kubectl cle');
    const kubectl = await binary('kubectl@1.36.3');
    expect((await run(kubectl, ['cle', 'audit', '--help'], { env })).stdout).toContain('--for');
  });
});

/** What the image has in /app, with the packages that help needs: all of them are 97 MB in 10,000 files. */
async function makeApp(app: string): Promise<string> {
  await mkdir(app);
  const packages = ['commander', 'semver', 'yaml'].map((name) => `node_modules/${name}`);
  for (const file of ['package.json', 'LICENSE', 'dist', ...packages]) {
    await cp(join(repository, file), join(app, file), { recursive: true });
  }
  return app;
}

/** A folder like an unpacked Node that runs this one: packing all of it would take longer than everything else. */
async function makeNode(node: string): Promise<string> {
  const program = join(node, 'bin/node');
  await mkdir(dirname(program), { recursive: true });
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
  await chmod(program, 0o755);
  await writeFile(join(node, 'LICENSE'), 'of Node');
  return node;
}
