import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Host } from '../../support/host.ts';

/**
 * The process group of a command: the command and its child processes. On systems with /proc, also the other groups of
 * the session that the command leads, such as those of GNU `timeout`. A process in another session gets no signals.
 */
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

  signal(signal: NodeJS.Signals): void {
    const groups = membersOf(this.id).map(({ group }) => group);
    for (const group of new Set([this.id, ...groups])) this.#send(-group, signal);
  }

  isGone(): boolean {
    // A process that has ended stays in its group as a zombie until its parent reaps it. Process 1 of a container may
    // never reap it, so check the states. If /proc does not show the group, only the kernel knows whether it exists.
    const members = membersOf(this.id);
    if (members.some(({ state }) => state !== 'Z' && state !== 'X')) return false;
    return members.some(({ group }) => group === this.id) || !this.#send(-this.id, 0);
  }

  /** Sends a signal; 0 is no signal, only a check. Returns whether the process or group exists. */
  #send(pid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      this.#host.kill(pid, signal);
      return true;
    } catch (error) {
      // EPERM means that the target exists, but this process may not signal it.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

const SHELL = '/bin/sh';

/**
 * A shell script that waits for a line on file descriptor 3, then executes the command. If the descriptor is closed
 * without a line, the wrapper has ended before it called `release()`. The script then exits, because there may be no
 * guard to end the command in time.
 */
const HOLD_SCRIPT = 'read -r go <&3 || exit 137; exec 3<&-; exec "$0" "$@"';

/**
 * Starts a process in its own group, so that the wrapper can end all processes of the command together. The new
 * process executes `command` only after a call of `release()`. If there is no shell, the process executes `command` at
 * once, and `child` emits `error` if the command cannot start.
 * @throws {Error} with the errno `code`, if there is a shell, but the command does not exist or is not executable.
 */
export function spawnHeld(command: readonly string[], env: NodeJS.ProcessEnv) {
  const [file = '', ...args] = command;
  if (!existsSync(SHELL))
    return { child: spawn(file, args, { detached: true, stdio: 'inherit', env }), release() {} };
  // Check this before the shell runs: the shell would report the error only by an exit code, and the command may use
  // the same code.
  assertExecutable(file, env);
  const child = spawn(SHELL, ['-c', HOLD_SCRIPT, ...command], {
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env,
  });
  // If this process has no free file descriptor, the child has no streams and emits `error`.
  const [, , , gate] = (child.stdio as ChildProcess['stdio'] | undefined) ?? [];
  // Ignore an error of this stream: the child process has ended, and its exit event reports the end.
  gate?.on('error', () => {});
  const release = () => {
    if (gate && 'end' in gate) gate.end('go\n');
  };
  return { child, release };
}

/**
 * The shell script of the guard. Each line of its input contains the seconds until the next deadline, or `end`. The
 * script kills the session of the group at the deadline, or when its input is closed. Without the command `timeout` (part of
 * coreutils and BusyBox), the script ignores deadlines. It waits for the processes that it starts, because process
 * 1 of a container may never reap them.
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
kill -9 "-$group"
for stat in /proc/[0-9]*/stat; do
  read -r line <"$stat" && set -- \${line##*) } && [ "$4" = "$group" ] && kill -9 "-$3"
done`;

/**
 * Starts the guard of a process group: a shell that kills the group at a deadline. The wrapper extends the deadline
 * again and again, and usually ends the group itself. The guard kills the group if the wrapper crashes, or is paused
 * until the deadline. Returns undefined if there is no shell. The command may then outlive the wrapper.
 * @param ms the first deadline, in milliseconds from now.
 * @param onLost called if the guard ends, or cannot start, before `end` is called.
 */
export function startGroupGuard(group: number, ms: number, onLost: () => void) {
  if (!existsSync(SHELL)) return undefined;
  // If this process has no free file descriptor, the shell has no stdin and emits `error`.
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
  // Ignore an error of this stream: the shell has ended, and its exit event reports the end.
  shell.stdin?.on('error', () => {});
  return {
    /** Sets the deadline of the group, in milliseconds from now. */
    extend(untilKillMs: number): void {
      if (!isEnded) shell.stdin?.write(`${secondsOf(untilKillMs)}\n`);
    },
    /** Ends the guard, which then kills nothing. Call this function after the group has ended. */
    end(): void {
      isEnded = true;
      shell.stdin?.end('end\n');
    },
  };
}

/** Returns the processes of a session, with their states as letters from /proc; none on systems without /proc. */
function membersOf(session: number): readonly { readonly group: number; readonly state: string }[] {
  let names: readonly string[] = [];
  try {
    names = readdirSync('/proc');
  } catch {}
  return names.flatMap((name) => {
    try {
      // The name of the program is in parentheses and may contain any character, so read after the last parenthesis.
      const afterName = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /s, '');
      const [state = '', , group, itsSession] = afterName.split(' ');
      return Number(itsSession) === session ? { group: Number(group), state } : [];
    } catch {
      return []; // The process has already ended, or this is no process.
    }
  });
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

/** Formats milliseconds as seconds for `timeout`. Never returns 0, which would mean no limit. */
function secondsOf(ms: number): string {
  return (Math.max(1, ms) / 1000).toFixed(3);
}
