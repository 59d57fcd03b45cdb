import type { Term } from '../../participant/term.ts';
import { killTimes } from '../../settings/participate-settings.ts';
import { repeat, SAFE_SHARE } from '../../support/clock.ts';
import type { Host } from '../../support/host.ts';
import { messageOf } from '../../support/text.ts';
import type { Logger } from '../../telemetry/logger.ts';
import {
  type CommandAction,
  type CommandEnd,
  type CommandEvent,
  type CommandState,
  decideCommand,
  exitCodeOf,
  initialCommandState,
  startProblem,
} from './command-decision.ts';
import {
  type GroupGuard,
  type HeldCommand,
  ProcessGroup,
  spawnHeld,
  startGroupGuard,
} from './process-group.ts';

/** The parts of a {@link CommandRun}. */
export interface CommandRunParts {
  readonly command: readonly string[];
  readonly leaseDurationMs: number;
  readonly host: Pick<Host, 'clock' | 'env' | 'kill' | 'beforeExit'>;
  readonly logger: Logger;
}

/** Grace period for processes of the group that still run after the command has ended, in milliseconds. */
const CLEANUP_GRACE_MS = 2000;
const LOOK_AGAIN_MS = 20;

/** A run of the command in one term. */
interface Run {
  readonly term: Term;
  readonly group: ProcessGroup | undefined;
  readonly guard: GroupGuard | undefined;
  readonly endTerm: () => void;
  /** Cancels timers and removes listeners. */
  readonly undo: (() => void)[];
}

/** Runs a command while its candidate leads: applies the actions of {@link decideCommand}. */
export class CommandRun {
  readonly #parts: CommandRunParts;
  readonly #stopping = new AbortController();
  #state: CommandState = initialCommandState;
  #run: Run | undefined;
  #exitCode = 0;

  constructor(parts: CommandRunParts) {
    this.#parts = parts;
  }

  /** Aborts when the process should stop taking part. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get exitCode(): number {
    return this.#exitCode;
  }

  signal(signal: NodeJS.Signals): void {
    const { phase } = this.#state;
    this.#parts.logger.info({ signal, phase }, 'Received a signal');
    this.#happened({ kind: 'signalled', signal });
  }

  /** Runs the command in a term. Resolves when all of its processes have ended. */
  readonly lead = (term: Term): Promise<void> => {
    if (term.signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = () => this.#happened({ kind: 'termOver' });
    this.#run = { term, group: undefined, guard: undefined, endTerm: resolve, undo: [] };
    this.#happened({ kind: 'termBegan' });
    term.signal.addEventListener('abort', over, { once: true });
    return promise.finally(() => term.signal.removeEventListener('abort', over));
  };

  #happened(event: CommandEvent): void {
    const { next, actions } = decideCommand(this.#state, event);
    this.#state = next;
    for (const action of actions) this.#apply(action);
  }

  #apply(action: CommandAction): void {
    switch (action.kind) {
      case 'start':
        this.#start();
        break;
      case 'signal':
        this.#run?.group?.signalLeader(action.signal);
        break;
      case 'setDeadline':
        this.#outOfTimeIn(this.#mayLiveMs('wrapperMs'));
        // The guard may not know about the last renewal yet.
        this.#extendGuard();
        break;
      case 'clear':
        this.#clear();
        break;
      case 'kill':
        this.#parts.logger.warn({}, 'Killing the remaining processes of the command');
        this.#run?.group?.signal('SIGKILL');
        break;
      case 'endTerm':
        this.#endTerm();
        break;
      case 'stop':
        this.#exitCode = action.exitCode;
        this.#stopping.abort();
        break;
    }
  }

  #start(): void {
    const { command, host, logger, leaseDurationMs } = this.#parts;
    const run = this.#run;
    if (!run) return;
    const held = this.#spawn(run.term);
    if (held?.child.pid === undefined) return;
    const { pid } = held.child;
    const { fencingToken } = run.term;
    logger.info({ command: command[0], pid, fencingToken }, 'Started the command');
    const group = new ProcessGroup(pid, host);
    const guard = startGroupGuard(group.id, this.#mayLiveMs('guardMs'), () =>
      logger.warn({}, 'The guard of the command has ended'),
    );
    this.#run = { ...run, group, guard };
    held.release();
    run.undo.push(host.beforeExit(() => group.signal('SIGKILL')));
    // Each time before the deadline of the guard passes.
    if (guard) run.undo.push(repeat(host.clock, leaseDurationMs / 3, () => this.#extendGuard()));
    else logger.info({}, 'No /bin/sh guards the command: only the end of its container ends it by force');
  }

  /** Starts the command. A failure to start counts as its end. */
  #spawn({ lease, holder, fencingToken }: Term): HeldCommand | undefined {
    const { command, host } = this.#parts;
    const notStarted = (error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
      this.#ended({ kind: 'notStarted', code });
    };
    try {
      const held = spawnHeld(command, {
        ...host.env,
        CLE_LEASE: `${lease.namespace}/${lease.name}`,
        CLE_HOLDER: holder,
        CLE_FENCING_TOKEN: String(fencingToken),
      });
      const { child } = held;
      child.on('error', (error) => {
        // Any other error comes from a signal that could not be delivered.
        if (child.pid === undefined) notStarted(error);
      });
      child.once('exit', (code, signal) =>
        this.#ended(signal === null ? { kind: 'exited', code: code ?? 0 } : { kind: 'killed', signal }),
      );
      return held;
    } catch (error) {
      notStarted(error);
      return undefined;
    }
  }

  #ended(end: CommandEnd): void {
    const { logger, command } = this.#parts;
    const exitCode = exitCodeOf(end);
    if (end.kind === 'notStarted') {
      logger.error(
        { exitCode, problem: startProblem(command[0] ?? '', end.code) },
        'Cannot start the command',
      );
    } else {
      logger.info(
        { exitCode, ...(end.kind === 'killed' && { signal: end.signal }) },
        'The command has ended',
      );
    }
    this.#happened({ kind: 'ended', end });
  }

  /** Terminates the remaining processes of the group, then kills them. */
  #clear(): void {
    const { clock } = this.#parts.host;
    const run = this.#run;
    const isGone = () => run?.group?.isGone() ?? true;
    if (isGone()) {
      this.#happened({ kind: 'cleared' });
      return;
    }
    run?.group?.signal('SIGTERM');
    this.#outOfTimeIn(Math.min(CLEANUP_GRACE_MS, this.#mayLiveMs('wrapperMs')));
    const cancel = repeat(clock, LOOK_AGAIN_MS, () => {
      if (!isGone()) return;
      cancel();
      this.#happened({ kind: 'cleared' });
    });
    run?.undo.push(cancel);
  }

  #extendGuard(): void {
    this.#run?.guard?.extend(this.#mayLiveMs('guardMs'));
  }

  /** Remaining time before the command is killed, in milliseconds. */
  #mayLiveMs(by: keyof ReturnType<typeof killTimes>): number {
    const { leaseDurationMs } = this.#parts;
    const spareMs = leaseDurationMs * SAFE_SHARE - killTimes(leaseDurationMs)[by];
    return (this.#run?.term.remainingMs() ?? 0) - spareMs;
  }

  #outOfTimeIn(ms: number): void {
    const { clock } = this.#parts.host;
    this.#run?.undo.push(clock.setTimer(() => this.#happened({ kind: 'outOfTime' }), ms));
  }

  #endTerm(): void {
    const run = this.#run;
    this.#run = undefined;
    run?.guard?.end();
    for (const undo of run?.undo ?? []) undo();
    run?.endTerm();
  }
}
