import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Host } from '../../support/host.ts';

/** The process group of a command. A process that leaves the group is not part of it. */
export class ProcessGroup {
  readonly #host: Pick<Host, 'kill'>;
  /** The id of the group. The command leads the group, so its pid is the same number. */
  readonly id: number;

  constructor(id: number, host: Pick<Host, 'kill'>) {
    this.id = id;
    this.#host = host;
  }

  /** Signals the command, but not its child processes. */
  signalLeader(signal: NodeJS.Signals): void {
    this.#send(this.id, signal);
  }

  /** Signals all processes of the group. */
  signal(signal: NodeJS.Signals): void {
    this.#send(-this.id, signal);
  }

  /** Whether all processes of the group have ended. */
  isGone(): boolean {
    if (!this.#send(-this.id, 0)) return true;
    // A zombie stays in its group until its parent reaps it. Process 1 of a container may never do that.
    const states = statesOfGroup(this.id);
    return states?.every((state) => state === 'Z' || state === 'X') ?? false;
  }

  /** Returns whether the process or group exists. */
  #send(pid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      this.#host.kill(pid, signal);
      return true;
    } catch (error) {
      // EPERM means that the target exists.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

const SHELL = '/bin/sh';

/**
 * Waits for a line on descriptor 3, then executes the command. Exits if the descriptor is closed: then the parent
 * was killed before it started the guard.
 */
const HOLD_SCRIPT = 'read -r go <&3 || exit 137; exec 3<&-; exec "$0" "$@"';

/**
 * Starts a process in its own group, so that all processes of the command can be ended. It executes `command` only after
 * `release()`. If there is no shell, it executes the command at once.
 * @throws {Error} with the errno `code`, if the program does not exist or is not executable.
 */
export function spawnHeld(command: readonly string[], env: NodeJS.ProcessEnv) {
  const [file = '', ...args] = command;
  if (!existsSync(SHELL)) {
    return { child: spawn(file, args, { detached: true, stdio: 'inherit', env }), release() {} };
  }
  // Check this first: the shell would report the error only by an exit code, and the command may use the same code.
  assertExecutable(file, env);
  const child = spawn(SHELL, ['-c', HOLD_SCRIPT, ...command], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env,
  });
  // If no file descriptor is free, there are no streams, and the child emits `error`.
  const [, , , gate] = (child.stdio as ChildProcess['stdio'] | undefined) ?? [];
  // Ignore the error: the process has ended, and its exit event reports that.
  gate?.on('error', () => {});
  const release = () => {
    if (gate && 'end' in gate) gate.end('go\n');
  };
  return { child, release };
}

/**
 * Reads lines, each with the seconds until the deadline. Kills the group at the deadline, and at once if the input is
 * closed. Without `timeout` (in coreutils and BusyBox), it kills the group only when the input is closed. The script
 * reaps its own children, because process 1 of a container may not do so.
 */
const GUARD_SCRIPT = `group=$1 seconds=$2
if timeout -s KILL 9 true; then can_wait=1; fi
next() {
  if [ -n "$can_wait" ]; then timeout -s KILL "$seconds" "$0" -c 'read -r line && echo "$line"'
  else read -r line && echo "$line"; fi
}
while seconds=$(next); do
  if [ "$seconds" = end ]; then exit 0; fi
done
kill -9 "-$group"`;

/**
 * Starts a shell that kills a process group at its deadline. This process extends the deadline until it is killed or
 * paused. The shell uses less than a megabyte. Returns undefined if there is no shell: a command that outlives this
 * process then runs until the container ends.
 * @param ms the first deadline of the group.
 */
export function startGroupGuard(group: number, ms: number, onLost: () => void) {
  if (!existsSync(SHELL)) return undefined;
  // If no file descriptor is free, the shell has no stdin and emits `error`.
  const shell: ChildProcess = spawn(SHELL, ['-c', GUARD_SCRIPT, SHELL, String(group), secondsOf(ms)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  let isEnded = false;
  const lost = () => {
    if (!isEnded) onLost();
    isEnded = true;
  };
  shell.once('error', lost);
  shell.once('exit', lost);
  // Ignore the error: the process has ended, and its exit event reports that.
  shell.stdin?.on('error', () => {});
  return {
    /** Sets the deadline of the group, in milliseconds from now. */
    extend(untilKillMs: number): void {
      if (!isEnded) shell.stdin?.write(`${secondsOf(untilKillMs)}\n`);
    },
    /** Ends the guard. Call it after the group has ended. */
    end(): void {
      isEnded = true;
      shell.stdin?.end('end\n');
    },
  };
}

/** Returns the states of the processes of a group, from /proc; undefined on systems without /proc. */
function statesOfGroup(id: number): readonly string[] | undefined {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => stateInGroup(pid, id) ?? []);
  } catch {
    return undefined;
  }
}

function stateInGroup(pid: string, id: number): string | undefined {
  try {
    // The name of the program is in parentheses and may contain any character.
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
    const [state, , group] = afterName.split(' ');
    return Number(group) === id ? state : undefined;
  } catch {
    // The process has already ended.
    return undefined;
  }
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

/** Formats seconds for `timeout`. Never returns 0, which would mean no limit. */
function secondsOf(ms: number): string {
  return (Math.max(1, ms) / 1000).toFixed(3);
}
