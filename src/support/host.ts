import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Clock } from './clock.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The part of the process that commands may use. Only main.ts accesses `process` itself. */
export interface Host {
  readonly clock: Clock;
  readonly env: Environment;
  /** `isTTY` is true if the input is a terminal. The outputs have the same property. */
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /**
   * Handles these signals from now on. The first signal of a kind aborts the returned AbortSignal, with the signal's name
   * as the reason. The second signal ends the process at once.
   */
  stopOn(...signals: readonly NodeJS.Signals[]): AbortSignal;
  /** Calls `listener` for each of these signals. Replaces the default action. */
  onSignals(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): void;
  /**
   * Sends a signal to a process; to a process group if `pid` is negative. Signal 0 only checks that the target exists.
   * @throws {Error} with the code `ESRCH` if the target does not exist, `EPERM` without permission.
   */
  kill(pid: number, signal: NodeJS.Signals | 0): void;
  /** Calls `undo` when the process ends, even by an uncaught error. The returned function cancels this. */
  beforeExit(undo: () => void): () => void;
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** The environment of the process, for the library. Commands get it from main.ts. */
export const processEnvironment: Environment = process.env;

/** Emits a process warning, as Node does. Used by the library, which has no logger. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'CoordinatedLeaderElectionWarning');
}

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

export const { version } = JSON.parse(manifest) as { readonly version: string };
