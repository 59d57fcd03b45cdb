import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { variablesOf } from './built-program.ts';
import { watchChild } from './child-output.ts';
import { eventually } from './coordinator.ts';

const execute = promisify(execFile);
const repository = new URL('../../', import.meta.url).pathname;

/** The image's configuration of its process. */
export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

/** An image that was built from the Dockerfile and unpacked. */
export interface UnpackedImage {
  readonly config: ImageConfig;
  /** The folder of its root. */
  readonly root: string;
  remove(): Promise<void>;
}

/**
 * Builds the Dockerfile with buildah, on bases made of this machine's own files, so that no registry is needed. Needs
 * root.
 * @throws Error with buildah's message, or if buildah is missing
 */
export async function buildImage(): Promise<UnpackedImage> {
  const folder = await mkdtemp(join(tmpdir(), 'image-'));
  const storage = [
    '--root',
    join(folder, 'store'),
    '--runroot',
    join(folder, 'run'),
    '--storage-driver',
    'vfs',
  ];

  async function buildah(...args: readonly string[]): Promise<string> {
    try {
      return (await execute('buildah', [...storage, ...args], { maxBuffer: 2 ** 24 })).stdout.trim();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        throw new Error('the image is built with buildah, which is missing: apt-get install buildah', {
          cause: error,
        });
      }
      throw error;
    }
  }
  async function remove(): Promise<void> {
    // Also the remains of a failed build; the store belongs to this test.
    await buildah('rm', '--all').catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
  async function base(name: string, fill: (root: string) => Promise<void>): Promise<string> {
    const root = join(folder, name);
    await mkdir(root);
    await fill(root);
    const file = join(folder, 'Basefile');
    await writeFile(file, 'FROM scratch\nCOPY . /\n');
    await buildah('build-using-dockerfile', '--quiet', '--file', file, '--tag', `localhost/${name}`, root);
    return `localhost/${name}`;
  }

  try {
    const buildImageName = await base('build-base', withMachinesPrograms);
    const runtimeImageName = await base('runtime-base', withLibrariesOfNode);
    const npmSettings = join(folder, 'npmrc');
    await writeFile(npmSettings, await settingsOfNpm());
    await buildah(
      'build-using-dockerfile',
      '--pull-never',
      '--isolation=chroot',
      `--build-arg=BUILD_IMAGE=${buildImageName}`,
      `--build-arg=RUNTIME_IMAGE=${runtimeImageName}`,
      '--build-arg=REVISION=0123456789',
      '--volume=/usr:/usr:ro',
      '--volume=/etc/ssl:/etc/ssl:ro',
      `--volume=${await npmConfig('cache')}:/root/.npm`,
      `--volume=${npmSettings}:/root/.npmrc:ro`,
      '--tag=localhost/image',
      repository,
    );
    const { OCIv1 } = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/image')) as {
      readonly OCIv1: { readonly config: ImageConfig };
    };
    const container = await buildah('from', '--pull-never', 'localhost/image');
    return { config: OCIv1.config, root: await buildah('mount', container), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function npmConfig(name: string): Promise<string> {
  return (await execute('npm', ['config', 'get', name])).stdout.trim();
}

/** This machine's registry, which is used only for packages that are not in the cache of `npm ci`. */
async function settingsOfNpm(): Promise<string> {
  return `registry=${await npmConfig('registry')}\nprefer-offline=true\nupdate-notifier=false\n`;
}

/** Links to this machine's shell and npm for the build. */
async function withMachinesPrograms(root: string): Promise<void> {
  for (const name of ['bin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(root, name));
  for (const name of ['usr', 'etc', 'tmp', 'root']) await mkdir(join(root, name));
  // The locations of npm's settings and cache.
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
}

/** The shared libraries of Node, at the paths where it searches them. */
async function withLibrariesOfNode(root: string): Promise<void> {
  const { stdout } = await execute('ldd', [join(repository, 'node_modules/node/bin/node')]);
  for (const [library] of stdout.matchAll(/\/[^ ]+/g)) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
}

/** An image's program, running as process 1 of a PID namespace, on a read-only root file system. */
export interface RunningImage {
  output(): string;
  /** Sends SIGTERM to the program. Resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Runs an image's entrypoint with arguments, as the image's user and with its environment and a kubeconfig. */
export async function runImage(
  { config, root }: UnpackedImage,
  kubeconfig: string,
  args: readonly string[],
): Promise<RunningImage> {
  await mkdir(join(root, 'etc'), { recursive: true });
  await copyFile(kubeconfig, join(root, 'etc/kubeconfig'));
  await chmod(join(root, 'etc/kubeconfig'), 0o644);
  const script =
    'mount --bind "$0" "$0" && mount --options remount,bind,ro "$0" && exec /usr/sbin/chroot --userspec="$@"';
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, root],
      ...[config.User, root, ...config.Entrypoint, ...args],
    ],
    {
      env: {
        ...variablesOf(config.Env),
        KUBECONFIG: '/etc/kubeconfig',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const { output, ended } = watchChild(child);
  return {
    output,
    async stop() {
      if (child.exitCode !== null) return ended;
      const program = await eventually(async () => {
        const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
        return Number(children.trim()) || undefined;
      }, 'the program runs');
      process.kill(program, 'SIGTERM');
      return ended;
    },
  };
}
