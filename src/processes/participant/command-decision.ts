import { constants } from 'node:os';

/** The state of the command, of its term and of this process. */
export type CommandState =
  /** No command runs: there is no term, or it has ended. */
  | { readonly phase: 'waiting'; readonly isStopping: boolean }
  /** The command runs in the current term. */
  | { readonly phase: 'running'; readonly isStopping: boolean }
  /** The term has ended, and the wrapper has asked the command to end. */
  | { readonly phase: 'ending'; readonly isStopping: boolean }
  /** The command has ended. Other processes of its group may still run. */
  | {
      readonly phase: 'clearing';
      readonly isStopping: boolean;
      readonly end: CommandEnd;
      /** Whether the command ended before the wrapper asked it to. Then the term ends. */
      readonly byItself: boolean;
      readonly isTermOver: boolean;
    }
  /** No command runs. The wrapper has asked for the end of the term. */
  | { readonly phase: 'withdrawing'; readonly isStopping: boolean; readonly end: CommandEnd };

/** An event of the command or its term. */
export type CommandEvent =
  | { readonly kind: 'termBegan' }
  | { readonly kind: 'termOver' }
  | { readonly kind: 'ended'; readonly end: CommandEnd }
  /** The process group of the command has no more processes. */
  | { readonly kind: 'cleared' }
  /** The Lease is about to expire, or the grace period of the process group is over. */
  | { readonly kind: 'outOfTime' }
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals };

/** An action. The actions of a decision are applied in order. */
export type CommandAction =
  | { readonly kind: 'start' }
  /** Forward a signal to the command. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** Kill the command at a deadline before the Lease expires. */
  | { readonly kind: 'setDeadline' }
  /** Terminate the remaining processes of the group, then kill them. */
  | { readonly kind: 'clear' }
  /** Kill the process group. */
  | { readonly kind: 'kill' }
  /** Stop being a candidate for a while, so that the coordinator elects another candidate. */
  | { readonly kind: 'withdraw' }
  /** End the term and release the Lease. All processes have ended. */
  | { readonly kind: 'endTerm' }
  /** Stop taking part and end this process. */
  | { readonly kind: 'stop'; readonly exitCode: number };

/** The next state, and the actions. */
interface CommandDecision {
  readonly next: CommandState;
  readonly actions: readonly CommandAction[];
}

/** Signals that end this process. The wrapper only forwards all other signals to the command. */
const ENDING_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

export const initialCommandState: CommandState = { phase: 'waiting', isStopping: false };

/**
 * Decides what to do with the command. While this process ends, no command starts. A term ends only after the process
 * group of its command is empty.
 */
export function decideCommand(
  state: CommandState,
  event: CommandEvent,
  { restart }: { readonly restart: boolean },
): CommandDecision {
  switch (event.kind) {
    case 'termBegan':
      return state.phase !== 'waiting' || state.isStopping
        ? { next: state, actions: [{ kind: 'endTerm' }] }
        : { next: { ...state, phase: 'running' }, actions: [{ kind: 'start' }] };
    case 'termOver':
      return onTermOver(state);
    case 'ended':
      return onEnd(state, event.end);
    case 'cleared':
      return state.phase === 'clearing' ? afterwards(state, restart) : nothing(state);
    case 'outOfTime':
      return {
        next: state,
        actions: state.phase === 'ending' || state.phase === 'clearing' ? [{ kind: 'kill' }] : [],
      };
    case 'signalled':
      return onSignal(state, event.signal);
  }
}

/** How a command ended, or why it did not start. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: NodeJS.Signals }
  /** `code` is an errno code such as `ENOENT`. */
  | { readonly kind: 'notStarted'; readonly code: string };

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** Returns the exit code that a shell would return. */
export function exitCodeOf(end: CommandEnd): number {
  switch (end.kind) {
    case 'exited':
      return end.code;
    case 'killed':
      return 128 + constants.signals[end.signal];
    case 'notStarted':
      return end.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE;
  }
}

/** Error codes that show a temporary lack of resources. */
const TEMPORARY_ERRORS = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'];

/** Explains why a command could not start, with advice. */
export function startProblem(file: string, code: string): string {
  if (code === 'ENOENT')
    return `${file}: no such command; name one that is in the PATH of this container, or its path`;
  if (code === 'EACCES') return `${file}: not executable; chmod +x it, or name the interpreter before it`;
  return `${file}: cannot be started (${code})`;
}

function nothing(next: CommandState): CommandDecision {
  return { next, actions: [] };
}

function onTermOver(state: CommandState): CommandDecision {
  const { isStopping } = state;
  switch (state.phase) {
    case 'running':
      return {
        next: { phase: 'ending', isStopping },
        actions: [{ kind: 'setDeadline' }, { kind: 'signal', signal: 'SIGTERM' }],
      };
    case 'clearing':
      return { next: { ...state, isTermOver: true }, actions: [{ kind: 'setDeadline' }] };
    case 'withdrawing':
      return { next: { phase: 'waiting', isStopping }, actions: [{ kind: 'endTerm' }] };
    case 'waiting':
    case 'ending':
      return nothing(state);
  }
}

function onEnd(state: CommandState, end: CommandEnd): CommandDecision {
  const { isStopping, phase } = state;
  if (phase !== 'running' && phase !== 'ending') return nothing(state);
  const byItself = phase === 'running';
  return {
    next: { phase: 'clearing', isStopping, end, byItself, isTermOver: !byItself },
    actions: [{ kind: 'clear' }],
  };
}

function onSignal(state: CommandState, signal: NodeJS.Signals): CommandDecision {
  const isFirst = !state.isStopping && ENDING_SIGNALS.includes(signal);
  const next = isFirst ? { ...state, isStopping: true } : state;
  switch (state.phase) {
    case 'running':
    case 'ending':
      return { next, actions: [{ kind: 'signal', signal }] };
    // Without a command, no other signal has an effect.
    case 'waiting':
      return { next, actions: isFirst ? [{ kind: 'stop', exitCode: 0 }] : [] };
    case 'withdrawing':
      return { next, actions: isFirst ? [{ kind: 'stop', exitCode: exitCodeOf(state.end) }] : [] };
    case 'clearing':
      return nothing(next);
  }
}

function afterwards(
  { isStopping, end, byItself, isTermOver }: Extract<CommandState, { phase: 'clearing' }>,
  restart: boolean,
): CommandDecision {
  if (isStopping || (byItself && (!restart || isPermanent(end)))) {
    // Treat this like a stop: if another term begins in the meantime, no command starts in it.
    return {
      next: { phase: 'waiting', isStopping: true },
      actions: [{ kind: 'stop', exitCode: exitCodeOf(end) }, { kind: 'endTerm' }],
    };
  }
  if (isTermOver) return { next: { phase: 'waiting', isStopping }, actions: [{ kind: 'endTerm' }] };
  return { next: { phase: 'withdrawing', isStopping, end }, actions: [{ kind: 'withdraw' }] };
}

/** True if a retry would fail in the same way. */
function isPermanent(end: CommandEnd): boolean {
  return end.kind === 'notStarted' && !TEMPORARY_ERRORS.includes(end.code);
}
