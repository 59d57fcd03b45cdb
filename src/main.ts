#!/usr/bin/env node
import { basename } from 'node:path';
import { exitCode } from './cli/exit-code.ts';
import { boundYoungGeneration, type Host, version } from './support/host.ts';
import { systemClock } from './support/system-clock.ts';

/** With the exit codes of whom they end. */
const ENDING_SIGNALS = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Until a command says what they mean to it, these signals end this process, as they would any. Process 1 of a container
 * ignores a signal that nobody has asked for, and loading a command takes some time.
 */
const untilAskedFor = new Map<NodeJS.Signals, () => void>();
for (const [signal, code] of Object.entries(ENDING_SIGNALS)) {
  if (process.pid !== 1) break;
  const end = () => process.exit(code);
  untilAskedFor.set(signal as keyof typeof ENDING_SIGNALS, end);
  process.on(signal, end);
}

function askFor(signal: NodeJS.Signals): void {
  const end = untilAskedFor.get(signal);
  if (end) process.off(signal, end);
}

const host: Host = {
  clock: systemClock,
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  // Merely to ask for it opens it.
  get stdin() {
    return process.stdin;
  },
  stopOn(...signals) {
    const stopping = new AbortController();
    for (const signal of signals) {
      process.once(signal, () => stopping.abort(signal));
      askFor(signal);
    }
    return stopping.signal;
  },
  onSignals(signals, listener) {
    for (const signal of signals) {
      process.on(signal, listener);
      askFor(signal);
    }
  },
  kill(pid, signal) {
    process.kill(pid, signal);
  },
  beforeExit(undo) {
    // The monitor comes before Node writes what an uncaught error says: it must not go to a screen that is then cleared.
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
    // Whoever has read enough, as `head` does, wants to hear no more: not even that there was nobody to hear it.
    if (error.code === 'EPIPE') process.exit(exitCode.outputClosed);
    throw error;
  });
}

/** For what is still under way when all is done, in milliseconds: nothing of it matters any more. */
const LEAVE_AFTER_MS = 250;

/** Does not wait for a name that is being looked up, or a credential plugin that hangs: nothing else could end those. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), LEAVE_AFTER_MS).unref();
}

// After the signals, as it takes most of the time until a command is there.
const { createProgram } = await import('./cli/program.ts');

// Each command loads only what it needs: the first leader of the demo is on the screen that much sooner.
process.exitCode = await createProgram({
  version,
  invokedAs: basename(process.argv[1] ?? ''),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  commands: {
    async run(settings) {
      boundYoungGeneration();
      const { loadCoordinator } = await import('./processes/load-coordinator.ts');
      const { runCoordinator } = await loadCoordinator(host.clock);
      await runCoordinator(settings, host);
      leaveSoon();
      return exitCode.ok;
    },
    async serve(settings) {
      const { runServer } = await import('./processes/server-process.ts');
      await runServer(settings, host);
      return exitCode.ok;
    },
    async demo(settings) {
      const { runDemo } = await import('./demo/run-demo.ts');
      await runDemo(settings, host);
      return exitCode.ok;
    },
    async status(settings) {
      const { showStatus } = await import('./cli/show-status.ts');
      return await showStatus(settings, host);
    },
    async explain(lease, settings) {
      const { showExplanation } = await import('./cli/show-explanation.ts');
      return await showExplanation(lease, settings, host);
    },
    async plan(lease, settings) {
      const { showPlan } = await import('./cli/show-plan.ts');
      return await showPlan(lease, settings, host);
    },
    async doctor(settings) {
      const { showDiagnosis } = await import('./cli/show-diagnosis.ts');
      return await showDiagnosis(settings, host);
    },
    async transfer(lease, settings) {
      const { runTransfer } = await import('./cli/move-leaders.ts');
      return await runTransfer(lease, settings, host);
    },
    async drain(settings) {
      const { runDrain } = await import('./cli/move-leaders.ts');
      return await runDrain(settings, host);
    },
    async undrain(settings) {
      const { runUndrain } = await import('./cli/move-leaders.ts');
      return await runUndrain(settings, host);
    },
    async participate(lease, command, settings) {
      const { runParticipant } = await import('./processes/participant/participant-process.ts');
      const code = await runParticipant(lease, command, settings, host);
      leaveSoon();
      return code;
    },
  },
}).execute(process.argv.slice(2));
