import { spawn } from 'node:child_process';
import { once } from 'node:events';

// Reads the list of processes to guard, completely with every line. When its input ends for any reason, it kills the
// processes on the last list, and removes the given folder.
const script = `
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
[ -z "$1" ] || rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

/**
 * A process that outlives this one by a moment and kills the processes of its list, even after a SIGKILL, which this
 * process cannot handle.
 */
export interface Reaper {
  /** Guards this process from now on. Call it in the same turn of the event loop as the start of the process. */
  mind(pid: number): void;
  /** The process has ended: another process may get its id soon. */
  forget(pid: number): void;
  /** Kills the processes that are still on the list, removes the folder and exits. */
  end(): Promise<void>;
}

/** Starts a reaper that finally removes `directory`, if given. */
export function startReaper(directory: string | undefined): Reaper {
  const minded = new Set<number>();
  // In its own session, so that neither Ctrl-C nor a signal to our process group reaches it.
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', directory ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const ended = once(shell, 'exit');
  shell.stdin.on('error', () => {}); // The reaper was killed: then no process is guarded, but nothing else is wrong.
  const tell = () => shell.stdin.write(`${[...minded].join(' ')}\n`);
  return {
    mind(pid) {
      minded.add(pid);
      tell();
    },
    forget(pid) {
      minded.delete(pid);
      tell();
    },
    async end() {
      shell.stdin.end();
      await ended;
    },
  };
}
