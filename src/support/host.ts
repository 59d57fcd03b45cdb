import type { ReadStream, WriteStream } from 'node:tty';
import type { Clock } from './clock.ts';

/** The environment, as a process has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process that a command runs in, as far as commands have to do with it; main.ts alone has the process itself. */
export interface Host {
  readonly clock: Clock;
  readonly env: Environment;
  /** Terminals or not: `isTTY` tells. */
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /**
   * From now on the first of each of these signals does not end the process but aborts what is returned, with the
   * signal's name as the reason; a second one ends the process at once.
   */
  stopOn(...signals: readonly NodeJS.Signals[]): AbortSignal;
  /** From now on none of these signals does what it does by default, but calls `listener`, each time. */
  onSignals(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): void;
  /**
   * Sends a signal to a process, or to a process group by its number below 0; the signal 0 only asks whether it is there.
   *
   * @throws {Error} with the code `ESRCH` when it is not, `EPERM` when that is not allowed.
   */
  kill(pid: number, signal: NodeJS.Signals | 0): void;
  /** Calls `undo` when the process ends, by an uncaught error too, unless the returned function was called before. */
  beforeExit(undo: () => void): () => void;
}

/** Resolves when `signal` aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
