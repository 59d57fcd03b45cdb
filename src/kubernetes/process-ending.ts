import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

interface Started {
  process?: ChildProcess;
}

const started = new AsyncLocalStorage<Started>();

/**
 * Carries out `work`, which may start a process and keeps to itself how that ended. `explain` makes the error of a failure:
 * it is told of the exit code or the signal of the process, if it had one and did not end in good order.
 */
export async function explainingProcess(
  work: () => Promise<void>,
  explain: (error: unknown, ending: string | undefined) => unknown,
): Promise<void> {
  const own: Started = {};
  const note = (message: unknown) => {
    // Others may start processes meanwhile.
    if (started.getStore() === own) Object.assign(own, message);
  };
  subscribe('child_process', note);
  try {
    await started.run(own, work);
  } catch (error) {
    throw explain(error, endingOf(own.process));
  } finally {
    unsubscribe('child_process', note);
  }
}

function endingOf(process: ChildProcess | undefined): string | undefined {
  if (process?.signalCode) return process.signalCode;
  const { exitCode } = process ?? {};
  // A negative one stands for a process that could not be started, which the error says.
  return typeof exitCode === 'number' && exitCode > 0 ? `exit code ${exitCode}` : undefined;
}
