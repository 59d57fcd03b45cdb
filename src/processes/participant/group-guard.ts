import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Kills a process group when this process no longer says that it may live, be it that it was killed, or stopped. */
export interface GroupGuard {
  /** It may live for so long, in milliseconds, from now. */
  extend(ms: number): void;
  /** The group is gone: there is nothing to guard any more. */
  end(): void;
}

const SHELL = '/bin/sh';

/**
 * Reads for how many seconds more the group may live, a line each; kills it when that time is over, and at once when
 * nobody is left to write lines. Without `timeout`, which coreutils and BusyBox have, only the latter. Whatever it starts
 * it waits for: process 1 of a container may be one that does not.
 */
const SCRIPT = `group=$1 seconds=$2
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
  if (!existsSync(SHELL)) return undefined;
  const shell = spawn(SHELL, ['-c', SCRIPT, SHELL, String(group), secondsOf(ms)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  return guardOf(shell, onLost);
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
