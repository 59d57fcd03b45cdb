#!/usr/bin/env node
import { constants } from 'node:os';
import { basename } from 'node:path';
import { exitCode } from './cli/exit-code.ts';
import { type Host, version } from './support/host.ts';
import { systemClock } from './support/system-clock.ts';

/**
 * Exits on a signal. Used until a command sets its own handlers, because loading the command takes some time. Without
 * any handler, process 1 of a container would ignore the signal.
 */
function exitOnSignal(signal: NodeJS.Signals): void {
  process.exit(128 + constants.signals[signal]);
}

if (process.pid === 1) {
  process.on('SIGTERM', exitOnSignal);
  process.on('SIGINT', exitOnSignal);
}

const host: Host = {
  clock: systemClock,
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  // Accessing process.stdin opens it, so only a command that reads its input may do so.
  get stdin() {
    return process.stdin;
  },
  stopOn(...signals) {
    const stopping = new AbortController();
    for (const signal of signals) {
      process.once(signal, () => stopping.abort(signal));
      process.off(signal, exitOnSignal);
    }
    return stopping.signal;
  },
  onSignals(signals, listener) {
    for (const signal of signals) {
      process.on(signal, listener);
      process.off(signal, exitOnSignal);
    }
  },
  kill(pid, signal) {
    process.kill(pid, signal);
  },
  beforeExit(undo) {
    // Call `undo` before Node prints an uncaught error. If `undo` restored the terminal later, it would clear the message.
    process.once('uncaughtExceptionMonitor', undo);
    process.once('exit', undo);
    return () => {
      process.off('uncaughtExceptionMonitor', undo);
      process.off('exit', undo);
    };
  },
};

for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    // Exit quietly on EPIPE: the reader, such as `head`, has closed the pipe.
    if (error.code === 'EPIPE') process.exit(exitCode.outputClosed);
    throw error;
  });
}

/** Time in ms that work in flight may still take after a command with `exitsSoon` has ended. Then the process exits. */
const EXIT_AFTER_MS = 250;

// Set the signal handlers before this import: a signal may arrive during the import, which takes some time.
const { runProgram } = await import('./cli/program.ts');

process.exitCode = await runProgram(process.argv.slice(2), {
  version,
  invokedAs: basename(process.argv[1] ?? ''),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  async dispatch(command, input) {
    try {
      return (await command.run(input, host)) ?? exitCode.ok;
    } finally {
      // Do not wait for a DNS lookup or a credential plugin that is still running: it cannot be aborted.
      if (command.exitsSoon) setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
    }
  },
});
