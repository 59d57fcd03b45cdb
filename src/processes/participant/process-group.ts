import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Host } from '../../support/host.ts';

/** The processes that a command has started, itself included, as far as none has left its group. */
export class ProcessGroup {
  readonly #host: Pick<Host, 'kill'>;
  /** Of the group and of its leader, which is the command. */
  readonly id: number;

  constructor(id: number, host: Pick<Host, 'kill'>) {
    this.id = id;
    this.#host = host;
  }

  /** To the command alone. */
  signalLeader(signal: NodeJS.Signals): void {
    this.#send(this.id, signal);
  }

  /** To all of them. */
  signal(signal: NodeJS.Signals): void {
    this.#send(-this.id, signal);
  }

  /** Whether nobody is left who could still do something. */
  isGone(): boolean {
    if (!this.#send(-this.id, 0)) return true;
    // A process that has ended stays in its group until its parent asks for its exit code, which process 1 of a container
    // may never do.
    const states = statesOfGroup(this.id);
    return states?.every((state) => state === 'Z' || state === 'X') ?? false;
  }

  /** Whether there was anybody to send it to. */
  #send(pid: number, signal: NodeJS.Signals | 0): boolean {
    try {
      this.#host.kill(pid, signal);
      return true;
    } catch (error) {
      // Whoever may not be sent a signal is there.
      return error instanceof Error && 'code' in error && error.code === 'EPERM';
    }
  }
}

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
const HOLD_SCRIPT = 'read -r go <&3 || exit 137; exec 3<&-; exec "$0" "$@"';

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
  const child = spawn(SHELL, ['-c', HOLD_SCRIPT, ...command], {
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

/** Kills a process group when this process no longer says that it may live, be it that it was killed, or stopped. */
export interface GroupGuard {
  /** It may live for so long, in milliseconds, from now. */
  extend(ms: number): void;
  /** The group is gone: there is nothing to guard any more. */
  end(): void;
}

const GUARD_SHELL = '/bin/sh';

/**
 * Reads for how many seconds more the group may live, a line each; kills it when that time is over, and at once when
 * nobody is left to write lines. Without `timeout`, which coreutils and BusyBox have, only the latter. Whatever it starts
 * it waits for: process 1 of a container may be one that does not.
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
 * Guards a process group by a shell of its own, which costs less than a megabyte. Undefined where there is no shell: then
 * only a container's end, which ends all of its processes, keeps the command from outliving this process.
 *
 * @param ms for how long the group may live at first.
 */
export function startGroupGuard(group: number, ms: number, onLost: () => void): GroupGuard | undefined {
  if (!existsSync(GUARD_SHELL)) return undefined;
  const shell = spawn(GUARD_SHELL, ['-c', GUARD_SCRIPT, GUARD_SHELL, String(group), secondsOf(ms)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  return guardOf(shell, onLost);
}

/** The states of the processes of a group, as /proc has them; undefined on systems without it. */
function statesOfGroup(id: number): readonly string[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(groupAndState)
      .flatMap((found) => (found?.group === id ? [found.state] : []));
  } catch {
    return undefined;
  }
}

function groupAndState(pid: string): { group: number; state: string } | undefined {
  try {
    // The name of the program, in parentheses, may have anything in it.
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
    const [state = '', , group] = afterName.split(' ');
    return { group: Number(group), state };
  } catch {
    // It has ended meanwhile.
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

function guardOf(shell: ChildProcess, onLost: () => void): GroupGuard {
  let isEnded = false;
  const lost = () => {
    if (!isEnded) onLost();
    isEnded = true;
  };
  shell.once('error', lost);
  shell.once('exit', lost);
  // It has ended; its exit tells so.
  shell.stdin?.on('error', () => {});
  return {
    extend(ms) {
      if (!isEnded) shell.stdin?.write(`${secondsOf(ms)}\n`);
    },
    end() {
      isEnded = true;
      shell.stdin?.end('end\n');
    },
  };
}

/** Never 0, which `timeout` takes for no limit. */
function secondsOf(ms: number): string {
  return (Math.max(1, ms) / 1000).toFixed(3);
}
