import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A command that has its process, and does not run before it is released. */
export interface HeldCommand {
  readonly child: ChildProcess;
  release(): void;
}

const SHELL = '/bin/sh';

/**
 * Waits for a line on descriptor 3, and then becomes the command. Where nobody is left to write that line, as this process was
 * killed before the command had a guard, it ends instead.
 */
const SCRIPT = 'read -r go <&3 || exit 137; exec 3<&-; exec "$0" "$@"';

/**
 * Starts `command` in a process group of its own, by which all that it starts can be ended. Without a shell it runs at once.
 *
 * @throws Error with the `code` of the system where there is no such program, or it may not be executed.
 */
export function spawnHeld(command: readonly string[], env: NodeJS.ProcessEnv): HeldCommand {
  const [file = '', ...args] = command;
  if (!existsSync(SHELL)) {
    return { child: spawn(file, args, { detached: true, stdio: 'inherit', env }), release() {} };
  }
  // The shell would tell of it by an exit code, which may be the command's own.
  assertExecutable(file, env);
  const child = spawn(SHELL, ['-c', SCRIPT, ...command], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env,
  });
  const gate = child.stdio[3];
  // It has ended; its exit tells so.
  gate?.on('error', () => {});
  return {
    child,
    release() {
      if (gate && 'end' in gate) gate.end('go\n');
    },
  };
}

function assertExecutable(file: string, { PATH = '' }: NodeJS.ProcessEnv): void {
  const paths = file.includes('/') ? [file] : PATH.split(delimiter).map((folder) => join(folder, file));
  let problem: unknown = Object.assign(new Error(`no ${file} in PATH`), { code: 'ENOENT' });
  for (const path of paths) {
    try {
      accessSync(path, constants.X_OK);
      return;
    } catch (error) {
      const isThere = error instanceof Error && 'code' in error && error.code === 'EACCES';
      if (isThere || paths.length === 1) problem = error;
    }
  }
  throw problem;
}
