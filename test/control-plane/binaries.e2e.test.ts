import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { binary, cacheDirectory } from './binaries.ts';

describe('binary', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'binaries-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  test('says in one line what is missing when there is neither a cached program nor Go', async () => {
    const env = { XDG_CACHE_HOME: directory, PATH: directory };
    const problem = await binary('kube-apiserver@1.36.3', env).catch((error: Error) => error.message);
    expect(problem).toBe(
      'kube-apiserver@1.36.3 has to be built, but "go" cannot be run: install Go 1.26 or newer (https://go.dev/dl) ' +
        'and put it on the PATH, or set KUBEBUILDER_ASSETS to a folder that holds etcd and kube-apiserver 1.36.3',
    );
    await expect(binary('kube-apiserver@1.31.4', env)).rejects.toThrow(/put it on the PATH$/);
  });

  test('says what Go complained about when a build fails', async () => {
    await writeFile(join(directory, 'go'), '#!/bin/sh\necho "no such module" >&2\nexit 1\n', { mode: 0o755 });
    const env = { XDG_CACHE_HOME: directory, PATH: directory };
    await expect(binary('etcd', env)).rejects.toThrow(
      /^etcd could not be built by "go build .*: no such module$/,
    );
  });

  test('takes etcd and the default kube-apiserver, and nothing else, from KUBEBUILDER_ASSETS', async () => {
    const env = { XDG_CACHE_HOME: directory, PATH: directory, KUBEBUILDER_ASSETS: directory };
    await writeFile(join(directory, 'etcd'), '', { mode: 0o755 });
    expect(await binary('etcd', env)).toBe(join(directory, 'etcd'));
    await expect(binary('kube-apiserver@1.36.3', env)).rejects.toThrow(
      /there is no .*kube-apiserver: correct or unset/,
    );
    await expect(binary('kube-apiserver@1.31.4', env)).rejects.toThrow('has to be built');
  });

  test('is built once, however many ask for it at once', async () => {
    await mkdir(join(directory, 'bin'));
    const log = join(directory, 'builds');
    // Writes a line per build, and the file that it was told to.
    const go = `#!/bin/sh\necho build >> ${log}\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"\n`;
    await writeFile(join(directory, 'bin', 'go'), go, { mode: 0o755 });
    const env = { XDG_CACHE_HOME: directory, PATH: `${join(directory, 'bin')}:/bin` };
    const paths = await Promise.all([binary('etcd', env), binary('etcd', env), binary('etcd', env)]);
    expect(new Set(paths).size).toBe(1);
    expect(paths[0]?.startsWith(cacheDirectory(env))).toBe(true);
    expect(await readFile(log, 'utf8')).toBe('build\n');
  });
});
