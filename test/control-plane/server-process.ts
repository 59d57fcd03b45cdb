import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Reaper } from './reaper.ts';

/** The exit of a process. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of a control plane. */
export interface ServerProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves, and never rejects, when the process has exited. */
  readonly exited: Promise<Exit>;
  /** Its exit; undefined while it runs. */
  exit(): Exit | undefined;
  /** Its log so far. */
  logs(): string;
  /**
   * Sends a signal, SIGTERM by default. Does nothing if the process has exited. SIGSTOP and SIGCONT suspend and
   * resume it.
   */
  kill(signal?: NodeJS.Signals): void;
}

/** The command of a {@link ServerProcess}. */
export interface ServerCommand {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** The value of argv[0]; default: its path. */
  readonly argv0?: string;
  /** Default: that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a process that ends with this one. */
export function startServer(command: ServerCommand, reaper: Reaper): ServerProcess {
  const { name, path, args, logFile, argv0, env } = command;
  const log = openSync(logFile, 'a');
  // In its own session: Ctrl-C reaches only this process, which stops the servers in order.
  const child = spawn(path, args, {
    detached: true,
    stdio: ['ignore', log, log],
    ...(argv0 === undefined ? {} : { argv0 }),
    ...(env === undefined ? {} : { env }),
  });
  closeSync(log);
  const { pid } = child;
  let exit: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      if (pid !== undefined) reaper.forget(pid);
      exit = { code, signal };
      resolve(exit);
    };
    child.once('exit', end);
    child.once('error', () => end(null, null));
  });
  if (pid === undefined) throw new Error(`${name}: ${path} cannot be run`);
  reaper.mind(pid);
  return {
    name,
    pid,
    logFile,
    exited,
    exit: () => exit,
    logs: () => readFileSync(logFile, 'utf8'),
    kill(signal = 'SIGTERM') {
      if (exit === undefined) child.kill(signal);
    },
  };
}

/** Returns the end of a process's log, for error messages. */
export function tailOf(server: ServerProcess): string {
  const lines = server.logs().trimEnd().split('\n').slice(-15);
  return `the end of ${server.name}'s log:\n${lines.map((line) => `  ${line.slice(0, 400)}`).join('\n')}`;
}
