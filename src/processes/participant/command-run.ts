import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Term } from '../../participant/term.ts';
import { guardIntervalMs, killTimes } from '../../settings/participate-settings.ts';
import { repeat, SAFE_SHARE, sleep } from '../../support/clock.ts';
import type { Host } from '../../support/host.ts';
import { messageOf } from '../../support/text.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { ProcessGroup, spawnHeld, startGroupGuard } from './process-group.ts';

interface CommandRunParts {
  readonly command: readonly string[];
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly host: Pick<Host, 'clock' | 'env' | 'kill' | 'beforeExit'>;
  readonly logger: Logger;
}

/** Signals that also end the wrapper. The wrapper forwards these and other signals to the command. */
const ENDING_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/** Maximum time in ms that processes of the group may outlive the command. After this time, the wrapper kills them. */
const CLEANUP_GRACE_MS = 2000;
const LOOK_AGAIN_MS = 20;

/** Runs a command while the candidate of this process leads. Starts no command while this process is stopping. */
export class CommandRun {
  readonly #parts: CommandRunParts;
  readonly #stopping = new AbortController();
  /** Aborts when this process should stop taking part in the election. */
  readonly stopping: AbortSignal = this.#stopping.signal;
  /** Exit code of the command if it could not start, ended by itself, or ended while this process stops; otherwise 0. */
  exitCode = 0;
  /** True if this process ends as soon as no command runs. */
  #isStopping = false;
  /** The processes of the running command; undefined while there are none. */
  #group: ProcessGroup | undefined;

  constructor(parts: CommandRunParts) {
    this.#parts = parts;
  }

  /**
   * Forwards a received signal to the command. SIGTERM and SIGINT also end this process: after the command has
   * ended, or at once if no command runs.
   */
  signal(signal: NodeJS.Signals): void {
    this.#parts.logger.info({ signal, isRunning: this.#group !== undefined }, 'Received a signal');
    this.#group?.signalLeader(signal);
    if (!ENDING_SIGNALS.includes(signal)) return;
    this.#isStopping = true;
    if (!this.#group) this.#stopping.abort();
  }

  /**
   * Runs the command in a term. Resolves when all processes of the command's group have ended, so that the elector can
   * release the Lease.
   */
  readonly lead = async (term: Term): Promise<void> => {
    if (term.signal.aborted || this.#isStopping) return;
    const { logger } = this.#parts;
    /** Functions that cancel timers and remove listeners. They are called after the command has ended. */
    const undo: (() => void)[] = [];
    const { group, guard, ended } = this.#start(term, undo);
    this.#group = group;
    const onTermOver = () => {
      group?.signalLeader('SIGTERM');
      this.#killIn(this.#mayLiveMs(term, 'wrapperMs'), undo);
      // The guard may not know about the last renewal yet, and would then kill the command too early.
      guard?.extend(this.#mayLiveMs(term, 'guardMs'));
    };
    term.signal.addEventListener('abort', onTermOver, { once: true });
    undo.push(() => term.signal.removeEventListener('abort', onTermOver));

    const { exitCode, signal, problem } = await ended;
    const isByItself = !term.signal.aborted;
    if (problem !== undefined) logger.error({ exitCode, problem }, 'Cannot start the command');
    else logger.info({ exitCode, signal }, 'The command has ended');
    if (group) await this.#clear(group, term, undo);
    guard?.end();
    for (const each of undo) each();
    this.#group = undefined;
    if (!isByItself && !this.#isStopping) return;
    // The participant is about to stop. If another term begins before that, `lead` must not start the command again.
    this.#isStopping = true;
    this.exitCode = exitCode;
    this.#stopping.abort();
  };

  /** Starts the command. Returns no `group` if the command cannot start, and no `guard` if /bin/sh is missing. */
  #start(term: Term, undo: (() => void)[]) {
    const { command, host, logger, leaseDurationMs, renewDeadlineMs } = this.#parts;
    const [file = ''] = command;
    const { lease, holder, fencingToken } = term;
    let held: ReturnType<typeof spawnHeld>;
    try {
      held = spawnHeld(command, {
        ...host.env,
        CLE_LEASE: `${lease.namespace}/${lease.name}`,
        CLE_HOLDER: holder,
        CLE_FENCING_TOKEN: String(fencingToken),
      });
    } catch (error) {
      return { ended: Promise.resolve(notStarted(file, error)) };
    }
    const { pid } = held.child;
    const ended = endOf(held.child, file);
    if (pid === undefined) return { ended };
    logger.info({ command: file, pid, fencingToken }, 'Started the command');
    const group = new ProcessGroup(pid, host);
    const guard = startGroupGuard(group.id, this.#mayLiveMs(term, 'guardMs'), () =>
      logger.warn({}, 'The guard of the command has ended'),
    );
    held.release();
    undo.push(host.beforeExit(() => group.signal('SIGKILL')));
    const extend = () => guard?.extend(this.#mayLiveMs(term, 'guardMs'));
    if (guard) undo.push(repeat(host.clock, guardIntervalMs(leaseDurationMs, renewDeadlineMs), extend));
    else logger.info({}, 'No /bin/sh guards the command: only the end of its container ends it by force');
    return { group, guard, ended };
  }

  /**
   * Sends SIGTERM to the remaining processes of the group, and SIGKILL after a grace period. Resolves when all of them
   * have ended.
   */
  async #clear(group: ProcessGroup, term: Term, undo: (() => void)[]): Promise<void> {
    if (group.isGone()) return;
    group.signal('SIGTERM');
    this.#killIn(Math.min(CLEANUP_GRACE_MS, this.#mayLiveMs(term, 'wrapperMs')), undo);
    while (!group.isGone()) await sleep(this.#parts.host.clock, LOOK_AGAIN_MS);
  }

  #killIn(ms: number, undo: (() => void)[]): void {
    const { host, logger } = this.#parts;
    const kill = () => {
      logger.warn({}, 'Killing the remaining processes of the command');
      this.#group?.signal('SIGKILL');
    };
    undo.push(host.clock.setTimer(kill, ms));
  }

  /** Returns how long the command may still run before the wrapper or its guard (`by`) kills it, in milliseconds. */
  #mayLiveMs(term: Term, by: keyof ReturnType<typeof killTimes>): number {
    const { leaseDurationMs } = this.#parts;
    return term.remainingMs() - (leaseDurationMs * SAFE_SHARE - killTimes(leaseDurationMs)[by]);
  }
}

interface CommandEnd {
  readonly exitCode: number;
  readonly signal?: NodeJS.Signals;
  /** Why the command could not start, with advice for common causes. */
  readonly problem?: string;
}

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

function endOf(child: ChildProcess, file: string): Promise<CommandEnd> {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      // Without a pid, the command did not start. With a pid, it has started: ignore the error, and wait for its exit.
      if (child.pid === undefined) resolve(notStarted(file, error));
    });
    child.once('exit', (code, signal) =>
      resolve(
        signal === null ? { exitCode: code ?? 0 } : { exitCode: 128 + constants.signals[signal], signal },
      ),
    );
  });
}

function notStarted(file: string, error: unknown): CommandEnd {
  const code = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
  const problems: Readonly<Record<string, string>> = {
    ENOENT: 'no such command; name one that is in the PATH of this container, or its path',
    EACCES: 'not executable; chmod +x it, or name the interpreter before it',
  };
  return {
    exitCode: code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE,
    problem: `${file}: ${problems[code] ?? `cannot be started (${code})`}`,
  };
}
