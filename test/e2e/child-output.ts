import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** A process with recorded output, which ends with this one. */
export interface WatchedChild {
  /** Its output so far, on both streams. */
  output(): string;
  /** Resolves to its exit code. */
  readonly ended: Promise<number | null>;
}

/** Records the output of a process with pipes. */
export function watchChild(
  child: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable },
): WatchedChild {
  // A crashed test must leave no process behind.
  process.once('exit', () => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return { output: () => output, ended };
}
