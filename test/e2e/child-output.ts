import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** A process whose output is kept, and that ends with this one at the latest. */
export interface WatchedChild {
  /** What it has printed so far, on both streams. */
  output(): string;
  /** Resolves to its exit code. */
  readonly ended: Promise<number | null>;
}

/** Watches a process that has pipes for its output. */
export function watchChild(
  child: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable },
): WatchedChild {
  // A test that crashes must leave nothing behind.
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
