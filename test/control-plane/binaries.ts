import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, chmod, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { withFileLock } from './file-lock.ts';
import { defaultVersion, type KubernetesVersion } from './kubernetes-versions.ts';

/** A program of a control plane. */
export type BinaryName =
  | 'actionlint'
  | 'candidate'
  | 'etcd'
  | 'elector'
  | 'helm'
  | 'informer'
  | 'krew'
  | 'operator'
  | 'tenant-operator'
  | `kubectl@${typeof defaultVersion}`
  | `kube-apiserver@${KubernetesVersion}`
  | `kube-scheduler@${typeof defaultVersion}`
  | `kube-controller-manager@${typeof defaultVersion}`;

/** Every {@link BinaryName}, the most used first. */
export const binaryNames: readonly BinaryName[] = [
  'etcd',
  'elector',
  'informer',
  'candidate',
  'tenant-operator',
  'kube-apiserver@1.36.3',
  'kubectl@1.36.3',
  'helm',
  'kube-scheduler@1.36.3',
  'kube-controller-manager@1.36.3',
  'kube-apiserver@1.31.4',
  'kube-apiserver@1.32.13',
  'kube-apiserver@1.33.13',
  'operator',
  'krew',
  'actionlint',
];

interface Recipe {
  readonly program: string;
  readonly module: string;
  /** The folder of the Go module, relative to this one; default: `go/` and the module's name. */
  readonly folder?: string;
  /** Other folders with sources of the program. */
  readonly alsoFrom?: readonly string[];
  /** The Go package to build. */
  readonly target: string;
  readonly ldflags: string;
  /** Whether KUBEBUILDER_ASSETS may contain this program in this version. */
  readonly isAsset: boolean;
}

function folderOf({ module, folder = join('go', module) }: Recipe): string {
  return join(import.meta.dirname, folder);
}

/**
 * Returns the path of an executable. Builds it first, unless a cached one matches its Go module's go.mod, go.sum and
 * sources. With KUBEBUILDER_ASSETS set, etcd and the default version's kube-apiserver come from that folder.
 * @throws Error, in one line, if it is missing and cannot be built
 */
export async function binary(name: BinaryName, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const recipe = recipeFor(name);
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets && recipe.isAsset) {
    const path = join(assets, recipe.program);
    if (await exists(path)) return path;
    throw new Error(
      `${name}: KUBEBUILDER_ASSETS is set, but there is no ${path}: correct or unset the variable`,
    );
  }
  const cache = cacheDirectory(env);
  const path = join(cache, `${recipe.module}-${await fingerprint(recipe)}`, recipe.program);
  if (await exists(path)) return path;
  // One build at a time: each uses all cores, and most compiled packages are shared.
  await withFileLock(join(cache, 'build.lock'), async () => {
    if (!(await exists(path))) await build(name, recipe, path, env);
  });
  return path;
}

/** The folder of built binaries. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'coordinated-leader-election');
}

const tools = {
  actionlint: 'github.com/rhysd/actionlint/cmd/actionlint',
  helm: 'helm.sh/helm/v4/cmd/helm',
  krew: 'sigs.k8s.io/krew/cmd/krew',
};

function recipeFor(name: BinaryName): Recipe {
  if (name === 'etcd') {
    const target = 'go.etcd.io/etcd/server/v3';
    return { program: 'etcd', module: 'etcd', target, ldflags: '-s -w', isAsset: true };
  }
  if (name === 'actionlint' || name === 'helm' || name === 'krew') {
    return { program: name, module: name, target: tools[name], ldflags: '-s -w', isAsset: false };
  }
  if (name === 'tenant-operator') {
    const folder = '../../examples/go';
    const alsoFrom = ['../../clients/go', '../../clients/go/participant'];
    return { program: name, module: name, folder, alsoFrom, target: '.', ldflags: '-s -w', isAsset: false };
  }
  if (name === 'operator') {
    const folder = '../../clients/go';
    const alsoFrom = ['../../clients/go/internal/operator', '../../clients/go/participant'];
    const target = './internal/operator';
    return { program: name, module: name, folder, alsoFrom, target, ldflags: '-s -w', isAsset: false };
  }
  if (name === 'candidate' || name === 'elector' || name === 'informer') {
    return { program: name, module: name, target: '.', ldflags: '-s -w', isAsset: false };
  }
  const [program = '', version = ''] = name.split('@');
  const [major, minor] = version.split('.');
  const stamp = 'k8s.io/component-base/version';
  const isKubectl = program === 'kubectl';
  return {
    program,
    module: isKubectl ? program : `v${version}`,
    target: isKubectl ? '.' : `k8s.io/kubernetes/cmd/${program}`,
    // Without these, the servers report v0.0.0, and candidates give the minor version without its patch, like 1.36.0.
    ldflags: `-s -w -X ${stamp}.gitVersion=v${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
    isAsset: program === 'kube-apiserver' && version === defaultVersion,
  };
}

async function fingerprint(recipe: Recipe): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([recipe, process.platform, process.arch]));
  const others = (recipe.alsoFrom ?? []).map((folder) => join(import.meta.dirname, folder));
  for (const folder of [folderOf(recipe), ...others]) {
    const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
    for (const file of files.map(({ name }) => name).sort()) {
      hash.update(`\0${file}\0`).update(await readFile(join(folder, file)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

async function build(name: BinaryName, recipe: Recipe, path: string, env: NodeJS.ProcessEnv): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Renamed into place only when complete, so that other processes never run a partial file.
  const unfinished = `${path}.${process.pid}`;
  try {
    await runGo(
      name,
      ['build', '-trimpath', '-buildvcs=false', '-ldflags', recipe.ldflags, '-o', unfinished, recipe.target],
      folderOf(recipe),
      env,
    );
    await chmod(unfinished, 0o755);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}

function runGo(name: BinaryName, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = spawn('go', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let complaints = '';
    go.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints = (complaints + text).slice(-4_000);
    });
    go.once('error', (cause) => {
      const remedy = `install Go 1.26 or newer (https://go.dev/dl) and put it on the PATH${assetsRemedy(name)}`;
      reject(new Error(`${name} has to be built, but "go" cannot be run: ${remedy}`, { cause }));
    });
    go.once('close', (code) => {
      if (code === 0) return resolve();
      const lines = complaints
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('go: downloading'));
      const problem = lines.slice(-5).join(' | ');
      reject(new Error(`${name} could not be built by "go ${args.join(' ')}" in ${cwd}: ${problem}`));
    });
  });
}

function assetsRemedy(name: BinaryName): string {
  return recipeFor(name).isAsset
    ? `, or set KUBEBUILDER_ASSETS to a folder that holds etcd and kube-apiserver ${defaultVersion}`
    : '';
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
