import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary } from '../../control-plane/binaries.ts';
import { startReaper } from '../../control-plane/reaper.ts';

/** The output and exit code of a command. */
export interface ShellRun {
  readonly code: number | null;
  /** Of both streams, as in a terminal. */
  readonly output: string;
}

/** The shell of a user on call: in the project's folder, with kubectl, its plugin, and helm, for one cluster. */
export interface Shell {
  run(script: string): Promise<ShellRun>;
  remove(): Promise<void>;
}

const repository = new URL('../../../', import.meta.url).pathname;

/** `folders` come first on its PATH, and `env` is added to its variables. */
export async function openShell(
  kubeconfig: string,
  { folders = [], env: more = {} }: { folders?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Shell> {
  const home = await mkdtemp(join(tmpdir(), 'on-call-'));
  const reaper = startReaper(home);
  const bin = join(home, 'bin');
  await mkdir(bin);
  await symlink(await binary('kubectl@1.36.3'), join(bin, 'kubectl'));
  await symlink(await binary('helm'), join(bin, 'helm'));
  // By this name the program recognizes that it is a plugin.
  const plugin = join(home, 'kubectl-cle');
  await symlink(join(repository, 'src/main.ts'), plugin);
  await writeFile(join(bin, 'kubectl-cle'), `#!/bin/sh\nexec '${process.execPath}' '${plugin}' "$@"\n`, {
    mode: 0o755,
  });
  const path = [...folders, bin, '/usr/bin', '/bin'].join(':');
  const env = { ...more, PATH: path, HOME: home, KUBECONFIG: kubeconfig };

  return {
    run: (script) =>
      new Promise((resolve, reject) => {
        const child = spawn('bash', ['-c', `set -e -o pipefail\nexec 2>&1\n${script}`], {
          cwd: repository,
          env,
          stdio: ['ignore', 'pipe', 'inherit'],
          timeout: 600_000,
          killSignal: 'SIGKILL',
        });
        if (child.pid !== undefined) reaper.mind(child.pid);
        let output = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          output += text;
        });
        child.once('error', reject);
        child.once('close', (code) => {
          if (child.pid !== undefined) reaper.forget(child.pid);
          resolve({ code, output });
        });
      }),
    remove: () => reaper.end(),
  };
}
