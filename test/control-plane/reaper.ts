import { spawn } from 'node:child_process';
import { once } from 'node:events';

// Reads the list of processes to mind, anew with every line. When its input ends, however that comes about, it kills
// those on the last list and removes the folder given, if any.
const script = `
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
[ -z "$1" ] || rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

/**
 * Outlives this process by a moment, to kill the processes that it minds: even after a SIGKILL, which no handler of ours
 * could see, none is left behind.
 */
export interface Reaper {
  /** Mind this process from now on. To be called in the same turn of the event loop as its start. */
  mind(pid: number): void;
  /** This process has ended: its id may soon be somebody else's. */
  forget(pid: number): void;
  /** Kills what is still minded, removes the folder and ends. */
  end(): Promise<void>;
}

/** Starts a reaper that finally removes `directory`, when given. */
export function startReaper(directory: string | undefined): Reaper {
  const minded = new Set<number>();
  // In a session of its own, so that neither Ctrl-C nor a signal to our group reaches it.
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', directory ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const ended = once(shell, 'exit');
  shell.stdin.on('error', () => {}); // it was killed: then nobody minds, but nothing else is wrong
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
