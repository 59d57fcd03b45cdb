import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Clock } from './clock.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The clock and the parts of Node's `process` that commands may use. `main.ts` passes them. Tests replace them. */
export interface Host {
  readonly clock: Clock;
  readonly env: Environment;
  /** `isTTY` is true if the input is a terminal. `stdout` and `stderr` have the same property. */
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /**
   * Handles these signals from now on. The first signal aborts the returned AbortSignal, with the name of the signal as
   * the reason. The same signal, sent again, ends the process at once, unless the PID is 1: Linux then ignores it.
   */
  stopOn(...signals: readonly NodeJS.Signals[]): AbortSignal;
  /** Calls `listener` for each of these signals, instead of Node's default action. */
  onSignals(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): void;
  /**
   * Sends a signal to a process; to a process group if `pid` is negative. Signal 0 only checks that the target exists.
   * @throws {Error} with the code `ESRCH` if the target does not exist, `EPERM` without permission.
   */
  kill(pid: number, signal: NodeJS.Signals | 0): void;
  /** Calls `undo` at an uncaught error, and when the process exits. The returned function cancels both calls. */
  beforeExit(undo: () => void): () => void;
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** The environment variables of the process: the library's default if the caller passes no environment. */
export const processEnvironment: Environment = process.env;

/** Emits a process warning, as Node does. Library code calls it if there is no logger, or if the logger throws. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'CoordinatedLeaderElectionWarning');
}

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

export const { version } = JSON.parse(manifest) as { readonly version: string };
