import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerProcess, tailOf } from './server-process.ts';

/** The server exited, or was not ready in time. */
export class NotReadyError extends Error {
  readonly server: ServerProcess;

  constructor(server: ServerProcess, problem: string) {
    super(`${server.name} ${problem}; ${tailOf(server)}`);
    this.name = 'NotReadyError';
    this.server = server;
  }
}

/**
 * Resolves when `isReady` returns true, polled every 50 ms; an error counts as not ready.
 * @throws NotReadyError if the server exits first, or after `deadlineMs`
 */
export async function untilReady(
  server: ServerProcess,
  isReady: () => Promise<boolean>,
  deadlineMs: number,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  let lastFailure = '';
  while (performance.now() < deadline) {
    const exit = server.exit();
    if (exit !== undefined) {
      throw new NotReadyError(server, `ended (${exit.signal ?? `code ${exit.code}`}) before it was ready`);
    }
    try {
      if (await isReady()) return;
    } catch (error) {
      lastFailure = ` (${error instanceof Error ? error.message : error})`;
    }
    await sleep(50);
  }
  throw new NotReadyError(server, `was not ready within ${deadlineMs / 1000} s${lastFailure}`);
}
